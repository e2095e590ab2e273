#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/dataset.h"
#include "kwsim/machine.h"
#include "parts.h"

static kw_status no_memory(void) { return kw_fail(KW_ERR_RESOURCE, "no memory for the sources"); }

/* Listed points: the same places as for sensors, expanded to grid points in their order. */
static kw_status read_points(const kw_node *node, const kw_problem *problem, kw_source *source)
{
    kw_sensor_set set = {0};
    kw_problem places = {.grid = problem->grid, .inner = problem->inner, .sets = &set, .set_count = 1};
    kw_status status = kw_scene_place(node, problem, &set);
    source->count = set.rows = set.count;
    if (status == KW_OK) status = kw_machine_need(32.0 * (double)set.count, "the sources' points");
    if (status == KW_OK) source->index = malloc((size_t)set.count * 3 * sizeof *source->index);
    if (status == KW_OK && source->index == NULL) status = no_memory();
    for (int64_t i = 0; i < set.count && status == KW_OK; i++) {
        kw_sensor_place place = kw_sensor_locate(&places, i);
        memcpy(source->index + 3 * i, place.index, sizeof place.index);
    }
    free(set.position);
    return status;
}

/* Rows that a dataset of signals may have beside one: of the elements, or of the listed points. */
static int64_t signal_rows(const kw_source *source) { return source->elements > 0 ? source->elements : source->count; }

static kw_status read_rows(const kw_dataset *dataset, kw_source *source)
{
    char shape[120];
    kw_dataset_shape(dataset, shape, sizeof shape);
    int64_t wanted = signal_rows(source);
    bool one = dataset->rank == 1, rows = dataset->rank == 2;
    source->signals = rows ? dataset->dim[0] : 1;
    source->samples = one ? dataset->dim[0] : rows ? dataset->dim[1] : 0;
    if ((!one && !rows) || source->samples < 1 || (source->signals != 1 && source->signals != wanted))
        return kw_fail(KW_ERR_SCENE,
                       "\"%s\" must be samples, or rows x samples with one row for each of the %lld %s, got %s",
                       dataset->name, (long long)wanted, source->elements > 0 ? "elements" : "points", shape);
    KW_TRY(kw_machine_need(8.0 * (double)source->signals * (double)source->samples, "the sources' signals"));
    source->signal = malloc((size_t)(source->signals * source->samples) * sizeof *source->signal);
    if (source->signal == NULL) return no_memory();
    KW_TRY(kw_dataset_read(dataset, 0, dataset->dim[0], source->signal));
    for (int64_t i = 0; i < source->signals * source->samples; i++)
        if (!(fabs(source->signal[i]) <= 1e30))
            return kw_fail(KW_ERR_SCENE, "\"%s\" must be finite and at most 1e30, got %g in sample %lld", dataset->name,
                           source->signal[i], (long long)(i % source->samples));
    return KW_OK;
}

static kw_status read_signal_file(const kw_node *at, kw_source *source)
{
    kw_node node = *at;
    kw_dataset dataset;
    char *path = NULL, *name = NULL;
    KW_TRY(kw_node_check_keys(&node, "file dataset"));
    kw_status status = kw_scene_file(&node, &path, &name);
    if (status == KW_OK) {
        status = kw_dataset_open(path, name, &dataset);
        if (status == KW_OK) status = read_rows(&dataset, source);
        if (status == KW_ERR_SCENE) status = kw_node_fail(&node, "dataset", "%s", kw_error_message());
        kw_dataset_close(&dataset);
    }
    free(path);
    free(name);
    return status;
}

/* { type = "tone_burst"; frequency = 1e6; ... }; kw_signal_kind's order after the samples. */
static kw_status read_recipe(const kw_node *node, const char *unit, kw_signal *signal)
{
    static const char *const keys[] = {"type amplitude frequency phase delay cycles window",
                                       "type amplitude frequency phase delay ramp_cycles",
                                       "type amplitude frequency delay bandwidth",
                                       "type amplitude frequency phase delay end_frequency duration window"};
    int type = 0, window = KW_WINDOW_GAUSSIAN;
    KW_TRY(kw_node_choice(node, "type", "tone_burst continuous gaussian_pulse chirp", false, &type));
    KW_TRY(kw_node_check_keys(node, keys[type]));
    *signal = (kw_signal){.kind = (kw_signal_kind)(type + 1), .ramp_cycles = 3.0};
    KW_TRY(kw_node_require(node, "amplitude", "the largest pressure in Pa, or velocity in m/s"));
    KW_TRY(kw_node_real(node, "amplitude", (kw_rule){-1e30, 1e30, false, unit}, false, &signal->amplitude));
    KW_TRY(kw_node_require(node, "frequency", "the frequency in Hz"));
    KW_TRY(kw_node_real(node, "frequency", KW_POSITIVE("Hz"), false, &signal->frequency));
    KW_TRY(kw_node_real(node, "delay", KW_NOT_NEGATIVE("s"), true, &signal->delay));
    if (signal->kind != KW_SIGNAL_GAUSSIAN_PULSE)
        KW_TRY(kw_node_real(node, "phase", KW_ANY("rad"), true, &signal->phase));
    if (signal->kind == KW_SIGNAL_CONTINUOUS)
        return kw_node_real(node, "ramp_cycles", KW_NOT_NEGATIVE("periods"), true, &signal->ramp_cycles);
    if (signal->kind == KW_SIGNAL_GAUSSIAN_PULSE) {
        KW_TRY(kw_node_require(node, "bandwidth", "the 6 dB bandwidth as a fraction of the frequency"));
        return kw_node_real(node, "bandwidth", KW_POSITIVE(""), false, &signal->bandwidth);
    }
    KW_TRY(kw_node_choice(node, "window", "none hann gaussian", true, &window));
    signal->window = (kw_window)window;
    if (signal->kind == KW_SIGNAL_TONE_BURST) {
        KW_TRY(kw_node_require(node, "cycles", "the number of periods"));
        return kw_node_real(node, "cycles", KW_POSITIVE("periods"), false, &signal->cycles);
    }
    KW_TRY(kw_node_require(node, "end_frequency", "the frequency at the end in Hz"));
    KW_TRY(kw_node_require(node, "duration", "the length in s"));
    KW_TRY(kw_node_real(node, "end_frequency", KW_POSITIVE("Hz"), false, &signal->end_frequency));
    return kw_node_real(node, "duration", KW_POSITIVE("s"), false, &signal->duration);
}

/* ( 0.0, 1.0, ... ), one sample a step, { file; dataset; }, or { type; ... }. */
static kw_status read_signal(const kw_node *node, const char *unit, kw_source *source)
{
    kw_node signal;
    KW_TRY(kw_node_require(node, "signal", "a list of samples, one a step, { file; dataset; } or { type; ... }"));
    if (kw_node_is_group(node, "signal")) {
        KW_TRY(kw_node_group(node, "signal", &signal));
        return kw_node_has(&signal, "type") ? read_recipe(&signal, unit, &source->recipe)
                                            : read_signal_file(&signal, source);
    }
    source->signals = 1;
    return kw_node_numbers(node, "signal", (kw_rule){-1e30, 1e30, false, unit}, &source->samples, &source->signal);
}

/* Entries of the quantity along one axis, or of the pressure. */
static kw_status read_entries(const kw_node *node, const kw_problem *problem, bool outward, kw_source *source)
{
    bool velocity = source->quantity >= KW_SOURCE_UX && source->quantity <= KW_SOURCE_UZ;
    int axis = velocity ? (int)source->quantity - KW_SOURCE_UX : -1;
    if (kw_node_has(node, "shape") || kw_node_has(node, "elements")) {
        if (kw_node_has(node, "shape")) KW_TRY(kw_node_exclude(node, "elements", "shape"));
        return kw_scene_transducer(node, problem, axis, outward, source);
    }
    KW_TRY(kw_node_check_keys(node, "quantity mode after signal apodization delays delay_law "
                                    "points points_index box box_index plane plane_index shape elements"));
    KW_TRY(read_points(node, problem, source));
    return kw_scene_delays(node, problem, source);
}

enum { U_NORMAL = 4, VOLUME = 5 }; /* after the four of kw_source_quantity */

/* One kw_source; of a normal velocity, one for each axis. */
static kw_status read_source(const kw_node *node, kw_problem *problem)
{
    int quantity = 0, mode = 0, after = 0;
    KW_TRY(kw_node_require(node, "quantity", "one of: p ux uy uz u_normal volume_velocity"));
    KW_TRY(kw_node_choice(node, "quantity", "p ux uy uz u_normal volume_velocity", false, &quantity));
    KW_TRY(kw_node_choice(node, "mode", "additive additive-no-correction dirichlet", true, &mode));
    KW_TRY(kw_node_choice(node, "after", "stop hold zero", mode == KW_DIRICHLET, &after));
    if (quantity >= KW_SOURCE_UX && quantity <= KW_SOURCE_UZ &&
        !kw_axis_active(&problem->grid, quantity - KW_SOURCE_UX))
        return kw_node_fail(node, "quantity", "must not point along the %c axis, which has one point",
                            'x' + quantity - KW_SOURCE_UX);
    if (mode != KW_DIRICHLET && kw_node_has(node, "after"))
        return kw_node_fail(node, "after",
                            "is for mode = \"dirichlet\"; an additive source adds nothing after its signal");
    if (mode == KW_DIRICHLET && quantity >= U_NORMAL)
        return kw_node_fail(node, "mode", "must be additive for this quantity, got \"dirichlet\"");
    if (quantity == U_NORMAL && !kw_node_has(node, "shape") && !kw_node_has(node, "elements"))
        return kw_node_fail(node, "quantity", "\"u_normal\" needs a surface: shape or elements");
    bool any = false;
    const char *unit = quantity == KW_SOURCE_P ? "Pa" : quantity == VOLUME ? "m^3/s" : "m/s";
    for (int axis = 0; axis < (quantity == U_NORMAL ? 3 : 1); axis++) {
        if (quantity == U_NORMAL && !kw_axis_active(&problem->grid, axis)) continue;
        kw_source *source = &problem->sources[problem->source_count++];
        source->quantity = quantity == U_NORMAL ? (kw_source_quantity)(KW_SOURCE_UX + axis)
                           : quantity == VOLUME ? KW_SOURCE_VOLUME
                                                : (kw_source_quantity)quantity;
        source->mode = (kw_source_mode)mode;
        source->after = (kw_source_after)after;
        source->where = kw_node_where(node, NULL);
        KW_TRY(read_entries(node, problem, quantity == U_NORMAL, source));
        if (quantity == U_NORMAL && source->count == 0) { /* the normal has no part along this axis */
            kw_source_free(&problem->sources[--problem->source_count]);
            continue;
        }
        KW_TRY(read_signal(node, unit, source));
        any = true;
    }
    return any ? KW_OK : kw_node_fail(node, "elements", "every apodization is 0: nothing would move");
}

kw_status kw_scene_sources(const kw_node *root, kw_problem *problem)
{
    int count;
    kw_node node;
    KW_TRY(kw_node_list(root, "sources", &count));
    problem->sources = calloc(3 * (size_t)count + 1, sizeof *problem->sources);
    if (problem->sources == NULL) return no_memory();
    for (int i = 0; i < count; i++) {
        KW_TRY(kw_node_element(root, "sources", i, &node));
        KW_TRY(read_source(&node, problem));
    }
    return KW_OK;
}
