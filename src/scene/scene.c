#include "kwsim/scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    KW_TRY(kw_node_check_keys(&node, "cfl dt steps duration allow_unstable"));
    KW_TRY(kw_node_exclude(&node, "dt", "cfl"));
    KW_TRY(kw_node_exclude(&node, "duration", "steps"));
    if (kw_node_has(&node, "dt")) time->asked_cfl = 0.0;
    KW_TRY(kw_node_real(&node, "cfl", KW_POSITIVE(""), time->asked_cfl > 0.0, &time->asked_cfl));
    KW_TRY(kw_node_real(&node, "dt", KW_POSITIVE("s"), false, &time->asked_dt));
    KW_TRY(kw_node_integer(&node, "steps", (kw_rule){1.0, 0x1p53, false, "steps"}, false, &time->asked_steps));
    KW_TRY(kw_node_real(&node, "duration", KW_POSITIVE("s"), false, &time->asked_duration));
    return kw_node_bool(&node, "allow_unstable", true, &time->allow_unstable);
}

static kw_status read_pml(const kw_node *root, const kw_grid *grid, kw_pml *pml)
{
    kw_node node;
    *pml = (kw_pml){{20, 20, 20}, {2.0, 2.0, 2.0}};
    KW_TRY(kw_node_group(root, "pml", &node));
    KW_TRY(kw_node_check_keys(&node, "size alpha"));
    KW_TRY(kw_node_integers3(&node, "size", (kw_rule){0.0, MOST_POINTS, false, "points"}, true, pml->size));
    KW_TRY(kw_node_reals3(&node, "alpha", KW_NOT_NEGATIVE("nepers per grid point"), true, pml->alpha));
    if (kw_pml_check(grid, pml) != KW_OK) return kw_node_fail(&node, "size", "%s", kw_error_message());
    for (int i = 0; i < 3; i++)
        if (!kw_axis_active(grid, i)) pml->size[i] = 0;
    return KW_OK;
}

static kw_status read_record(const kw_node *root, kw_record *record)
{
    enum { P = 1, P_FINAL = 2 };
    unsigned bits = P;
    kw_node node;
    KW_TRY(kw_node_group(root, "record", &node));
    KW_TRY(kw_node_check_keys(&node, "quantities from_step"));
    KW_TRY(kw_node_choices(&node, "quantities", "p p_final", &bits));
    KW_TRY(kw_node_integer(&node, "from_step", (kw_rule){0.0, 0x1p53, false, "steps"}, true, &record->from_step));
    if (bits == 0) return kw_node_fail(&node, "quantities", "must name at least one of: p p_final");
    record->p = (bits & P) != 0;
    record->p_final = (bits & P_FINAL) != 0;
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
    KW_TRY(kw_node_check_keys(&node, "file"));
    KW_TRY(kw_node_text(&node, "file", &file));
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

static kw_status read_all(kw_tree *tree, kw_problem *problem)
{
    kw_node root = kw_tree_root(tree);
    KW_TRY(kw_node_check_keys(&root, "grid time medium pml p0 sources sensors record output cpu"));
    KW_TRY(read_grid(&root, &problem->grid));
    KW_TRY(read_time(&root, &problem->time));
    KW_TRY(kw_scene_medium(&root, problem));
    KW_TRY(read_pml(&root, &problem->grid, &problem->pml));
    KW_TRY(kw_scene_sources(&root, problem));
    KW_TRY(kw_scene_p0(&root, problem));
    KW_TRY(read_record(&root, &problem->record));
    KW_TRY(kw_scene_sensors(&root, problem));
    KW_TRY(read_output(&root, problem));
    KW_TRY(read_cpu(&root, problem));
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
