/* What is known of a run before it starts: the scene, the machine, grid, medium and sensors. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "parts.h"

static herr_t put_root(const kw_recorder *recorder, const kw_recorder_info *info)
{
    char now[40];
    time_t seconds = time(NULL);
    struct tm utc;
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    hid_t file = recorder->file;
    KW_PUT(kw_put_text(file, "format", "kwsim"));
    KW_PUT(kw_put_integer(file, "format_version", 1));
    KW_PUT(kw_put_text(file, "version", info->version));
    KW_PUT(kw_put_text(file, "created", now));
    KW_PUT(kw_put_text(file, "backend", info->backend));
    KW_PUT(kw_put_text(file, "device", info->device));
    KW_PUT(kw_put_text(file, "precision", info->precision == KW_DOUBLE ? "double" : "single"));
    KW_PUT(kw_put_integer(file, "threads", info->threads));
    return kw_put_text_dataset(file, "scene", recorder->problem->scene_text);
}

static herr_t put_problem(const kw_recorder *recorder)
{
    const kw_problem *problem = recorder->problem;
    const kw_map *map = problem->map;
    const kw_grid *user = &problem->user;
    int64_t origin[3] = {user->n[0] / 2, user->n[1] / 2, user->n[2] / 2};
    hid_t grid = H5Gcreate2(recorder->file, "grid", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    KW_PUT(kw_put_integers(grid, "size", user->n, 3));
    KW_PUT(kw_put_integers(grid, "total_size", problem->grid.n, 3));
    KW_PUT(kw_put_integer(grid, "pml_outside", problem->pml.outside));
    KW_PUT(kw_put_reals(grid, "spacing", problem->grid.h, 3));
    KW_PUT(kw_put_text(grid, "spacing_units", "m"));
    KW_PUT(kw_put_integers(grid, "origin_index", origin, 3));
    KW_PUT(kw_put_integers(grid, "pml_size", problem->pml.size, 3));
    KW_PUT(kw_put_reals(grid, "pml_alpha", problem->pml.alpha, 3));
    KW_PUT(H5Gclose(grid));
    hid_t medium = H5Gcreate2(recorder->file, "medium", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    double speed[2] = {map[KW_QUANTITY_C0].min, map[KW_QUANTITY_C0].max};
    double density[2] = {map[KW_QUANTITY_RHO0].min, map[KW_QUANTITY_RHO0].max};
    KW_PUT(kw_put_reals(medium, "sound_speed_range", speed, 2));
    KW_PUT(kw_put_text(medium, "sound_speed_units", "m/s"));
    KW_PUT(kw_put_reals(medium, "density_range", density, 2));
    KW_PUT(kw_put_text(medium, "density_units", "kg/m^3"));
    if (problem->absorption.on) {
        double alpha[2] = {map[KW_QUANTITY_ALPHA].min, map[KW_QUANTITY_ALPHA].max};
        KW_PUT(kw_put_reals(medium, "absorption_range", alpha, 2));
        KW_PUT(kw_put_text(medium, "absorption_units", "dB/(MHz^y cm)"));
        KW_PUT(kw_put_real(medium, "absorption_power", problem->absorption.power));
        KW_PUT(kw_put_integer(medium, "attenuation", problem->absorption.attenuation));
        KW_PUT(kw_put_integer(medium, "dispersion", problem->absorption.dispersion));
    }
    if (problem->nonlinear) {
        double bona[2] = {map[KW_QUANTITY_BONA].min, map[KW_QUANTITY_BONA].max};
        KW_PUT(kw_put_reals(medium, "nonlinearity_range", bona, 2));
    }
    KW_PUT(kw_put_real(medium, "reference_speed", problem->c_ref));
    KW_PUT(kw_put_real(medium, "max_frequency", kw_max_frequency(problem)));
    return H5Gclose(medium);
}

static herr_t put_sensor_rows(const kw_recorder *recorder, const hid_t dataset[4])
{
    const int64_t sensors = kw_sensor_count(recorder->problem), *inner = recorder->problem->inner.lo;
    enum { ROWS = 4096 };
    static _Thread_local struct {
        int64_t set[ROWS], index[ROWS][3];
        double asked[ROWS][3], used[ROWS][3];
    } row;
    for (int64_t first = 0; first < sensors; first += ROWS) {
        int64_t count = sensors - first < ROWS ? sensors - first : ROWS, at[2] = {first, 0}, block[2] = {count, 3};
        for (int64_t i = 0; i < count; i++) {
            kw_sensor_place place = kw_sensor_locate(recorder->problem, first + i);
            row.set[i] = place.set;
            for (int k = 0; k < 3; k++) row.index[i][k] = place.index[k] - inner[k];
            memcpy(row.asked[i], place.asked, sizeof place.asked);
            memcpy(row.used[i], place.used, sizeof place.used);
        }
        KW_PUT(kw_write_block(dataset[0], H5T_NATIVE_INT64, at, block, row.set));
        KW_PUT(kw_write_block(dataset[1], H5T_NATIVE_INT64, at, block, row.index));
        KW_PUT(kw_write_block(dataset[2], H5T_NATIVE_DOUBLE, at, block, row.asked));
        KW_PUT(kw_write_block(dataset[3], H5T_NATIVE_DOUBLE, at, block, row.used));
    }
    return 0;
}

/* /sensors/{names, set, index, position, position_used}: a row for each recorded row, the common sets' first. */
static herr_t put_sensors(const kw_recorder *recorder)
{
    const kw_problem *problem = recorder->problem;
    kw_layout_of one = {.rank = 1, .dim = {kw_sensor_count(problem)}}, three = {.rank = 2, .dim = {one.dim[0], 3}};
    const char *names[1 + 64], **all = names;
    if (one.dim[0] == 0) return 0;
    if (problem->set_count > 64) all = malloc((size_t)problem->set_count * sizeof *all);
    if (all == NULL) return -1;
    for (int64_t i = 0; i < problem->set_count; i++) all[i] = problem->sets[i].name;
    hid_t group = H5Gcreate2(recorder->file, "sensors", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t named = kw_put_texts_dataset(group, "names", all, problem->set_count);
    if (all != names) free(all);
    KW_PUT(named);
    hid_t dataset[4] = {kw_make_dataset(group, "set", H5T_STD_I64LE, &one),
                        kw_make_dataset(group, "index", H5T_STD_I64LE, &three),
                        kw_make_dataset(group, "position", H5T_IEEE_F64LE, &three),
                        kw_make_dataset(group, "position_used", H5T_IEEE_F64LE, &three)};
    KW_PUT(put_sensor_rows(recorder, dataset));
    KW_PUT(kw_put_text(dataset[2], "units", "m"));
    KW_PUT(kw_put_text(dataset[3], "units", "m"));
    for (int i = 0; i < 4; i++) KW_PUT(H5Dclose(dataset[i]));
    return H5Gclose(group);
}

herr_t kw_put_description(const kw_recorder *recorder, const kw_recorder_info *info)
{
    KW_PUT(put_root(recorder, info));
    KW_PUT(put_problem(recorder));
    return put_sensors(recorder);
}
