#include "kwsim/surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- frames ---- */

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double a[3], const double b[3], double result[3])
{
    for (int i = 0; i < 3; i++) result[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static void normalise(double v[3])
{
    double length = sqrt(dot(v, v));
    for (int i = 0; i < 3 && length > 0.0; i++) v[i] /= length;
}

void kw_surface_choose_side(kw_surface *surface)
{
    double axis[3] = {0};
    if (surface->flat >= 0) {
        axis[surface->flat] = 1.0;
        cross(axis, surface->normal, surface->side);
        normalise(surface->side);
        return;
    }
    int most_across = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(surface->normal[i]) < fabs(surface->normal[most_across]) - 1e-12) most_across = i;
    axis[most_across] = 1.0;
    double along = dot(axis, surface->normal);
    for (int i = 0; i < 3; i++) surface->side[i] = axis[i] - along * surface->normal[i];
    normalise(surface->side);
}

/* Position and normal at the surface's own coordinates: a along `side`, b across, c along `normal`. */
static void put(const kw_surface *surface, double a, double b, double c, double position[3])
{
    double across[3];
    cross(surface->normal, surface->side, across);
    for (int i = 0; i < 3; i++)
        position[i] = surface->center[i] + a * surface->side[i] + b * across[i] + c * surface->normal[i];
}

/* ---- quadrature ---- */

/* Nodes and weights of Gauss-Legendre quadrature on (-1, 1), by Newton's method. */
static void gauss_legendre(int64_t n, double *x, double *w)
{
    for (int64_t i = 0; i < n; i++) {
        double z = cos(M_PI * ((double)i + 0.75) / ((double)n + 0.5)), derivative = 1.0;
        for (int iteration = 0; iteration < 100; iteration++) {
            double p1 = 1.0, p2 = 0.0;
            for (int64_t j = 0; j < n; j++) {
                double p3 = p2;
                p2 = p1;
                p1 = ((2.0 * (double)j + 1.0) * z * p2 - (double)j * p3) / ((double)j + 1.0);
            }
            derivative = (double)n * (z * p1 - p2) / (z * z - 1.0);
            double step = p1 / derivative;
            z -= step;
            if (fabs(step) < 1e-15) break;
        }
        x[i] = z;
        w[i] = 2.0 / ((1.0 - z * z) * derivative * derivative);
    }
}

typedef struct building {
    kw_surface_nodes *nodes;
    int64_t room;
    double spacing;
    bool failed;
} building;

/* A node; `bend` > 0: the normal points from it to the centre of curvature, < 0: away from it. */
static void add(building *b, const kw_surface *surface, double x, double y, double z, double area, double bend)
{
    kw_surface_nodes *nodes = b->nodes;
    if (nodes->count == b->room) {
        b->room = b->room > 0 ? 2 * b->room : 1024;
        double *position = realloc(nodes->position, (size_t)b->room * 3 * sizeof *position);
        if (position != NULL) nodes->position = position;
        double *normal = realloc(nodes->normal, (size_t)b->room * 3 * sizeof *normal);
        if (normal != NULL) nodes->normal = normal;
        double *areas = realloc(nodes->area, (size_t)b->room * sizeof *areas);
        if (areas != NULL) nodes->area = areas;
        b->failed |= position == NULL || normal == NULL || areas == NULL;
    }
    if (b->failed) return;
    double *position = nodes->position + 3 * nodes->count, *normal = nodes->normal + 3 * nodes->count;
    put(surface, x, y, z, position);
    memcpy(normal, surface->normal, 3 * sizeof *normal);
    if (bend != 0.0) {
        double centre[3];
        put(surface, 0.0, 0.0, bend > 0.0 ? surface->radius : 0.0, centre);
        for (int i = 0; i < 3; i++) normal[i] = bend * (centre[i] - position[i]);
        normalise(normal);
    }
    nodes->area[nodes->count++] = area;
}

static int64_t nodes_for(double length, double spacing) { return (int64_t)ceil(2.0 * length / spacing) + 8; }

/* Calls ring(t, w) at Gauss nodes of (low, high). */
static bool over(double low, double high, int64_t n, double **x, double **w)
{
    *x = malloc((size_t)n * sizeof **x);
    *w = malloc((size_t)n * sizeof **w);
    if (*x == NULL || *w == NULL) return false;
    gauss_legendre(n, *x, *w);
    for (int64_t i = 0; i < n; i++) {
        (*x)[i] = 0.5 * (low + high) + 0.5 * (high - low) * (*x)[i];
        (*w)[i] *= 0.5 * (high - low);
    }
    return true;
}

/* Rings of radius r(t) at height z(t), dA = r dr dphi or R^2 sin t dt dphi. */
static void add_rings(building *b, const kw_surface *s, double low, double high, double length, double bend)
{
    double *t, *w;
    int64_t n = nodes_for(length, b->spacing);
    if (over(low, high, n, &t, &w)) {
        for (int64_t i = 0; i < n; i++) {
            bool curved = bend != 0.0;
            double r = curved ? s->radius * sin(t[i]) : t[i];
            double z = !curved ? 0.0 : bend > 0.0 ? s->radius * (1.0 - cos(t[i])) : -s->radius * cos(t[i]);
            int64_t around = nodes_for(2.0 * M_PI * r, b->spacing);
            double area = w[i] * r * (curved ? s->radius : 1.0) * 2.0 * M_PI / (double)around;
            for (int64_t k = 0; k < around; k++) {
                double phi = 2.0 * M_PI * ((double)k + 0.5 * (double)(i % 2)) / (double)around;
                add(b, s, r * cos(phi), r * sin(phi), z, area, bend);
            }
        }
    } else {
        b->failed = true;
    }
    free(t);
    free(w);
}

static double half_angle(const kw_surface *s) { return asin(fmin(1.0, 0.5 * s->aperture / s->radius)); }

static void add_curve(building *b, const kw_surface *s)
{
    bool line = s->kind == KW_SURFACE_LINE;
    double reach = line ? 0.5 * s->length : half_angle(s), scale = line ? 1.0 : s->radius, *t, *w;
    int64_t n = nodes_for(2.0 * reach * scale, b->spacing);
    if (over(-reach, reach, n, &t, &w))
        for (int64_t i = 0; i < n; i++) {
            if (line)
                add(b, s, t[i], 0.0, 0.0, w[i], 0.0);
            else
                add(b, s, s->radius * sin(t[i]), 0.0, s->radius * (1.0 - cos(t[i])), w[i] * scale, 1.0);
        }
    else
        b->failed = true;
    free(t);
    free(w);
}

static void add_rectangle(building *b, const kw_surface *s)
{
    double *x, *wx, *y = NULL, *wy = NULL;
    int64_t nx = nodes_for(s->length, b->spacing), ny = nodes_for(s->width, b->spacing);
    if (over(-0.5 * s->length, 0.5 * s->length, nx, &x, &wx) && over(-0.5 * s->width, 0.5 * s->width, ny, &y, &wy))
        for (int64_t i = 0; i < nx * ny; i++) add(b, s, x[i / ny], y[i % ny], 0.0, wx[i / ny] * wy[i % ny], 0.0);
    else
        b->failed = true;
    free(x);
    free(wx);
    free(y);
    free(wy);
}

static void add_circle(building *b, const kw_surface *s)
{
    int64_t n = nodes_for(2.0 * M_PI * s->radius, b->spacing);
    for (int64_t k = 0; k < n; k++) {
        double phi = 2.0 * M_PI * (double)k / (double)n;
        add(b, s, s->radius * cos(phi), 0.0, s->radius * sin(phi), 2.0 * M_PI * s->radius / (double)n, -1.0);
    }
}

kw_status kw_surface_quadrature(const kw_surface *s, double spacing, kw_surface_nodes *nodes)
{
    building b = {.nodes = nodes, .spacing = spacing};
    *nodes = (kw_surface_nodes){0};
    switch (s->kind) {
    case KW_SURFACE_POINT:
        add(&b, s, 0.0, 0.0, 0.0, 1.0, 0.0);
        break;
    case KW_SURFACE_LINE:
    case KW_SURFACE_ARC:
        add_curve(&b, s);
        break;
    case KW_SURFACE_DISC:
        add_rings(&b, s, s->inner, s->radius, s->radius - s->inner, 0.0);
        break;
    case KW_SURFACE_RECTANGLE:
        add_rectangle(&b, s);
        break;
    case KW_SURFACE_BOWL:
        add_rings(&b, s, 0.0, half_angle(s), half_angle(s) * s->radius, 1.0);
        break;
    case KW_SURFACE_SPHERE:
        if (s->dims < 3)
            add_circle(&b, s);
        else
            add_rings(&b, s, 0.0, M_PI, M_PI * s->radius, -1.0);
        break;
    }
    if (!b.failed) return KW_OK;
    kw_surface_nodes_free(nodes);
    return kw_fail(KW_ERR_RESOURCE, "no memory for the nodes of a surface");
}

void kw_surface_nodes_free(kw_surface_nodes *nodes)
{
    free(nodes->position);
    free(nodes->normal);
    free(nodes->area);
    *nodes = (kw_surface_nodes){0};
}

/* ---- points ---- */

static const double GOLDEN_ANGLE = 2.39996322972865332; /* pi (3 - sqrt 5) */

static void rectangle_points(const kw_surface *s, int64_t count, double *position)
{
    int64_t rows = (int64_t)floor(sqrt((double)count * s->width / s->length) + 0.5);
    rows = rows < 1 ? 1 : rows > count ? count : rows;
    for (int64_t i = 0, row = 0; row < rows; row++) {
        int64_t columns = count / rows + (row < count % rows);
        for (int64_t k = 0; k < columns; k++, i++)
            put(s, s->length * (((double)k + 0.5) / (double)columns - 0.5),
                s->width * (((double)row + 0.5) / (double)rows - 0.5), 0.0, position + 3 * i);
    }
}

void kw_surface_points(const kw_surface *s, int64_t count, double *position)
{
    if (s->kind == KW_SURFACE_RECTANGLE) {
        rectangle_points(s, count, position);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        double fraction = count > 1 ? (double)i / (double)(count - 1) - 0.5 : 0.0; /* -1/2 ... 1/2, ends included */
        double share = ((double)i + 0.5) / (double)count, phi = GOLDEN_ANGLE * (double)i, *to = position + 3 * i;
        if (s->kind == KW_SURFACE_POINT) {
            put(s, 0.0, 0.0, 0.0, to);
        } else if (s->kind == KW_SURFACE_LINE) {
            put(s, s->length * fraction, 0.0, 0.0, to);
        } else if (s->kind == KW_SURFACE_ARC) {
            double t = 2.0 * half_angle(s) * fraction;
            put(s, s->radius * sin(t), 0.0, s->radius * (1.0 - cos(t)), to);
        } else if (s->kind == KW_SURFACE_DISC) {
            double r = sqrt(s->inner * s->inner + share * (s->radius * s->radius - s->inner * s->inner));
            put(s, r * cos(phi), r * sin(phi), 0.0, to);
        } else if (s->kind == KW_SURFACE_SPHERE && s->dims < 3) {
            double angle = 2.0 * M_PI * (double)i / (double)count;
            put(s, s->radius * cos(angle), 0.0, s->radius * sin(angle), to);
        } else {
            bool bowl = s->kind == KW_SURFACE_BOWL;
            double height = bowl ? share * (1.0 - cos(half_angle(s))) : 2.0 * share; /* 1 - cos t */
            double r = s->radius * sqrt(fmax(0.0, height * (2.0 - height)));
            put(s, r * cos(phi), r * sin(phi), s->radius * (height - (bowl ? 0.0 : 1.0)), to);
        }
    }
}
