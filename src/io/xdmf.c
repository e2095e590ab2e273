#include "xdmf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

kw_status kw_xdmf_open(kw_recorder *recorder)
{
    const kw_problem *problem = recorder->problem;
    bool fields = problem->final != 0;
    for (int r = 0; r < problem->recording_count; r++) fields |= problem->recordings[r].kind != KW_RECORD_SENSORS;
    if (!fields || !problem->xdmf || problem->kwave.on) return KW_OK;
    const char *slash = strrchr(recorder->path, '/'), *dot = strrchr(recorder->path, '.');
    size_t length =
        dot != NULL && (slash == NULL || dot > slash + 1) ? (size_t)(dot - recorder->path) : strlen(recorder->path);
    recorder->xdmf.path = malloc(length + 6);
    if (recorder->xdmf.path == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory");
    snprintf(recorder->xdmf.path, length + 6, "%.*s.xdmf", (int)length, recorder->path);
    if (strcmp(recorder->xdmf.path, recorder->path) == 0)
        return kw_fail(KW_ERR_RUN,
                       "the output \"%s\" has the name of the XDMF file beside it; take another name with -o",
                       recorder->path);
    return kw_refuse_existing(recorder->xdmf.path, recorder->force, " (output.xdmf = false does without it)");
}

void kw_xdmf_free(kw_xdmf *xdmf)
{
    free(xdmf->path);
    free(xdmf->grid);
    free(xdmf->field);
    *xdmf = (kw_xdmf){0};
}

/* ---- points ---- */

enum { BLOCK = 64 }; /* points of a chunk's edge */

/* Component `component` of the points of a chunk, which depends on its place along that axis alone. */
static void fill_block(const kw_grid *grid, const kw_box *box, int component, const int64_t first[4],
                       const int64_t count[4], float *block)
{
    for (int64_t x = 0; x < count[0]; x++)
        for (int64_t y = 0; y < count[1]; y++)
            for (int64_t z = 0; z < count[2]; z++) {
                const int64_t at[3] = {x, y, z};
                int64_t index = box->lo[component] + first[component] + at[component];
                *block++ = (float)kw_grid_coordinate(grid, component, (double)index);
            }
}

/* Copies the compressed chunk at `first` to all places across the component's axis, where it is the same. */
static herr_t copy_block(hid_t dataset, int component, const int64_t size[3], const int64_t chunk[4],
                         const int64_t first[4])
{
    hsize_t from[4], bytes = 0;
    uint32_t filters = 0;
    for (int i = 0; i < 4; i++) from[i] = (hsize_t)first[i];
    KW_PUT(H5Dflush(dataset));
    KW_PUT(H5Dget_chunk_storage_size(dataset, from, &bytes));
    void *raw = malloc((size_t)bytes + 1);
    if (raw == NULL) return -1;
    herr_t result = H5Dread_chunk(dataset, H5P_DEFAULT, from, &filters, raw);
    int b = component == 0 ? 1 : 0, c = component == 2 ? 1 : 2;
    for (int64_t i = 0; i < size[b]; i += chunk[b])
        for (int64_t j = 0; j < size[c] && result >= 0; j += chunk[c]) {
            hsize_t to[4] = {from[0], from[1], from[2], from[3]};
            to[b] = (hsize_t)i;
            to[c] = (hsize_t)j;
            if (i > 0 || j > 0) result = H5Dwrite_chunk(dataset, H5P_DEFAULT, filters, to, (size_t)bytes, raw);
        }
    free(raw);
    return result;
}

static herr_t write_points(const kw_recorder *recorder, int number, const kw_box *box)
{
    char name[40];
    int64_t size[3];
    kw_box_size(box, size);
    snprintf(name, sizeof name, "points_%d", number);
    kw_layout_of layout = {.rank = 4, .dim = {size[0], size[1], size[2], 3}, .chunk = {0, 0, 0, 1}, .compression = 1};
    for (int i = 0; i < 3; i++) layout.chunk[i] = size[i] < BLOCK ? size[i] : BLOCK;
    hid_t group = kw_open_group(recorder->file, "xdmf");
    hid_t dataset = group < 0 ? -1 : kw_make_dataset(group, name, H5T_IEEE_F32LE, &layout);
    float *block = malloc(sizeof *block * BLOCK * BLOCK * BLOCK);
    herr_t result = dataset < 0 || block == NULL ? -1 : kw_put_text(dataset, "units", "m");
    for (int a = 0; a < 3 && result >= 0; a++)
        for (int64_t at = 0; at < size[a] && result >= 0; at += layout.chunk[a]) {
            int64_t first[4] = {0, 0, 0, a}, count[4] = {layout.chunk[0], layout.chunk[1], layout.chunk[2], 1};
            first[a] = at;
            if (size[a] - at < count[a]) count[a] = size[a] - at;
            fill_block(&recorder->problem->grid, box, a, first, count, block);
            result = kw_write_block(dataset, H5T_NATIVE_FLOAT, first, count, block);
            if (result >= 0) result = copy_block(dataset, a, size, layout.chunk, first);
        }
    free(block);
    if (dataset >= 0 && H5Dclose(dataset) < 0) result = -1;
    if (group >= 0) H5Gclose(group);
    return result;
}

/* ---- what there is ---- */

static bool same(const char *a, const char *b) { return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0); }

herr_t kw_xdmf_add(kw_recorder *recorder, const char *group, const char *name, const char *snapshots, int rank,
                   const int64_t *dim, const kw_box *box)
{
    kw_xdmf *xdmf = &recorder->xdmf;
    int grid = 0;
    if (xdmf->path == NULL) return 0;
    while (grid < xdmf->grids &&
           (memcmp(&xdmf->grid[grid].box, box, sizeof *box) != 0 || !same(xdmf->grid[grid].snapshots, snapshots)))
        grid++;
    if (grid == xdmf->grids) {
        kw_xdmf_grid *more = realloc(xdmf->grid, (size_t)(grid + 1) * sizeof *more);
        if (more == NULL) return -1;
        xdmf->grid = more;
        more[grid] = (kw_xdmf_grid){*box, snapshots};
        xdmf->grids++;
        if (write_points(recorder, grid, box) < 0) return -1;
    }
    kw_xdmf_field *more = realloc(xdmf->field, (size_t)(xdmf->fields + 1) * sizeof *more);
    if (more == NULL) return -1;
    xdmf->field = more;
    kw_xdmf_field *field = &more[xdmf->fields++];
    *field = (kw_xdmf_field){.grid = grid, .rank = rank};
    memcpy(field->dim, dim, (size_t)rank * sizeof *dim);
    snprintf(field->path, sizeof field->path, "%s/%s", group, name);
    snprintf(field->name, sizeof field->name, "%s", name);
    return 0;
}

herr_t kw_xdmf_add_snapshots(kw_recorder *recorder)
{
    for (int r = 0; r < recorder->problem->recording_count; r++) {
        const kw_series *series = &recorder->series[r];
        const kw_recording *recording = series->recording;
        if (recording->kind != KW_RECORD_SNAPSHOTS || series->written == 0) continue;
        int64_t dim[4] = {series->written};
        kw_box_size(&recording->box, dim + 1);
        for (int q = 0; q < KW_RECORDED; q++)
            if (kw_bit(recording->series, q))
                KW_PUT(kw_xdmf_add(recorder, recording->name, kw_recorded_name((kw_recorded)q), recording->name, 4, dim,
                                   &recording->box));
    }
    return 0;
}

/* ---- the text ---- */

static void put_escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '&')
            fputs("&amp;", file);
        else if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '"')
            fputs("&quot;", file);
        else
            fputc(*text, file);
    }
}

/* <DataItem> of a dataset of the output. */
static void put_dataset(FILE *file, const kw_recorder *recorder, const char *path, int rank, const int64_t *dim,
                        int precision)
{
    const char *slash = strrchr(recorder->path, '/');
    fprintf(file, "<DataItem Format=\"HDF\" NumberType=\"Float\" Precision=\"%d\" Dimensions=\"", precision);
    for (int i = 0; i < rank; i++) fprintf(file, "%s%lld", i ? " " : "", (long long)dim[i]);
    fputs("\">", file);
    put_escaped(file, slash != NULL ? slash + 1 : recorder->path);
    fputs(":/", file);
    put_escaped(file, path[0] == '/' ? path + 1 : path);
    fputs("</DataItem>", file);
}

static void put_mesh(FILE *file, const kw_recorder *recorder, int grid)
{
    char points[60];
    int64_t dim[4] = {0, 0, 0, 3};
    kw_box_size(&recorder->xdmf.grid[grid].box, dim);
    snprintf(points, sizeof points, "xdmf/points_%d", grid);
    fprintf(file, "<Topology TopologyType=\"3DSMesh\" Dimensions=\"%lld %lld %lld\"/>\n<Geometry GeometryType=\"XYZ\">",
            (long long)dim[0], (long long)dim[1], (long long)dim[2]);
    put_dataset(file, recorder, points, 4, dim, 4);
    fputs("</Geometry>\n", file);
}

/* Field `index` of a list of fields, or the field itself. */
static void put_field(FILE *file, const kw_recorder *recorder, const kw_xdmf_field *field, int64_t index, bool numbered)
{
    int precision = (int)kw_real_size(recorder->precision);
    fprintf(file, "<Attribute Name=\"%s", field->name);
    if (numbered) fprintf(file, "_%lld", (long long)index);
    fputs("\" AttributeType=\"Scalar\" Center=\"Node\">", file);
    if (field->rank == 3) {
        put_dataset(file, recorder, field->path, 3, field->dim, precision);
    } else {
        const int64_t *n = field->dim + 1;
        fprintf(file,
                "<DataItem ItemType=\"HyperSlab\" Dimensions=\"%lld %lld %lld\"><DataItem Dimensions=\"3 4\" "
                "Format=\"XML\">"
                "%lld 0 0 0 1 1 1 1 1 %lld %lld %lld</DataItem>",
                (long long)n[0], (long long)n[1], (long long)n[2], (long long)index, (long long)n[0], (long long)n[1],
                (long long)n[2]);
        put_dataset(file, recorder, field->path, 4, field->dim, precision);
        fputs("</DataItem>", file);
    }
    fputs("</Attribute>\n", file);
}

static void put_grid(FILE *file, const kw_recorder *recorder, int grid)
{
    const kw_xdmf *xdmf = &recorder->xdmf;
    fprintf(file, "<Grid Name=\"box %d\" GridType=\"Uniform\">\n", grid);
    put_mesh(file, recorder, grid);
    for (int f = 0; f < xdmf->fields; f++) {
        const kw_xdmf_field *field = &xdmf->field[f];
        int64_t many = field->rank == 4 ? field->dim[0] : 1;
        for (int64_t i = 0; i < many && field->grid == grid; i++) put_field(file, recorder, field, i, field->rank == 4);
    }
    fputs("</Grid>\n", file);
}

static const kw_recording *find_recording(const kw_recorder *recorder, const char *group)
{
    for (int r = 0; r < recorder->problem->recording_count; r++)
        if (strcmp(recorder->problem->recordings[r].name, group) == 0) return &recorder->problem->recordings[r];
    return NULL;
}

static void put_snapshots(FILE *file, const kw_recorder *recorder, int grid)
{
    const kw_xdmf *xdmf = &recorder->xdmf;
    const char *group = xdmf->grid[grid].snapshots;
    const kw_recording *recording = find_recording(recorder, group);
    int64_t count = 0;
    for (int f = 0; f < xdmf->fields; f++)
        if (xdmf->field[f].grid == grid) count = xdmf->field[f].dim[0];
    fputs("<Grid Name=\"", file);
    put_escaped(file, group);
    fputs("\" GridType=\"Collection\" CollectionType=\"Temporal\">\n", file);
    for (int64_t i = 0; i < count; i++) {
        double time = (double)(recording->from + i * recording->every) * recorder->problem->time.dt;
        fprintf(file, "<Grid Name=\"%lld\" GridType=\"Uniform\">\n<Time Value=\"%.12g\"/>\n", (long long)i, time);
        put_mesh(file, recorder, grid);
        for (int f = 0; f < xdmf->fields; f++)
            if (xdmf->field[f].grid == grid) put_field(file, recorder, &xdmf->field[f], i, false);
        fputs("</Grid>\n", file);
    }
    fputs("</Grid>\n", file);
}

kw_status kw_xdmf_write(const kw_recorder *recorder)
{
    const kw_xdmf *xdmf = &recorder->xdmf;
    if (xdmf->path == NULL || xdmf->grids == 0) return KW_OK;
    FILE *file = fopen(xdmf->path, recorder->force ? "w" : "wx");
    if (file == NULL) return kw_fail(KW_ERR_RUN, "cannot write \"%s\": %s", xdmf->path, strerror(errno));
    fputs("<?xml version=\"1.0\" ?>\n<Xdmf Version=\"3.0\">\n<Domain>\n", file);
    for (int grid = 0; grid < xdmf->grids; grid++)
        if (xdmf->grid[grid].snapshots != NULL)
            put_snapshots(file, recorder, grid);
        else
            put_grid(file, recorder, grid);
    fputs("</Domain>\n</Xdmf>\n", file);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        kw_status status = kw_fail(KW_ERR_RUN, "cannot write \"%s\": %s", xdmf->path, strerror(errno));
        remove(xdmf->path);
        return status;
    }
    return KW_OK;
}
