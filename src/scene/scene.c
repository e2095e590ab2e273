#include "kwsim/scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/recording.h"
#include "parts.h"

static const double MOST_POINTS = 1048576.0; /* per axis: products of three stay within 64 bits */

static kw_status read_grid(const kw_node *root, kw_grid *grid)
{
    kw_node node;
    KW_TRY(kw_node_require(root, "grid", "size and spacing"));
    KW_TRY(kw_node_group(root, "grid", &node));
    KW_TRY(kw_node_check_keys(&node, "size spacing"));
    KW_TRY(kw_node_require(&node, "size", "the points along [x, y, z]"));
    KW_TRY(kw_node_require(&node, "spacing", "the distance of the points in m"));
    KW_TRY(kw_node_integers3(&node, "size", (kw_rule){1.0, MOST_POINTS, false, "points"}, false, grid->n));
    KW_TRY(kw_node_reals3(&node, "spacing", KW_POSITIVE("m"), false, grid->h));
    if (kw_grid_dims(grid) == 0) return kw_node_fail(&node, "size", "at least one axis must have more than one point");
    return KW_OK;
}

static kw_status read_time(const kw_node *root, kw_time *time)
{
    kw_node node;
    time->asked_cfl = 0.3;
    KW_TRY(kw_node_group(root, "time", &node));
    KW_TRY(kw_node_check_keys(&node, "cfl dt steps duration allow_unstable estimate_stability"));
    KW_TRY(kw_node_exclude(&node, "dt", "cfl"));
    KW_TRY(kw_node_exclude(&node, "duration", "steps"));
    if (kw_node_has(&node, "dt")) time->asked_cfl = 0.0;
    KW_TRY(kw_node_real(&node, "cfl", KW_POSITIVE(""), time->asked_cfl > 0.0, &time->asked_cfl));
    KW_TRY(kw_node_real(&node, "dt", KW_POSITIVE("s"), false, &time->asked_dt));
    KW_TRY(kw_node_integer(&node, "steps", (kw_rule){1.0, 0x1p53, false, "steps"}, false, &time->asked_steps));
    KW_TRY(kw_node_real(&node, "duration", KW_POSITIVE("s"), false, &time->asked_duration));
    KW_TRY(kw_node_bool(&node, "estimate_stability", true, &time->estimate_stability));
    return kw_node_bool(&node, "allow_unstable", true, &time->allow_unstable);
}

enum { AUTO_LEAST = 10, AUTO_MOST = 40 }; /* points: 80 dB and more of absorption at normal incidence */

/* The thinnest PML that makes the total's largest prime factor small; the smallest such factor if none does. */
static int64_t automatic_size(int64_t n)
{
    int64_t best = AUTO_LEAST;
    for (int64_t size = AUTO_LEAST; size <= AUTO_MOST; size++) {
        int64_t factor = kw_largest_prime_factor(n + 2 * size);
        if (factor <= 7) return size;
        if (factor < kw_largest_prime_factor(n + 2 * best)) best = size;
    }
    return best;
}

static kw_status read_pml_size(const kw_node *node, const kw_grid *user, kw_pml *pml)
{
    const char *word = NULL;
    if (!kw_node_is_text(node, "size"))
        return kw_node_integers3(node, "size", (kw_rule){0.0, MOST_POINTS, false, "points"}, true, pml->size);
    KW_TRY(kw_node_text(node, "size", &word));
    if (strcmp(word, "auto") != 0) return kw_node_fail(node, "size", "must be points or \"auto\", got \"%s\"", word);
    if (!pml->outside)
        return kw_node_fail(node, "size",
                            "\"auto\" is for outside = true: inside, the size of the grid decides how fast the "
                            "transforms are");
    for (int i = 0; i < 3; i++) pml->size[i] = automatic_size(user->n[i]);
    return KW_OK;
}

/* The PML, and the grid that is stepped. */
static kw_status read_pml(const kw_node *root, kw_problem *problem)
{
    kw_node node;
    kw_pml *pml = &problem->pml;
    *pml = (kw_pml){false, {20, 20, 20}, {2.0, 2.0, 2.0}};
    KW_TRY(kw_node_group(root, "pml", &node));
    KW_TRY(kw_node_check_keys(&node, "size alpha outside"));
    KW_TRY(kw_node_bool(&node, "outside", true, &pml->outside));
    KW_TRY(read_pml_size(&node, &problem->user, pml));
    KW_TRY(kw_node_reals3(&node, "alpha", KW_NOT_NEGATIVE("nepers per grid point"), true, pml->alpha));
    problem->grid = problem->user;
    for (int i = 0; i < 3; i++) {
        if (!kw_axis_active(&problem->user, i)) pml->size[i] = 0;
        int64_t around = pml->outside ? pml->size[i] : 0;
        problem->grid.n[i] += 2 * around;
        problem->inner.lo[i] = around;
        problem->inner.hi[i] = around + problem->user.n[i];
    }
    if (kw_pml_check(&problem->grid, pml) != KW_OK) return kw_node_fail(&node, "size", "%s", kw_error_message());
    return KW_OK;
}

/* "dir/ball.cfg" -> "ball.h5" */
static void default_output(const char *scene, char *name, size_t size)
{
    const char *slash = strrchr(scene, '/'), *base = slash != NULL ? slash + 1 : scene, *dot = strrchr(base, '.');
    int length = dot != NULL && dot != base ? (int)(dot - base) : (int)strlen(base);
    snprintf(name, size, "%.*s.h5", length, base);
}

static kw_status read_output(const kw_node *root, kw_problem *problem)
{
    char name[300];
    const char *file = name;
    kw_node node;
    default_output(problem->scene_file, name, sizeof name);
    KW_TRY(kw_node_group(root, "output", &node));
    int64_t compression = 0;
    KW_TRY(kw_node_check_keys(&node, "file compression xdmf"));
    KW_TRY(kw_node_text(&node, "file", &file));
    KW_TRY(kw_node_integer(&node, "compression", (kw_rule){0.0, 9.0, false, ""}, true, &compression));
    problem->compression = (int)compression;
    problem->xdmf = true;
    KW_TRY(kw_node_bool(&node, "xdmf", true, &problem->xdmf));
    if (file == name) KW_TRY(kw_node_set_text(&node, "file", name));
    problem->output_file = strdup(file);
    return problem->output_file != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory for the scene");
}

static kw_status read_cpu(const kw_node *root, kw_problem *problem)
{
    kw_node node;
    problem->cpu_wisdom = true;
    KW_TRY(kw_node_group(root, "cpu", &node));
    KW_TRY(kw_node_check_keys(&node, "wisdom"));
    return kw_node_bool(&node, "wisdom", true, &problem->cpu_wisdom);
}

/* Something must be kept; recordings of nothing are dropped, so that they cost nothing. */
static kw_status check_recordings(const kw_node *root, kw_problem *problem)
{
    int kept = 0;
    for (int i = 0; i < problem->recording_count; i++) {
        kw_recording *r = &problem->recordings[i];
        if (kw_recording_needs(problem, r) != 0 && kw_recording_rows(problem, r) > 0) {
            problem->recordings[kept++] = *r;
            continue;
        }
        free(r->name);
        free(r->where);
        free(r->frequency);
    }
    problem->recording_count = kept;
    kw_node record;
    KW_TRY(kw_node_group(root, "record", &record));
    if (kept > 0 || problem->final != 0) return KW_OK;
    return kw_node_fail(&record, "quantities", "nothing is recorded: name at least one quantity, or add a snapshot");
}

static kw_status read_all(kw_tree *tree, kw_problem *problem)
{
    kw_node root = kw_tree_root(tree);
    KW_TRY(kw_node_check_keys(&root, "grid time medium pml p0 sources sensors record snapshots output stepper cpu"));
    KW_TRY(read_grid(&root, &problem->user));
    KW_TRY(read_pml(&root, problem));
    KW_TRY(read_time(&root, &problem->time));
    KW_TRY(kw_scene_medium(&root, problem));
    KW_TRY(kw_scene_sources(&root, problem));
    KW_TRY(kw_scene_p0(&root, problem));
    KW_TRY(kw_scene_record(&root, problem));
    KW_TRY(kw_scene_sensors(&root, problem));
    KW_TRY(kw_scene_snapshots(&root, problem));
    KW_TRY(check_recordings(&root, problem));
    KW_TRY(read_output(&root, problem));
    KW_TRY(read_cpu(&root, problem));
    int stepper = KW_STEPPER_AUTO;
    KW_TRY(kw_node_choice(&root, "stepper", "auto classical mixed", true, &stepper));
    problem->stepper = (kw_stepper)stepper;
    problem->inputs = tree->inputs;
    problem->input_count = tree->input_count;
    tree->inputs = NULL;
    tree->input_count = 0;
    problem->scene_text = kw_tree_print(tree);
    return problem->scene_text != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory for the scene");
}

static kw_status take_steps(kw_tree *tree, int64_t steps)
{
    if (steps <= 0) return KW_OK;
    kw_tree_remove(tree, "time", "duration");
    return kw_tree_set_integer(tree, "time", "steps", steps);
}

kw_status kw_scene_load(const char *path, const char *const *overrides, int override_count, int64_t steps,
                        kw_problem *problem)
{
    kw_tree tree;
    *problem = (kw_problem){.scene_file = strdup(path)};
    if (problem->scene_file == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the scene");
    kw_status status = kw_tree_load(path, overrides, override_count, &tree);
    if (status == KW_OK) status = take_steps(&tree, steps);
    if (status == KW_OK) status = read_all(&tree, problem);
    kw_tree_free(&tree);
    if (status != KW_OK) kw_problem_free(problem);
    return status;
}
