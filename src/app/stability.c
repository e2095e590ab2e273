/* A acts on p: from u = 0 and the densities of p, one step gives p - A p. With w = c0 sqrt(rho0), w^-1 A w is symmetric.
 */
#include "stability.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kwsim/machine.h"
#include "kwsim/prep.h"

enum { LANCZOS_STEPS = 20 };

typedef struct kw_operator {
    kw_problem problem; /* shares the real one's maps */
    const kw_backend *backend;
    kw_precision precision;
    kw_sim *sim;
    kw_box box;
    int64_t count;
    double *w;       /* c0 sqrt(rho0) */
    double *inverse; /* 1/c0^2 */
    double *vector[3];
    char *field; /* in the run's precision */
} kw_operator;

static void put(kw_operator *a, int64_t i, double value)
{
    if (a->precision == KW_DOUBLE)
        ((double *)(void *)a->field)[i] = value;
    else
        ((float *)(void *)a->field)[i] = (float)value;
}

static double get(const kw_operator *a, int64_t i)
{
    return a->precision == KW_DOUBLE ? ((double *)(void *)a->field)[i] : (double)((float *)(void *)a->field)[i];
}

/* The problem that only steps: no PML, sources, losses or recordings, and a p0 of 0. */
static kw_problem bare_problem(const kw_problem *problem)
{
    kw_problem bare = *problem;
    bare.pml = (kw_pml){problem->pml.outside, {0, 0, 0}, {0, 0, 0}};
    bare.source_count = bare.recording_count = 0;
    bare.set_count = 0;
    bare.absorption = (kw_absorption){0};
    bare.nonlinear = false;
    bare.has_p0 = true;
    bare.map[KW_QUANTITY_P0] = (kw_map){0};
    return bare;
}

static kw_status read_maps(kw_operator *a, kw_field_source *source)
{
    int64_t nx = a->problem.grid.n[0], plane = a->count / nx;
    for (int64_t x = 0; x < nx; x++) {
        double *c0 = a->inverse + x * plane, *rho0 = a->w + x * plane;
        KW_TRY(source->read(source->self, KW_QUANTITY_C0, x, 1, KW_DOUBLE, c0));
        KW_TRY(source->read(source->self, KW_QUANTITY_RHO0, x, 1, KW_DOUBLE, rho0));
        for (int64_t i = 0; i < plane; i++) {
            rho0[i] = c0[i] * sqrt(rho0[i]);
            c0[i] = 1.0 / (c0[i] * c0[i]);
        }
    }
    return KW_OK;
}

static kw_status open_operator(kw_operator *a, const kw_options *options)
{
    kw_field_source source = {0};
    int64_t reals = a->count;
    KW_TRY(kw_machine_need(6.0 * 8.0 * (double)reals, "estimating the stability"));
    a->w = malloc((size_t)reals * 6 * sizeof *a->w);
    if (a->w == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory to estimate the stability");
    a->inverse = a->w + reals;
    for (int i = 0; i < 3; i++) a->vector[i] = a->w + (2 + i) * reals;
    a->field = (char *)(a->w + 5 * reals);
    kw_status status = kw_prep_open(&a->problem, options->threads, &source);
    if (status == KW_OK) status = read_maps(a, &source);
    if (status == KW_OK) status = a->backend->create(&a->problem, options, &source, &a->sim);
    kw_prep_close(&source);
    if (status == KW_OK) status = a->backend->advance(a->sim, 1); /* step 0 is p0 */
    return status;
}

/* out = w^-1 A w v */
static kw_status apply(kw_operator *a, const double *v, double *out)
{
    memset(a->field, 0, (size_t)a->count * kw_real_size(a->precision));
    for (int field = KW_FIELD_UX; field <= KW_FIELD_RHOZ; field++)
        KW_TRY(a->backend->write_field(a->sim, (kw_field)field, &a->box, a->field));
    int axis = 0;
    while (!kw_axis_active(&a->problem.grid, axis)) axis++;
    for (int64_t i = 0; i < a->count; i++) put(a, i, a->w[i] * v[i] * a->inverse[i]);
    KW_TRY(a->backend->write_field(a->sim, (kw_field)(KW_FIELD_RHOX + axis), &a->box, a->field));
    KW_TRY(a->backend->advance(a->sim, 1));
    KW_TRY(a->backend->read_field(a->sim, KW_FIELD_P, &a->box, a->field));
    for (int64_t i = 0; i < a->count; i++) out[i] = v[i] - get(a, i) / a->w[i];
    return KW_OK;
}

static double product(const double *a, const double *b, int64_t count)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

/* Largest eigenvalue of the symmetric tridiagonal matrix, by bisection with Sturm's sequence. */
static double largest_eigenvalue(const double *diagonal, const double *off, int n)
{
    double low = 0.0, high = 0.0;
    for (int i = 0; i < n; i++) high = fmax(high, fabs(diagonal[i]) + (i > 0 ? off[i - 1] : 0.0) + off[i]);
    for (int step = 0; step < 100; step++) {
        double x = 0.5 * (low + high), d = 1.0;
        int above = 0;
        for (int i = 0; i < n; i++) {
            d = diagonal[i] - x - (i > 0 ? off[i - 1] * off[i - 1] / d : 0.0);
            if (d == 0.0) d = 1e-300;
            above += d > 0.0;
        }
        if (above > 0)
            low = x;
        else
            high = x;
    }
    return high;
}

static kw_status iterate(kw_operator *a, double *largest)
{
    double diagonal[LANCZOS_STEPS], off[LANCZOS_STEPS], *before = a->vector[0], *v = a->vector[1], *next = a->vector[2];
    uint64_t seed = 1;
    memset(before, 0, (size_t)a->count * sizeof *before);
    for (int64_t i = 0; i < a->count; i++) { /* every mode has a part in noise */
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        v[i] = (double)(seed >> 11) * 0x1p-53 - 0.5;
    }
    double size = sqrt(product(v, v, a->count));
    for (int64_t i = 0; i < a->count; i++) v[i] /= size;
    int n = 0;
    for (double beta = 0.0; n < LANCZOS_STEPS; n++) {
        KW_TRY(apply(a, v, next));
        diagonal[n] = product(v, next, a->count);
        for (int64_t i = 0; i < a->count; i++) next[i] -= diagonal[n] * v[i] + beta * before[i];
        off[n] = beta = sqrt(product(next, next, a->count));
        if (beta < 1e-6) { /* the space is exhausted: a small grid */
            n++;
            break;
        }
        for (int64_t i = 0; i < a->count; i++) next[i] /= beta;
        double *old = before;
        before = v;
        v = next;
        next = old;
    }
    off[n - 1] = 0.0;
    *largest = largest_eigenvalue(diagonal, off, n);
    return KW_OK;
}

kw_status kw_lanczos_estimate(const kw_problem *problem, const kw_backend *backend, const kw_options *options,
                              double *largest)
{
    kw_operator a = {.problem = bare_problem(problem),
                     .backend = backend,
                     .precision = options->precision,
                     .box = kw_grid_box(&problem->grid),
                     .count = kw_grid_points(&problem->grid)};
    kw_status status = open_operator(&a, options);
    if (status == KW_OK) status = iterate(&a, largest);
    if (a.sim != NULL) backend->destroy(a.sim);
    free(a.w);
    return status;
}
