/* What is kept: record, a sensor set's own quantities and window, snapshots. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/recording.h"
#include "parts.h"

static const int64_t LAST_STEP = INT64_C(1) << 53;

/* Words of `quantities`, in the order of the bits. */
#define KW_SENSOR_WORDS "p p_max p_min p_rms p_fourier u u_max u_min u_rms u_fourier u_non_staggered intensity"
#define KW_GRID_WORDS                                                                                                  \
    "p_final u_final p_max_all p_min_all p_rms_all p_fourier_all u_max_all u_min_all u_rms_all u_fourier_all "         \
    "intensity_all heat_all"
enum { P, P_MAX, P_MIN, P_RMS, P_FOURIER, U, U_MAX, U_MIN, U_RMS, U_FOURIER, U_NON_STAGGERED, INTENSITY, SENSOR_COUNT };
enum {
    P_FINAL = SENSOR_COUNT, /* or a set's own heat, whose list ends there */
    U_FINAL,
    P_MAX_ALL,
    P_MIN_ALL,
    P_RMS_ALL,
    P_FOURIER_ALL,
    U_MAX_ALL,
    U_MIN_ALL,
    U_RMS_ALL,
    U_FOURIER_ALL,
    INTENSITY_ALL,
    HEAT_ALL
};

static kw_status no_memory(void) { return kw_fail(KW_ERR_RESOURCE, "no memory for the scene"); }

/* A new recording with the window and the frequencies of `like`. */
static kw_status add_recording(kw_problem *problem, const kw_recording *like, const char *name, kw_recording_kind kind,
                               kw_recording **added)
{
    const kw_recording held = *like; /* which may lie in the list that moves */
    size_t count = (size_t)problem->recording_count;
    like = &held;
    kw_recording *all = realloc(problem->recordings, (count + 1) * sizeof *all);
    if (all == NULL) return no_memory();
    kw_recording *r = &all[count];
    problem->recordings = all;
    *r = (kw_recording){.kind = kind, .from = like->from, .to = like->to, .every = like->every};
    problem->recording_count++;
    r->name = strdup(name);
    r->where = strdup(like->where);
    r->frequencies = like->frequencies;
    r->frequency = malloc((size_t)like->frequencies * sizeof *r->frequency + 1);
    if (r->name == NULL || r->where == NULL || r->frequency == NULL) return no_memory();
    for (int f = 0; f < like->frequencies; f++) r->frequency[f] = like->frequency[f];
    r->box = r->cover = problem->inner;
    *added = r;
    return KW_OK;
}

/* from_step, to_step, every, frequencies; what is absent stays as it is. */
static kw_status read_window(const kw_node *node, bool keep, kw_recording *r)
{
    const kw_rule step = {0.0, 0x1p53, false, "steps"};
    KW_TRY(kw_node_integer(node, "from_step", step, keep, &r->from));
    KW_TRY(kw_node_integer(node, "to_step", step, false, &r->to));
    KW_TRY(kw_node_integer(node, "every", (kw_rule){1.0, 0x1p53, false, "steps"}, keep, &r->every));
    if (r->to < r->from)
        return kw_node_fail(node, "to_step", "must not be before from_step, %lld, got %lld", (long long)r->from,
                            (long long)r->to);
    if (!kw_node_has(node, "frequencies")) return KW_OK;
    int64_t count;
    free(r->frequency);
    r->frequency = NULL;
    r->frequencies = 0;
    KW_TRY(kw_node_numbers(node, "frequencies", KW_POSITIVE("Hz"), &count, &r->frequency));
    if (count > KW_MOST_FREQUENCIES)
        return kw_node_fail(node, "frequencies", "at most %d of them, got %lld", KW_MOST_FREQUENCIES, (long long)count);
    r->frequencies = (int)count;
    return KW_OK;
}

/* The bits of a list of words as quantities and reductions of a recording. */
static void take_bits(const kw_problem *problem, unsigned bits, kw_recording *r)
{
    const unsigned p = 1u << KW_REC_P, u = kw_recording_components(&problem->grid, KW_REC_UX);
    const unsigned centred = kw_recording_components(&problem->grid, KW_REC_UX_CENTRED);
    r->series = (kw_bit(bits, P) ? p : 0) | (kw_bit(bits, U) ? u : 0) | (kw_bit(bits, U_NON_STAGGERED) ? centred : 0);
    r->max = (kw_bit(bits, P_MAX) ? p : 0) | (kw_bit(bits, U_MAX) ? u : 0);
    r->min = (kw_bit(bits, P_MIN) ? p : 0) | (kw_bit(bits, U_MIN) ? u : 0);
    r->rms = (kw_bit(bits, P_RMS) ? p : 0) | (kw_bit(bits, U_RMS) ? u : 0);
    r->fourier = (kw_bit(bits, P_FOURIER) ? p : 0) | (kw_bit(bits, U_FOURIER) ? centred : 0);
    r->intensity = kw_bit(bits, INTENSITY);
}

/* The words for the whole grid as the bits of the same ones for sensors. */
static unsigned grid_bits(unsigned bits)
{
    static const struct {
        int from, to;
    } same[] = {{P_MAX_ALL, P_MAX},         {P_MIN_ALL, P_MIN},         {P_RMS_ALL, P_RMS},
                {P_FOURIER_ALL, P_FOURIER}, {U_MAX_ALL, U_MAX},         {U_MIN_ALL, U_MIN},
                {U_RMS_ALL, U_RMS},         {U_FOURIER_ALL, U_FOURIER}, {INTENSITY_ALL, INTENSITY}};
    unsigned result = 0;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (kw_bit(bits, same[i].from)) result |= 1u << same[i].to;
    return result;
}

static kw_status check(const kw_node *node, const kw_recording *r)
{
    if (r->fourier != 0 && r->frequencies == 0)
        return kw_node_fail(node, "frequencies", "missing; the Fourier sums need a list of frequencies in Hz");
    if (r->intensity && r->every != 1)
        return kw_node_fail(node, "every", "must be 1 for the intensity, got %lld", (long long)r->every);
    return KW_OK;
}

/* The box that the heat of `box` needs the intensity in: KW_HEAT_REACH points more on each side, or the whole axis. */
static kw_box heat_cover(const kw_grid *grid, const kw_box *box)
{
    kw_box cover = *box;
    for (int i = 0; i < 3; i++) {
        if (!kw_axis_active(grid, i)) continue;
        cover.lo[i] -= KW_HEAT_REACH;
        cover.hi[i] += KW_HEAT_REACH;
        if (cover.lo[i] >= 0 && cover.hi[i] <= grid->n[i]) continue;
        cover.lo[i] = 0;
        cover.hi[i] = grid->n[i];
    }
    return cover;
}

static kw_status add_heat(const kw_node *node, kw_problem *problem, const kw_recording *like, const char *name,
                          const kw_box *box)
{
    kw_recording *heat;
    KW_TRY(add_recording(problem, like, name, KW_RECORD_HEAT, &heat));
    heat->box = *box;
    heat->cover = heat_cover(&problem->grid, box);
    heat->intensity = true;
    return check(node, heat);
}

kw_status kw_scene_record(const kw_node *root, kw_problem *problem)
{
    kw_recording first = {.to = LAST_STEP, .every = 1}, *added;
    unsigned bits = 1u << P;
    kw_node node;
    KW_TRY(kw_node_group(root, "record", &node));
    KW_TRY(kw_node_check_keys(&node, "quantities from_step to_step every frequencies"));
    KW_TRY(kw_node_choices(&node, "quantities", KW_SENSOR_WORDS " " KW_GRID_WORDS, &bits));
    first.where = kw_node_where(&node, NULL);
    kw_status status = first.where == NULL ? no_memory() : read_window(&node, true, &first);
    if (status == KW_OK) status = add_recording(problem, &first, "", KW_RECORD_SENSORS, &added);
    if (status == KW_OK) take_bits(problem, bits, added);
    if (status == KW_OK) status = check(&node, added);
    if (status == KW_OK && grid_bits(bits) != 0) {
        status = add_recording(problem, &first, "", KW_RECORD_GRID, &added);
        if (status == KW_OK) take_bits(problem, grid_bits(bits), added);
        if (status == KW_OK) status = check(&node, added);
    }
    if (status == KW_OK && kw_bit(bits, HEAT_ALL)) status = add_heat(&node, problem, &first, "", &problem->inner);
    free(first.where);
    free(first.frequency);
    if (kw_bit(bits, P_FINAL)) problem->final |= 1u << KW_REC_P;
    if (kw_bit(bits, U_FINAL)) problem->final |= kw_recording_components(&problem->grid, KW_REC_UX);
    return status;
}

bool kw_scene_set_is_own(const kw_node *node)
{
    return kw_node_has(node, "quantities") || kw_node_has(node, "from_step") || kw_node_has(node, "to_step") ||
           kw_node_has(node, "every") || kw_node_has(node, "frequencies");
}

static kw_status check_group_name(const kw_node *node, const char *name)
{
    if (strchr(name, '/') == NULL && name[0] != '\0' && strcmp(name, ".") != 0) return KW_OK;
    return kw_node_fail(node, "name", "becomes a group of the output: it must not be empty, \".\" or hold a \"/\"");
}

kw_status kw_scene_set_record(const kw_node *node, kw_problem *problem, int64_t number)
{
    const kw_sensor_set *set = &problem->sets[number];
    kw_recording *own;
    unsigned bits = 0;
    char name[KW_PATH_SIZE];
    KW_TRY(check_group_name(node, set->name));
    if (snprintf(name, sizeof name, "sets/%s", set->name) >= (int)sizeof name)
        return kw_node_fail(node, "name", "is too long");
    KW_TRY(add_recording(problem, &problem->recordings[0], name, KW_RECORD_SENSORS, &own));
    const kw_recording *common = &problem->recordings[0]; /* the list may have moved */
    free(own->where);
    own->where = kw_node_where(node, NULL);
    if (own->where == NULL) return no_memory();
    own->first_set = number;
    own->set_count = 1;
    KW_TRY(read_window(node, false, own));
    if (kw_node_has(node, "quantities")) {
        KW_TRY(kw_node_choices(node, "quantities", KW_SENSOR_WORDS " heat", &bits));
        take_bits(problem, bits, own);
    } else {
        own->series = common->series;
        own->max = common->max;
        own->min = common->min;
        own->rms = common->rms;
        own->fourier = common->fourier;
        own->intensity = common->intensity;
    }
    KW_TRY(check(node, own));
    bool heat = kw_bit(bits, P_FINAL);
    if (kw_recording_needs(problem, own) == 0 && !heat)
        return kw_node_fail(node, "quantities", "must name at least one of: " KW_SENSOR_WORDS " heat");
    if (!heat) return KW_OK;
    if (set->kind != KW_SENSOR_BOX || set->average)
        return kw_node_fail(node, "quantities", "\"heat\" is for boxes and planes, which are not averaged");
    kw_box box = set->box;
    return add_heat(node, problem, own, name, &box);
}

static kw_status read_snapshot(const kw_node *node, kw_problem *problem)
{
    kw_recording first = {.to = LAST_STEP, .every = 0}, *added;
    const char *name = NULL;
    char group[KW_PATH_SIZE];
    unsigned bits = 1;
    kw_sensor_set place = {0};
    KW_TRY(kw_node_check_keys(node, "name quantities box box_index plane plane_index from_step to_step every"));
    KW_TRY(kw_node_require(node, "name", "a name of its own"));
    KW_TRY(kw_node_text(node, "name", &name));
    KW_TRY(check_group_name(node, name));
    if (snprintf(group, sizeof group, "snapshots/%s", name) >= (int)sizeof group)
        return kw_node_fail(node, "name", "is too long");
    for (int i = 0; i < problem->recording_count; i++)
        if (strcmp(problem->recordings[i].name, group) == 0)
            return kw_node_fail(node, "name", "must differ from the other snapshots' names, got \"%s\" twice", name);
    KW_TRY(kw_node_choices(node, "quantities", "p u u_non_staggered", &bits));
    if (bits == 0) return kw_node_fail(node, "quantities", "must name at least one of: p u u_non_staggered");
    if (kw_node_has(node, "box") || kw_node_has(node, "box_index") || kw_node_has(node, "plane") ||
        kw_node_has(node, "plane_index"))
        KW_TRY(kw_scene_place(node, problem, &place));
    else
        place.box = problem->inner;
    KW_TRY(kw_node_require(node, "every", "the number of steps from one snapshot to the next"));
    first.where = kw_node_where(node, NULL);
    kw_status status = first.where == NULL ? no_memory() : read_window(node, false, &first);
    if (status == KW_OK) status = add_recording(problem, &first, group, KW_RECORD_SNAPSHOTS, &added);
    free(first.where);
    if (status != KW_OK) return status;
    added->box = added->cover = place.box;
    added->series = (bits & 1 ? 1u << KW_REC_P : 0) |
                    (bits & 2 ? kw_recording_components(&problem->grid, KW_REC_UX) : 0) |
                    (bits & 4 ? kw_recording_components(&problem->grid, KW_REC_UX_CENTRED) : 0);
    return KW_OK;
}

kw_status kw_scene_snapshots(const kw_node *root, kw_problem *problem)
{
    int count;
    kw_node node;
    KW_TRY(kw_node_list(root, "snapshots", &count));
    for (int i = 0; i < count; i++) {
        KW_TRY(kw_node_element(root, "snapshots", i, &node));
        KW_TRY(read_snapshot(&node, problem));
    }
    return KW_OK;
}
