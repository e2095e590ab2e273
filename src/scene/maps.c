#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/dataset.h"
#include "kwsim/log.h"
#include "parts.h"

/* Until the scan nobody knows whether the map is the same everywhere. */
static void unknown_range(kw_map *map)
{
    map->min = -INFINITY;
    map->max = INFINITY;
}

static kw_status check_map_shape(const kw_node *node, const kw_grid *grid, const kw_map *map)
{
    kw_dataset dataset;
    char shape[120];
    if (kw_dataset_open(map->file, map->dataset, &dataset) != KW_OK)
        return kw_node_fail(node, "file", "%s", kw_error_message());
    kw_dataset_shape(&dataset, shape, sizeof shape);
    bool same = dataset.rank == 3;
    for (int i = 0; same && i < 3; i++) same = dataset.dim[i] == grid->n[i];
    kw_dataset_close(&dataset);
    if (same) return KW_OK;
    return kw_node_fail(node, "dataset", "\"%s\" must have the shape of the grid, %lld x %lld x %lld, got %s",
                        map->dataset, (long long)grid->n[0], (long long)grid->n[1], (long long)grid->n[2], shape);
}

static kw_status read_map_file(const kw_node *node, const kw_grid *grid, kw_map *map)
{
    KW_TRY(kw_scene_file(node, &map->file, &map->dataset));
    unknown_range(map);
    return check_map_shape(node, grid, map);
}

static kw_status add_paint(kw_map *map, const kw_node *node, const kw_shape *shape, double value)
{
    kw_paint *paints = realloc(map->paints, (size_t)(map->paint_count + 1) * sizeof *paints);
    if (paints == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the scene");
    map->paints = paints;
    unknown_range(map);
    paints[map->paint_count++] = (kw_paint){*shape, value, kw_node_where(node, NULL)};
    return KW_OK;
}

/* ---- medium ---- */

/* What a map of the medium is called in the scene, and what it may be; kw_quantity's order. */
static const struct {
    const char *key, *region_key, *unit, *what;
    bool may_be_zero;
} property[] = {
    {"sound_speed", "sound_speed", "m/s", "a number in m/s or { file; dataset; }", false},
    {"density", "density", "kg/m^3", "a number in kg/m^3 or { file; dataset; }", false},
    {"coefficient", "absorption_coefficient", "dB/(MHz^y cm)", "a number in dB/(MHz^y cm) or { file; dataset; }", true},
    {"nonlinearity", "nonlinearity", "", "B/A, a number or { file; dataset; }", true},
};
enum { PROPERTIES = sizeof property / sizeof property[0] };

static kw_rule property_rule(int quantity)
{
    return property[quantity].may_be_zero ? KW_NOT_NEGATIVE(property[quantity].unit)
                                          : KW_POSITIVE(property[quantity].unit);
}

/* A number, or { file, dataset }. */
static kw_status read_property(const kw_node *node, const kw_grid *grid, int quantity, kw_map *map)
{
    const char *key = property[quantity].key;
    KW_TRY(kw_node_require(node, key, property[quantity].what));
    map->where = kw_node_where(node, key);
    if (!kw_node_is_group(node, key)) return kw_node_real(node, key, property_rule(quantity), false, &map->value);
    kw_node file;
    KW_TRY(kw_node_group(node, key, &file));
    KW_TRY(kw_node_check_keys(&file, "file dataset"));
    return read_map_file(&file, grid, map);
}

static kw_status read_absorption(const kw_node *medium, bool labelled, kw_problem *problem)
{
    kw_absorption *absorption = &problem->absorption;
    kw_node node;
    *absorption = (kw_absorption){.attenuation = true, .dispersion = true};
    if (!kw_node_has(medium, "absorption")) return KW_OK;
    absorption->on = true;
    KW_TRY(kw_node_group(medium, "absorption", &node));
    KW_TRY(kw_node_check_keys(&node, "coefficient power attenuation dispersion"));
    if (labelled && kw_node_has(&node, "coefficient"))
        return kw_node_fail(&node, "coefficient",
                            "contradicts medium.labels: the materials give absorption_coefficient");
    if (!labelled) KW_TRY(read_property(&node, &problem->user, KW_QUANTITY_ALPHA, &problem->map[KW_QUANTITY_ALPHA]));
    KW_TRY(kw_node_require(&node, "power", "the exponent y of the power law, one number in (0, 3)"));
    KW_TRY(kw_node_real(&node, "power", KW_POSITIVE(""), false, &absorption->power));
    if (absorption->power >= 3.0)
        return kw_node_fail(&node, "power", "must be a number in (0, 3), got %g", absorption->power);
    KW_TRY(kw_node_bool(&node, "attenuation", true, &absorption->attenuation));
    KW_TRY(kw_node_bool(&node, "dispersion", true, &absorption->dispersion));
    if (!absorption->dispersion) return KW_OK;
    if (absorption->power == 1.0)
        return kw_node_fail(&node, "power",
                            "must not be 1 with dispersion, whose factor tan(pi y/2) is infinite there; take "
                            "another power, or dispersion = false");
    if (fabs(absorption->power - 1.0) <= 0.05 + 1e-12)
        kw_log(KW_LOG_WARNING,
               "medium.absorption.power %g is close to 1, where dispersion is strong and stability is lost; "
               "dispersion = false turns it off",
               absorption->power);
    return KW_OK;
}

static kw_status read_region(const kw_node *node, kw_problem *problem)
{
    kw_shape shape;
    KW_TRY(kw_scene_shape(node, &problem->user, "sound_speed density absorption_coefficient nonlinearity", &shape));
    bool any = false;
    for (int q = 0; q < PROPERTIES; q++) {
        const char *key = property[q].region_key;
        double value;
        if (!kw_node_has(node, key)) continue;
        any = true;
        if (!kw_problem_has(problem, (kw_quantity)q))
            return kw_node_fail(node, key, "needs medium.%s for the rest of the grid",
                                q == KW_QUANTITY_ALPHA ? "absorption" : "nonlinearity");
        KW_TRY(kw_node_real(node, key, property_rule(q), false, &value));
        KW_TRY(add_paint(&problem->map[q], node, &shape, value));
    }
    return any ? KW_OK
               : kw_node_fail(node, NULL,
                              "must give at least one of: sound_speed density absorption_coefficient nonlinearity");
}

/* ---- materials ---- */

/* One material: its label and the properties of the medium. */
typedef struct kw_material {
    double label, value[PROPERTIES];
} kw_material;

static int by_label(const void *a, const void *b)
{
    double x = ((const kw_material *)a)->label, y = ((const kw_material *)b)->label;
    return x < y ? -1 : x > y;
}

static kw_status read_material(const kw_node *node, const kw_problem *problem, kw_material *material)
{
    int64_t label = 0;
    KW_TRY(kw_node_check_keys(node, "label sound_speed density absorption_coefficient nonlinearity"));
    KW_TRY(kw_node_require(node, "label", "the integer that stands for the material in the dataset of labels"));
    KW_TRY(kw_node_integer(node, "label", (kw_rule){-0x1p31, 0x1p31, false, ""}, false, &label));
    material->label = (double)label;
    for (int q = 0; q < PROPERTIES; q++) {
        const char *key = property[q].region_key;
        if (!kw_problem_has(problem, (kw_quantity)q)) {
            if (!kw_node_has(node, key)) continue;
            return kw_node_fail(node, key,
                                q == KW_QUANTITY_ALPHA ? "needs medium.absorption with its power"
                                                       : "must be given of all materials, or of none");
        }
        KW_TRY(kw_node_require(node, key, property[q].what));
        KW_TRY(kw_node_real(node, key, property_rule(q), false, &material->value[q]));
    }
    return KW_OK;
}

/* The table of materials into every map that reads labels. */
static kw_status take_materials(const kw_node *labels, kw_problem *problem, const kw_material *material, int count)
{
    for (int q = 0; q < PROPERTIES; q++) {
        kw_map *map = &problem->map[q];
        if (!kw_problem_has(problem, (kw_quantity)q)) continue;
        map->where = kw_node_where(labels, NULL);
        map->label = malloc((size_t)count * sizeof *map->label);
        map->label_value = malloc((size_t)count * sizeof *map->label_value);
        if (map->where == NULL || map->label == NULL || map->label_value == NULL)
            return kw_fail(KW_ERR_RESOURCE, "no memory for the scene");
        map->label_count = count;
        for (int i = 0; i < count; i++) {
            map->label[i] = material[i].label;
            map->label_value[i] = material[i].value[q];
        }
        KW_TRY(read_map_file(labels, &problem->user, map));
    }
    return KW_OK;
}

static kw_status read_materials(const kw_node *medium, kw_problem *problem)
{
    static const char *const instead[] = {"sound_speed", "density", "nonlinearity"};
    int count;
    kw_node labels, node;
    for (int i = 0; i < 3; i++) KW_TRY(kw_node_exclude(medium, instead[i], "labels"));
    KW_TRY(kw_node_group(medium, "labels", &labels));
    KW_TRY(kw_node_check_keys(&labels, "file dataset"));
    KW_TRY(kw_node_require(medium, "materials", "a list with a material for each label"));
    KW_TRY(kw_node_list(medium, "materials", &count));
    if (count == 0) return kw_node_fail(medium, "materials", "must hold at least one material");
    kw_material *material = calloc((size_t)count, sizeof *material);
    if (material == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for the scene");
    kw_status status = KW_OK;
    for (int i = 0; i < count && status == KW_OK; i++) {
        status = kw_node_element(medium, "materials", i, &node);
        if (i == 0 && status == KW_OK) problem->nonlinear = kw_node_has(&node, "nonlinearity");
        if (status == KW_OK) status = read_material(&node, problem, &material[i]);
    }
    qsort(material, (size_t)count, sizeof *material, by_label);
    for (int i = 1; i < count && status == KW_OK; i++)
        if (material[i].label == material[i - 1].label)
            status = kw_node_fail(medium, "materials", "the label %g is given twice", material[i].label);
    if (status == KW_OK) status = take_materials(&labels, problem, material, count);
    free(material);
    return status;
}

/* ---- the medium's group ---- */

static kw_status read_smoothing(const kw_node *medium, kw_problem *problem)
{
    unsigned bits = 0;
    bool restore = false;
    KW_TRY(kw_node_choices(medium, "smooth", "sound_speed density absorption_coefficient nonlinearity", &bits));
    KW_TRY(kw_node_bool(medium, "restore_maximum", true, &restore));
    if (restore && bits == 0)
        return kw_node_fail(medium, "restore_maximum", "is for smoothed maps; medium.smooth names none");
    for (int q = 0; q < PROPERTIES; q++) {
        if (!(bits >> q & 1)) continue;
        if (!kw_problem_has(problem, (kw_quantity)q))
            return kw_node_fail(medium, "smooth", "the medium has no %s", kw_quantity_name((kw_quantity)q));
        problem->map[q].smooth = true;
        problem->map[q].restore_max = restore;
    }
    return KW_OK;
}

kw_status kw_scene_medium(const kw_node *root, kw_problem *problem)
{
    kw_node medium, region;
    int count;
    KW_TRY(kw_node_require(root, "medium", "sound_speed and density"));
    KW_TRY(kw_node_group(root, "medium", &medium));
    KW_TRY(kw_node_check_keys(&medium, "sound_speed density absorption nonlinearity reference_speed regions labels "
                                       "materials smooth restore_maximum"));
    bool labelled = kw_node_has(&medium, "labels");
    if (!labelled && kw_node_has(&medium, "materials"))
        return kw_node_fail(&medium, "materials", "needs labels, a dataset of integers { file; dataset; }");
    for (int q = KW_QUANTITY_C0; q <= KW_QUANTITY_RHO0 && !labelled; q++)
        KW_TRY(read_property(&medium, &problem->user, q, &problem->map[q]));
    KW_TRY(read_absorption(&medium, labelled, problem));
    if (labelled) KW_TRY(read_materials(&medium, problem));
    if (!labelled) problem->nonlinear = kw_node_has(&medium, "nonlinearity");
    if (!labelled && problem->nonlinear)
        KW_TRY(read_property(&medium, &problem->user, KW_QUANTITY_BONA, &problem->map[KW_QUANTITY_BONA]));
    KW_TRY(kw_node_real(&medium, "reference_speed", KW_POSITIVE("m/s"), false, &problem->asked_c_ref));
    KW_TRY(kw_node_list(&medium, "regions", &count));
    for (int i = 0; i < count; i++) {
        KW_TRY(kw_node_element(&medium, "regions", i, &region));
        KW_TRY(read_region(&region, problem));
    }
    return read_smoothing(&medium, problem);
}

/* ---- initial pressure ---- */

static const double LARGEST_PRESSURE = 1e30; /* Pa; its square still fits single precision's exponent in double */

static kw_rule pressure_rule(void) { return (kw_rule){-LARGEST_PRESSURE, LARGEST_PRESSURE, false, "Pa"}; }

static kw_status read_p0_shape(const kw_node *node, kw_problem *problem)
{
    kw_shape shape;
    double value = 0.0;
    KW_TRY(kw_scene_shape(node, &problem->user, "value", &shape));
    KW_TRY(kw_node_require(node, "value", "the pressure in Pa"));
    KW_TRY(kw_node_real(node, "value", pressure_rule(), false, &value));
    return add_paint(&problem->map[KW_QUANTITY_P0], node, &shape, value);
}

kw_status kw_scene_p0(const kw_node *root, kw_problem *problem)
{
    kw_map *map = &problem->map[KW_QUANTITY_P0];
    kw_node p0, shape;
    int count;
    if (!kw_node_has(root, "p0") && problem->source_count > 0) return KW_OK;
    KW_TRY(kw_node_require(root, "p0",
                           "the initial pressure: a number in Pa, { shapes = ( ... ); } or { file; dataset; }; "
                           "or give sources"));
    problem->has_p0 = true;
    map->where = kw_node_where(root, "p0");
    if (!kw_node_is_group(root, "p0")) return kw_node_real(root, "p0", pressure_rule(), false, &map->value);
    KW_TRY(kw_node_group(root, "p0", &p0));
    KW_TRY(kw_node_check_keys(&p0, "shapes file dataset smooth restore_maximum"));
    KW_TRY(kw_node_bool(&p0, "smooth", true, &map->smooth));
    KW_TRY(kw_node_bool(&p0, "restore_maximum", true, &map->restore_max));
    if (map->restore_max && !map->smooth)
        return kw_node_fail(&p0, "restore_maximum", "is for a smoothed p0, and smooth is false");
    if (kw_node_has(&p0, "file") || kw_node_has(&p0, "dataset")) KW_TRY(read_map_file(&p0, &problem->user, map));
    KW_TRY(kw_node_list(&p0, "shapes", &count));
    if (count == 0 && map->file == NULL) return kw_node_fail(&p0, NULL, "must give shapes, or file and dataset");
    for (int i = 0; i < count; i++) {
        KW_TRY(kw_node_element(&p0, "shapes", i, &shape));
        KW_TRY(read_p0_shape(&shape, problem));
    }
    return KW_OK;
}
