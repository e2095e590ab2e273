/* Running the step in mixed space: what is in it stands in axis_step.cu and spectra.cu. */
#include "mixed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "check.h"
#include "kwsim/tables.h"
#include "sim.h"
#include "spectra.cuh"

namespace
{

const size_t ALIGNMENT = 512;
const int THREADS = 256;

int skin_of(const kw_problem *problem, int axis) { return (int)problem->pml.size[axis]; }

bool has_speed_map(const kw_problem *problem) { return !kw_map_is_constant(&problem->map[KW_QUANTITY_C0]); }

kw_spectrum_shape shape_of(const kw_slots *slots)
{
    kw_spectrum_shape shape = {slots->dims, (int)slots->n[KW_LINES], (int)slots->n[KW_ROWS], (int)slots->n[KW_COLUMNS],
                               (int)slots->bins};
    return shape;
}

/* ---- kappa as a polynomial ---- */

/* Chebyshev interpolation of f on [-1, 1] with degree + 1 nodes, as coefficients of powers. */
template <class F> void fit(F f, int degree, double *power)
{
    const int nodes = degree + 1;
    std::vector<double> chebyshev(nodes, 0.0), before(nodes, 0.0), now(nodes, 0.0), next(nodes, 0.0);
    for (int k = 0; k < nodes; k++)
        for (int j = 0; j < nodes; j++) {
            double angle = M_PI * (j + 0.5) / nodes;
            chebyshev[k] += (k == 0 ? 1.0 : 2.0) / nodes * f(cos(angle)) * cos(k * angle);
        }
    for (int i = 0; i < nodes; i++) power[i] = 0;
    before[0] = 1; /* T_0 */
    if (nodes > 1) now[1] = 1;
    for (int k = 0; k < nodes; k++) {
        const std::vector<double> &t = k == 0 ? before : now;
        for (int i = 0; i < nodes; i++) power[i] += chebyshev[k] * t[i];
        if (k == 0) continue;
        for (int i = 0; i < nodes; i++) next[i] = (i > 0 ? 2 * now[i - 1] : 0.0) - before[i];
        before = now;
        now = next;
    }
}

/* Largest k^2 on the grid. */
double largest_k2(const kw_problem *problem)
{
    double k = kw_grid_kmax(&problem->grid);
    return k * k;
}

/* The polynomial of kappa, or of the sources' correction; false if it does not come to single precision. */
bool fit_radial(const kw_problem *problem, double (*of_k2)(double, double, double), kw_radial *radial)
{
    const double most = 4e-8;
    double k2 = largest_k2(problem), power[KW_RADIAL_DEGREE + 1], worst = 0;
    auto wanted = [&](double v) { return of_k2(problem->c_ref, problem->time.dt, 0.5 * (v + 1) * k2); };
    fit(wanted, KW_RADIAL_DEGREE, power);
    for (int i = 0; i <= 1000; i++) {
        double v = -1 + 0.002 * i, sum = 0;
        for (int d = KW_RADIAL_DEGREE; d >= 0; d--) sum = sum * v + power[d];
        worst = fmax(worst, fabs(sum - wanted(v)));
    }
    for (int d = 0; d <= KW_RADIAL_DEGREE; d++) radial->coefficient[d] = (float)power[d];
    return worst <= most;
}

/* ---- memory ---- */

size_t piece(double bytes) { return ((size_t)bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Floats of an axis' tables: gradient 4, damping 2, variable 1 and place 1/2 a point, 4 a point of the slab, the roots. */
double table_floats(const kw_problem *problem, const kw_slots *slots, int a)
{
    kw_lines lines = kw_lines_plan(slots->n[slots->slot[a]]);
    return 8.0 * lines.n + 8.0 * skin_of(problem, slots->axis[a]) + 2.0 * lines.root_count;
}

/* One piece of the arena: counted, and assigned where there is an arena. */
struct layout {
    char *at;
    kw_memory_plan *plan;
    template <class T> void add(T **pointer, double count, const char *purpose)
    {
        if (plan != nullptr) kw_memory_add(plan, purpose, (double)piece(count * sizeof(T)));
        *pointer = reinterpret_cast<T *>(at);
        if (count == 0) *pointer = nullptr;
        at += piece(count * sizeof(T));
    }
};

void lay_out(const kw_problem *problem, const kw_slots *slots, kw_mixed *m, float2 **p, layout *to)
{
    kw_spectrum_shape shape = shape_of(slots);
    double spectrum = (double)kw_spectrum_elements(&shape);
    to->add(p, spectrum, "pressure, velocity, density");
    for (int a = 0; a < slots->dims; a++) {
        kw_slot slot = slots->slot[a];
        double n = (double)slots->n[slot], kept = 2.0 * skin_of(problem, slots->axis[a]);
        to->add(&m->momentum[a], (double)kw_mixed_elements(&shape, slot, (int64_t)n), "pressure, velocity, density");
        to->add(&m->density[a], (double)kw_mixed_elements(&shape, slot, (int64_t)kept), "pressure, velocity, density");
        to->add(&m->table[a], table_floats(problem, slots, a), "k-space tables");
    }
    to->add(&m->total, spectrum, "spectra");
    to->add(&m->sum, spectrum, "spectra");
    to->add(&m->pressure, has_speed_map(problem) ? spectrum : 0, "spectra");
    to->add(&m->flat_variable, 1, "k-space tables");
    to->add(&m->gain, KW_AXIS_SOURCES, "sources");
    to->add(&m->wanted, shape.lines, "recording");
    to->add(&m->planes, shape.lines, "recording");
    to->add(&m->rows, (double)shape.lines * shape.rows, "recording");
    for (int64_t s = 0; s < problem->source_count; s++) {
        const kw_source *source = &problem->sources[s];
        bool pressure = source->quantity == KW_SOURCE_P || source->quantity == KW_SOURCE_VOLUME;
        to->add(&m->source[s].total, pressure ? spectrum : 0, "sources");
        for (int a = 0; a < slots->dims; a++) {
            kw_slot slot = slots->slot[a];
            int64_t kept = 2 * skin_of(problem, slots->axis[a]);
            to->add(&m->source[s].density[a], pressure ? (double)kw_mixed_elements(&shape, slot, kept) : 0, "sources");
            if ((int)source->quantity == KW_SOURCE_UX + slots->axis[a])
                to->add(&m->source[s].momentum, (double)kw_mixed_elements(&shape, slot, slots->n[slot]), "sources");
        }
    }
}

/* ---- pointwise kernels ---- */

__device__ inline int64_t first_item() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int64_t item_stride() { return (int64_t)gridDim.x * blockDim.x; }

unsigned blocks_for(int64_t items)
{
    int64_t blocks = (items + THREADS - 1) / THREADS;
    return (unsigned)(blocks < 1 ? 1 : blocks < 65536 ? blocks : 65536);
}

kw_status launched(const char *doing)
{
    KW_CUDA(cudaGetLastError(), doing);
    return KW_OK;
}

/* to = a to + b from, or plus *gain from where a gain is given */
__global__ void combine(float2 *to, const float2 *from, float a, float b, const float *gain, int64_t count)
{
    if (gain != nullptr) b = *gain;
    if (gain != nullptr && b == 0.0f) return;
    for (int64_t i = first_item(); i < count; i += item_stride()) {
        float2 x = to[i], y = from[i];
        to[i] = make_float2(a * x.x + b * y.x, a * x.y + b * y.y);
    }
}

/* spectrum *= a function of |k|^2 */
__global__ void scale_radially(const kw_spectrum_shape s, const kw_radial r, float2 *spectrum)
{
    int64_t count = (int64_t)s.lines * s.rows * s.bins, plane = (int64_t)s.lines * s.rows * KW_TILE_LINES;
    for (int64_t i = first_item(); i < count; i += item_stride()) {
        int tile = (int)(i / plane), width = min((int)KW_TILE_LINES, s.bins - tile * KW_TILE_LINES);
        int inside = (int)(i - tile * plane), bin = tile * KW_TILE_LINES + inside % width, row = inside / width;
        float v = r.variable[KW_LINES][row / s.rows] + r.variable[KW_ROWS][row % s.rows] + r.variable[KW_COLUMNS][bin];
        float factor = kw::radial_at(r, v);
        spectrum[i] = make_float2(factor * spectrum[i].x, factor * spectrum[i].y);
    }
}

/* A mixed field of the whole axis, divided by the damping that a momentum gets. */
__global__ void undamp(const kw_spectrum_shape s, kw_slot slot, const float2 *damping, float scale, int64_t count,
                       float2 *field)
{
    int64_t plane = (int64_t)s.lines * s.rows * KW_TILE_LINES;
    for (int64_t i = first_item(); i < count; i += item_stride()) {
        int64_t j = i / KW_TILE_LINES % s.columns;
        if (slot != KW_COLUMNS) {
            int64_t tile = i / plane, width = min((int64_t)KW_TILE_LINES, s.bins - tile * KW_TILE_LINES);
            int64_t row = (i - tile * plane) / width;
            j = slot == KW_LINES ? row / s.rows : row % s.rows;
        }
        float factor = scale / fmaxf(damping[j].x, 1e-20f);
        field[i] = make_float2(factor * field[i].x, factor * field[i].y);
    }
}

struct slab_bounds {
    int n[3], skin[3]; /* by slot; a flat axis has no slab and takes no share */
    bool active[3];
};

__device__ inline bool in_slab(const slab_bounds &b, int slot, int j)
{
    return j < b.skin[slot] || j >= b.n[slot] - b.skin[slot];
}

struct real_point {
    int at[3];
    int64_t offset;
};

__device__ inline real_point find_point(const kw_spectrum_shape &s, int64_t i)
{
    real_point p;
    int64_t row = i / s.columns;
    p.at[KW_COLUMNS] = (int)(i % s.columns);
    p.at[KW_ROWS] = (int)(row % s.rows);
    p.at[KW_LINES] = (int)(row / s.rows);
    p.offset = row * 2 * s.bins + p.at[KW_COLUMNS];
    return p;
}

/* field = 0 but where a point lies in the slabs of every axis */
__global__ void keep_corners(const kw_spectrum_shape s, const slab_bounds b, float *field)
{
    for (int64_t i = first_item(); i < (int64_t)s.lines * s.rows * s.columns; i += item_stride()) {
        real_point p = find_point(s, i);
        bool corner = true;
        for (int slot = 0; slot < 3; slot++) corner = corner && (!b.active[slot] || in_slab(b, slot, p.at[slot]));
        if (!corner) field[p.offset] = 0;
    }
}

/* The densities, which hold their parts in the slabs, get equal shares of what S has beyond them: those of the axes in
 * whose slabs the point does not lie. */
__global__ void share(const kw_spectrum_shape s, const slab_bounds b, const float *total, float *density,
                      int64_t field_floats)
{
    for (int64_t i = first_item(); i < (int64_t)s.lines * s.rows * s.columns; i += item_stride()) {
        real_point p = find_point(s, i);
        float rest = total[p.offset];
        int open = 0, field = 0;
        for (int slot = 0; slot < 3; slot++) {
            if (!b.active[slot]) continue;
            rest -= density[field_floats * field++ + p.offset];
            open += !in_slab(b, slot, p.at[slot]);
        }
        field = 0;
        for (int slot = 0; slot < 3; slot++) {
            if (!b.active[slot]) continue;
            float *at = &density[field_floats * field++ + p.offset];
            if (open == 0)
                *at += rest / s.dims;
            else if (!in_slab(b, slot, p.at[slot]))
                *at += rest / open;
        }
    }
}

/* total = sum of `count` fields, times a map unless that is NULL */
__global__ void add_up(float2 *total, const float2 *fields, int count, const float2 *map, int64_t elements)
{
    for (int64_t i = first_item(); i < elements; i += item_stride()) {
        float2 sum = fields[i];
        for (int f = 1; f < count; f++) {
            float2 x = fields[f * elements + i];
            sum = make_float2(sum.x + x.x, sum.y + x.y);
        }
        if (map != nullptr) sum = make_float2(sum.x * map[i].x, sum.y * map[i].y);
        total[i] = sum;
    }
}

slab_bounds bounds_of(const kw_sim *sim)
{
    slab_bounds b = {};
    for (int slot = 0; slot < 3; slot++) b.n[slot] = (int)sim->slots.n[slot];
    for (int a = 0; a < sim->slots.dims; a++) {
        b.skin[sim->slots.slot[a]] = skin_of(sim->problem, sim->slots.axis[a]);
        b.active[sim->slots.slot[a]] = true;
    }
    return b;
}

/* ---- whole fields ---- */

int64_t elements_of(const kw_sim *sim) { return kw_spectrum_elements(&sim->mixed.shape); }

float one_over_points(const kw_sim *sim) { return 1.0f / (float)kw_grid_points(&sim->problem->grid); }

/* Active axis that lies in a slot; -1: none. */
int axis_in(const kw_sim *sim, kw_slot slot)
{
    for (int a = 0; a < sim->slots.dims; a++)
        if (sim->slots.slot[a] == slot) return a;
    return -1;
}

kw_status move(const kw_sim *sim, int a, const kw_line_move *how)
{
    return kw_move_lines(&sim->mixed.axis[a], &sim->mixed.kappa, how, sim->compute);
}

/* Complex passes along lines and rows, in place. */
kw_status along(const kw_sim *sim, kw_slot slot, const float2 *from, float2 *to, bool forward)
{
    int a = axis_in(sim, slot);
    kw_line_move how = {};
    how.from = from;
    how.to = to;
    how.forward = forward;
    how.scale = 1;
    return a < 0 ? KW_OK : move(sim, a, &how);
}

kw_status rows_move(const kw_sim *sim, const kw_row_move *how)
{
    return kw_move_rows(&sim->mixed.axis[axis_in(sim, KW_COLUMNS)], how, sim->compute);
}

/* spectrum = F (real / divide) */
kw_status forward(const kw_sim *sim, float2 *real, const float2 *divide, float2 *spectrum)
{
    kw_row_move how = {};
    how.spectrum = spectrum;
    how.real = reinterpret_cast<float *>(real);
    how.forward = true;
    how.divide = reinterpret_cast<const float *>(divide);
    KW_TRY(rows_move(sim, &how));
    KW_TRY(along(sim, KW_ROWS, spectrum, spectrum, true));
    return along(sim, KW_LINES, spectrum, spectrum, true);
}

/* real = scale F^-1 spectrum, times a map unless that is NULL; work is a spectrum, which may be the same one */
kw_status inverse(const kw_sim *sim, const float2 *spectrum, float2 *work, float scale, const float2 *multiply,
                  float2 *real)
{
    kw_row_move how = {};
    KW_TRY(along(sim, KW_LINES, spectrum, work, false));
    KW_TRY(along(sim, KW_ROWS, work, work, false));
    how.spectrum = work;
    how.real = reinterpret_cast<float *>(real);
    how.inverse = how.keeps = true;
    how.scale = scale * one_over_points(sim);
    how.multiply = reinterpret_cast<const float *>(multiply);
    return rows_move(sim, &how);
}

/* A mixed field of axis a from a whole spectrum, and back. */
kw_status to_mixed(const kw_sim *sim, int a, const float2 *spectrum, float scale, int skin, float2 *mixed)
{
    kw_line_move how = {};
    how.from = spectrum;
    how.to = mixed;
    how.skin = skin;
    how.scale = scale / (float)sim->mixed.axis[a].lines.n;
    return move(sim, a, &how);
}

kw_status from_mixed(const kw_sim *sim, int a, const float2 *mixed, float scale, int skin, bool adds, float2 *spectrum)
{
    kw_line_move how = {};
    how.from = mixed;
    how.to = spectrum;
    how.forward = true;
    how.skin = skin;
    how.adds = adds;
    how.scale = scale;
    return move(sim, a, &how);
}

kw_status add(const kw_sim *sim, float2 *to, const float2 *from, float a, float b, const float *gain, int64_t count)
{
    if (count == 0) return KW_OK;
    combine<<<blocks_for(count), THREADS, 0, sim->compute>>>(to, from, a, b, gain, count);
    return launched("adding fields");
}

int skin(const kw_sim *sim, int a) { return skin_of(sim->problem, sim->slots.axis[a]); }

/* ---- tables ---- */

kw_status fill_axis(kw_sim *sim, int a)
{
    kw_mixed *m = &sim->mixed;
    const kw_problem *problem = sim->problem;
    kw_axis *axis = &m->axis[a];
    kw_axis_step *step = &m->step[a];
    const int n = axis->lines.n, own = skin(sim, a), user = sim->slots.axis[a];
    const double dt = problem->time.dt, c0 = problem->map[KW_QUANTITY_C0].min;
    const double c2 = has_speed_map(problem) ? 1.0 : c0 * c0, k2_most = largest_k2(problem);
    std::vector<double> root(2 * axis->lines.root_count), k2(n), gradient(2 * n), staggered(n), plain(n);
    std::vector<unsigned short> place(n);
    std::vector<float> table;
    kw_lines_tables(&axis->lines, root.data(), place.data());
    kw_table_k2(&problem->grid, user, n, k2.data());
    kw_table_gradient(&problem->grid, user, n, gradient.data());
    kw_table_pml(problem, user, true, staggered.data());
    kw_table_pml(problem, user, false, plain.data());
    /* the widest entries first, so that all are aligned */
    for (int row = 0; row < 2 * own; row++) {
        double e = plain[row < own ? row : n - 2 * own + row];
        for (double x : {e * e, e / n, e * e - 1, (e - 1) / n}) table.push_back((float)x);
    }
    std::vector<double> variable(n);
    for (int f = 0; f < n; f++) variable[f] = 2 * k2[f] / k2_most - (axis->slot == KW_COLUMNS ? 1 : 0);
    for (int f = 0; f < n; f++)
        for (double x : {dt * c2 / n * gradient[2 * f], dt * c2 / n * gradient[2 * f + 1], variable[f], 0.0})
            table.push_back((float)x);
    for (double x : root) table.push_back((float)x);
    for (int j = 0; j < n; j++)
        for (double x : {staggered[j] * staggered[j], -staggered[j]}) table.push_back((float)x);
    for (double x : variable) table.push_back((float)x);
    size_t used = table.size();
    table.resize((size_t)table_floats(problem, &sim->slots, a));
    memcpy(&table[used], place.data(), (size_t)n * sizeof(unsigned short));
    float *device = m->table[a], *at = device;
    step->slab = reinterpret_cast<const float4 *>(at);
    step->gradient = reinterpret_cast<const float4 *>(at += 8 * own);
    axis->lines.roots = reinterpret_cast<const float2 *>(at += 4 * n);
    step->damping = reinterpret_cast<const float2 *>(at += root.size());
    m->kappa.variable[axis->slot] = at += 2 * n;
    axis->lines.place = reinterpret_cast<const unsigned short *>(at += n);
    step->divergence = (float)(n / c2);
    step->skin = own;
    return kw_upload(sim, device, table.data(), table.size() * sizeof(float));
}

void set_steps(kw_sim *sim)
{
    kw_mixed *m = &sim->mixed;
    for (int a = 0; a < sim->slots.dims; a++) {
        kw_axis_step *step = &m->step[a];
        step->axis = m->axis[a];
        step->kappa = m->kappa;
        step->source = m->pressure != nullptr ? m->pressure : m->total;
        step->momentum = m->momentum[a];
        step->density = m->density[a];
        step->first = m->axis[a].slot == KW_COLUMNS;
        step->last = m->axis[a].slot == KW_LINES;
        step->sum = m->sum;
        step->total = m->total;
        for (int64_t s = 0; s < sim->problem->source_count && step->last; s++) {
            if (m->source[s].total == nullptr) continue;
            step->gain[step->sources] = m->gain + s;
            step->to_total[step->sources++] = m->source[s].total;
        }
    }
}

/* ---- what is wanted of p ---- */

kw_status fill_wanted(kw_sim *sim)
{
    kw_mixed *m = &sim->mixed;
    std::vector<int> planes, rows;
    std::vector<unsigned char> wanted((size_t)m->shape.lines, 0);
    for (int x = 0; x < m->shape.lines; x++)
        for (int y = 0; y < m->shape.rows; y++) {
            int row = x * m->shape.rows + y;
            if (!m->row_needed[row]) continue;
            if (!wanted[x]) planes.push_back(x);
            wanted[x] = 1;
            rows.push_back(row);
        }
    m->plane_count = (int)planes.size();
    m->row_count = (int)rows.size();
    KW_TRY(kw_upload(sim, m->wanted, wanted.data(), wanted.size()));
    if (!planes.empty()) KW_TRY(kw_upload(sim, m->planes, planes.data(), planes.size() * sizeof(int)));
    if (!rows.empty()) KW_TRY(kw_upload(sim, m->rows, rows.data(), rows.size() * sizeof(int)));
    return KW_OK;
}

bool wants_all(const kw_mixed *m) { return m->row_count == m->shape.lines * m->shape.rows; }

/* ---- sources ---- */

kw_status fill_source(kw_sim *sim, int s)
{
    kw_mixed *m = &sim->mixed;
    const kw_device_source *source = &sim->sources[s];
    const kw_problem *problem = sim->problem;
    kw_radial correction = m->kappa;
    if (!fit_radial(problem, kw_kappa_source, &correction)) return kw_fail(KW_ERR_RUN, "kappa_src has no polynomial");
    KW_TRY(kw_launch_scatter(&sim->device, source, true, sim->device.p, sim->compute));
    KW_TRY(forward(sim, sim->device.p, nullptr, m->sum));
    if (source->mode == KW_ADDITIVE)
        scale_radially<<<blocks_for(elements_of(sim)), THREADS, 0, sim->compute>>>(m->shape, correction, m->sum);
    KW_TRY(launched("a source"));
    for (int a = 0; a < sim->slots.dims && source->field < 0; a++)
        if (skin(sim, a) > 0) KW_TRY(to_mixed(sim, a, m->sum, 1, skin(sim, a), m->source[s].density[a]));
    if (source->field < 0)
        return add(sim, m->source[s].total, m->sum, 0, (float)sim->slots.dims, nullptr, elements_of(sim));
    int a = source->field;
    int64_t count = kw_mixed_elements(&m->shape, m->axis[a].slot, m->axis[a].lines.n);
    KW_TRY(to_mixed(sim, a, m->sum, 1, 0, m->source[s].momentum));
    undamp<<<blocks_for(count), THREADS, 0, sim->compute>>>(m->shape, m->axis[a].slot, m->step[a].damping,
                                                           (float)problem->map[KW_QUANTITY_RHO0].min, count,
                                                           m->source[s].momentum);
    return launched("a source");
}

kw_status apply_sources(kw_sim *sim, bool before)
{
    kw_mixed *m = &sim->mixed;
    for (int64_t s = 0; s < sim->problem->source_count; s++) {
        int field = sim->sources[s].field;
        for (int a = 0; a < sim->slots.dims; a++) {
            kw_slot slot = m->axis[a].slot;
            if (before && field == a)
                KW_TRY(add(sim, m->momentum[a], m->source[s].momentum, 1, 0, m->gain + s,
                           kw_mixed_elements(&m->shape, slot, m->axis[a].lines.n)));
            if (!before && field < 0)
                KW_TRY(add(sim, m->density[a], m->source[s].density[a], 1, 0, m->gain + s,
                           kw_mixed_elements(&m->shape, slot, 2 * skin(sim, a))));
        }
    }
    return KW_OK;
}

/* ---- p ---- */

/* `sum` holds F_lines^-1 F S where it is wanted: p there. Where c0 is a map, everywhere, and F p with it. */
kw_status show(kw_sim *sim, bool shows)
{
    kw_mixed *m = &sim->mixed;
    const kw_device *d = &sim->device;
    kw_row_move rows = {};
    rows.spectrum = m->sum;
    rows.real = reinterpret_cast<float *>(d->p);
    rows.inverse = true;
    rows.scale = d->c2_constant * one_over_points(sim);
    if (m->pressure != nullptr) {
        rows.scale = one_over_points(sim);
        rows.forward = true;
        rows.keeps = shows;
        rows.multiply = reinterpret_cast<const float *>(d->c2);
        KW_TRY(along(sim, KW_ROWS, m->sum, m->sum, false));
        KW_TRY(rows_move(sim, &rows));
        KW_TRY(along(sim, KW_ROWS, m->sum, m->sum, true));
        return along(sim, KW_LINES, m->sum, m->pressure, true);
    }
    rows.keeps = true;
    if (!wants_all(m)) {
        rows.only = m->rows;
        rows.only_count = m->row_count;
    }
    if (axis_in(sim, KW_ROWS) >= 0) {
        kw_line_move lines = {};
        lines.from = lines.to = m->sum;
        lines.scale = 1;
        lines.only = wants_all(m) ? nullptr : m->planes;
        lines.only_count = m->plane_count;
        KW_TRY(move(sim, axis_in(sim, KW_ROWS), &lines));
    }
    return rows_move(sim, &rows);
}

} // namespace

const char *kw_mixed_obstacle_here(const kw_problem *problem)
{
    const char *obstacle = kw_mixed_obstacle(problem);
    kw_radial kappa;
    if (obstacle != nullptr) return obstacle;
    for (int i = 0; i < 3; i++)
        if (kw_axis_active(&problem->grid, i) && kw_lines_plan(problem->grid.n[i]).inner == 0)
            return "on the GPU it needs axes of at most 2048 points whose prime factors are 2, 3, 5 and 7";
    bool fits = problem->time.dt <= 0 ||
                (fit_radial(problem, kw_kappa, &kappa) && fit_radial(problem, kw_kappa_source, &kappa));
    if (!fits) return "the time step is too large for it on the GPU";
    return nullptr;
}

bool kw_mixed_taken_here(const kw_problem *problem)
{
    return problem->stepper != KW_STEPPER_CLASSICAL && kw_mixed_obstacle_here(problem) == nullptr;
}

void kw_mixed_plan(const kw_problem *problem, kw_memory_plan *plan)
{
    kw_slots slots = kw_slots_make(&problem->grid);
    kw_mixed none = {};
    float2 *p;
    layout to = {nullptr, plan};
    lay_out(problem, &slots, &none, &p, &to);
}

char *kw_mixed_carve(kw_sim *sim, char *at)
{
    layout to = {at, nullptr};
    lay_out(sim->problem, &sim->slots, &sim->mixed, &sim->device.p, &to);
    return to.at;
}

kw_status kw_mixed_fill(kw_sim *sim)
{
    kw_mixed *m = &sim->mixed;
    int device, shared_bytes;
    KW_CUDA(cudaGetDevice(&device), "the GPU's properties");
    KW_CUDA(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
            "the GPU's properties");
    KW_TRY(kw_spectra_prepare(shared_bytes));
    KW_TRY(kw_axis_step_prepare(shared_bytes));
    m->shape = shape_of(&sim->slots);
    m->corner = true;
    m->row_needed = static_cast<unsigned char *>(calloc((size_t)m->shape.lines * m->shape.rows, 1));
    if (m->row_needed == nullptr) return kw_fail(KW_ERR_RESOURCE, "no host memory for tables");
    if (!fit_radial(sim->problem, kw_kappa, &m->kappa)) return kw_fail(KW_ERR_RUN, "kappa has no polynomial");
    for (const float *&variable : m->kappa.variable) variable = m->flat_variable; /* 0 */
    try {
        for (int a = 0; a < sim->slots.dims; a++) {
            kw_axis *axis = &m->axis[a];
            axis->shape = m->shape;
            axis->slot = sim->slots.slot[a];
            axis->lines = kw_lines_plan(sim->slots.n[axis->slot]);
            int width = kw_lines_width(&axis->lines, shared_bytes - 1024, KW_AXIS_STEP_BYTES);
            while (1 << axis->log_width < width) axis->log_width++;
            m->corner = m->corner && skin(sim, a) > 0;
            KW_TRY(fill_axis(sim, a));
        }
    } catch (const std::bad_alloc &) {
        return kw_fail(KW_ERR_RESOURCE, "no host memory for tables");
    }
    set_steps(sim);
    return KW_OK;
}

/* sim->device.p holds p0. */
kw_status kw_mixed_start(kw_sim *sim)
{
    kw_mixed *m = &sim->mixed;
    const kw_device *d = &sim->device;
    int dims = sim->slots.dims;
    bool has_p0 = sim->problem->has_p0;
    try {
        KW_TRY(fill_wanted(sim));
    } catch (const std::bad_alloc &) {
        return kw_fail(KW_ERR_RESOURCE, "no host memory for tables");
    }
    if (has_p0) {
        KW_TRY(forward(sim, d->p, nullptr, m->pressure != nullptr ? m->pressure : m->total));
        if (m->pressure != nullptr)
            KW_TRY(forward(sim, d->p, d->c2, m->total));
        else
            KW_TRY(add(sim, m->total, m->total, 0, 1 / d->c2_constant, nullptr, elements_of(sim)));
        for (int a = 0; a < dims; a++) {
            kw_line_move how = {};
            how.from = m->step[a].source;
            how.to = m->momentum[a];
            how.scale = 0.5f; /* u_i(-dt/2) = +dt/(2 rho0) F^-1 {P_i kappa F p0} */
            how.factor = m->step[a].gradient;
            KW_TRY(move(sim, a, &how));
            if (skin(sim, a) > 0) KW_TRY(to_mixed(sim, a, m->total, 1.0f / (float)dims, skin(sim, a), m->density[a]));
        }
        m->fresh = true;
    }
    return KW_OK;
}

kw_status kw_mixed_sources(kw_sim *sim)
{
    for (int64_t s = 0; s < sim->problem->source_count; s++) KW_TRY(fill_source(sim, (int)s));
    return KW_OK;
}

kw_status kw_mixed_step(kw_sim *sim, bool shows)
{
    kw_mixed *m = &sim->mixed;
    static const kw_slot order[] = {KW_COLUMNS, KW_ROWS, KW_LINES};
    KW_TRY(kw_launch_begin(&sim->device, sim->sources, (int)sim->problem->source_count, m->gain, sim->compute));
    KW_TRY(apply_sources(sim, true));
    for (kw_slot slot : order) {
        int a = axis_in(sim, slot);
        if (a < 0) continue;
        kw_axis_step step = m->step[a];
        if (step.last && (shows || m->pressure != nullptr)) {
            step.lines_out = m->sum;
            if (m->pressure == nullptr && !wants_all(m)) step.wanted = m->wanted;
        }
        KW_TRY(kw_launch_axis_step(&step, sim->compute));
    }
    KW_TRY(apply_sources(sim, false));
    return shows || m->pressure != nullptr ? show(sim, shows) : KW_OK;
}

kw_status kw_mixed_mend(kw_sim *sim)
{
    kw_mixed *m = &sim->mixed;
    const kw_device *d = &sim->device;
    int64_t points = kw_grid_points(&sim->problem->grid);
    if (!m->corner) return KW_OK;
    for (int a = 0; a < sim->slots.dims; a++)
        KW_TRY(from_mixed(sim, a, m->density[a], 1, skin(sim, a), a > 0, m->sum));
    KW_TRY(add(sim, m->sum, m->total, -1, 1, nullptr, elements_of(sim)));
    KW_TRY(inverse(sim, m->sum, m->sum, 1, nullptr, d->p));
    keep_corners<<<blocks_for(points), THREADS, 0, sim->compute>>>(m->shape, bounds_of(sim),
                                                                  reinterpret_cast<float *>(d->p));
    KW_TRY(launched("mending"));
    KW_TRY(forward(sim, d->p, nullptr, m->sum));
    m->fresh = false;
    return add(sim, m->total, m->sum, 1, -1, nullptr, elements_of(sim));
}

bool kw_mixed_shows_all(const kw_sim *sim) { return sim->mixed.pressure != nullptr || wants_all(&sim->mixed); }

kw_status kw_mixed_pressure(kw_sim *sim)
{
    kw_mixed *m = &sim->mixed;
    const kw_device *d = &sim->device;
    if (m->fresh) return KW_OK;
    KW_TRY(inverse(sim, m->total, m->sum, d->c2 != nullptr ? 1.0f : d->c2_constant, d->c2, d->p));
    m->fresh = true;
    return KW_OK;
}

/* ---- the state from outside ---- */

namespace
{

kw_status hold_densities(kw_sim *sim)
{
    kw_mixed *m = &sim->mixed;
    const kw_device *d = &sim->device;
    int64_t elements = elements_of(sim), points = kw_grid_points(&sim->problem->grid);
    if (m->held != nullptr) return KW_OK;
    KW_CUDA(cudaMalloc(reinterpret_cast<void **>(&m->held), (size_t)(sim->slots.dims * elements) * sizeof(float2)),
            "the densities");
    for (int a = 0; a < sim->slots.dims; a++) {
        if (skin(sim, a) > 0) {
            KW_TRY(from_mixed(sim, a, m->density[a], 1, skin(sim, a), false, m->sum));
            KW_TRY(inverse(sim, m->sum, m->sum, 1, nullptr, m->held + a * elements));
        } else {
            KW_CUDA(cudaMemsetAsync(m->held + a * elements, 0, (size_t)elements * sizeof(float2), sim->compute),
                    "the densities");
        }
    }
    KW_TRY(inverse(sim, m->total, m->sum, 1, nullptr, d->p));
    m->fresh = false;
    share<<<blocks_for(points), THREADS, 0, sim->compute>>>(m->shape, bounds_of(sim),
                                                           reinterpret_cast<const float *>(d->p),
                                                           reinterpret_cast<float *>(m->held), 2 * elements);
    return launched("the densities");
}

} // namespace

kw_status kw_mixed_component(kw_sim *sim, int a, bool density, float2 **field)
{
    kw_mixed *m = &sim->mixed;
    if (density) {
        KW_TRY(hold_densities(sim));
        *field = m->held + a * elements_of(sim);
        return KW_OK;
    }
    float scale = 1 / sim->device.rho0_constant;
    KW_TRY(from_mixed(sim, a, m->momentum[a], scale, 0, false, m->sum));
    KW_TRY(inverse(sim, m->sum, m->sum, 1, nullptr, sim->device.p));
    m->fresh = false;
    *field = sim->device.p;
    return KW_OK;
}

kw_status kw_mixed_written(kw_sim *sim, int a, bool density)
{
    kw_mixed *m = &sim->mixed;
    if (density) return KW_OK; /* kw_mixed_refresh() takes them together */
    KW_TRY(forward(sim, sim->device.p, nullptr, m->sum));
    return to_mixed(sim, a, m->sum, sim->device.rho0_constant, 0, m->momentum[a]);
}

kw_status kw_mixed_refresh(kw_sim *sim)
{
    kw_mixed *m = &sim->mixed;
    const kw_device *d = &sim->device;
    int64_t elements = elements_of(sim);
    if (m->held == nullptr) return KW_OK;
    for (int a = 0; a < sim->slots.dims; a++) {
        if (skin(sim, a) == 0) continue;
        KW_TRY(forward(sim, m->held + a * elements, nullptr, m->sum));
        KW_TRY(to_mixed(sim, a, m->sum, 1, skin(sim, a), m->density[a]));
    }
    add_up<<<blocks_for(elements), THREADS, 0, sim->compute>>>(d->p, m->held, sim->slots.dims, nullptr, elements);
    KW_TRY(launched("the densities"));
    KW_TRY(forward(sim, d->p, nullptr, m->total));
    if (m->pressure != nullptr) {
        add_up<<<blocks_for(elements), THREADS, 0, sim->compute>>>(d->p, m->held, sim->slots.dims, d->c2, elements);
        KW_TRY(launched("the densities"));
        KW_TRY(forward(sim, d->p, nullptr, m->pressure));
    }
    m->fresh = false;
    kw_mixed_release(sim);
    return KW_OK;
}

void kw_mixed_release(kw_sim *sim)
{
    if (sim->mixed.held != nullptr) cudaStreamSynchronize(sim->compute);
    cudaFree(sim->mixed.held);
    sim->mixed.held = nullptr;
}
