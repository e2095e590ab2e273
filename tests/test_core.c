/* The core's functions by themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "kwsim/recording.h"
#include "kwsim/backend.h"
#include "kwsim/stencil.h"
#include "kwsim/surface.h"
#include "kwsim/tables.h"

static void test_wavenumbers_fold(void **state)
{
    (void)state;
    const double unit = 2 * M_PI / (8 * 0.5);
    const int folded_even[8] = {0, 1, 2, 3, -4, -3, -2, -1}, folded_odd[7] = {0, 1, 2, 3, -3, -2, -1};
    for (int m = 0; m < 8; m++) assert_true(fabs(kw_wavenumber(8, 0.5, m) - unit * folded_even[m]) < 1e-12);
    for (int m = 0; m < 7; m++) assert_true(fabs(kw_wavenumber(7, 0.5, m) - 2 * M_PI / 3.5 * folded_odd[m]) < 1e-12);
}

static void test_gradient_factors(void **state)
{
    (void)state;
    kw_grid grid = {{8, 1, 7}, {0.5, 1, 0.25}};
    double p[16], flat[2];
    kw_table_gradient(&grid, 0, 8, p);
    assert_true(p[0] == 0 && p[1] == 0);
    assert_true(fabs(p[8] + 2 * M_PI) < 1e-12 && p[9] == 0); /* Nyquist: -pi/h, real, kept */
    for (int m = 1; m < 4; m++) {                            /* P(-k) = conj P(k) */
        assert_true(fabs(p[2 * m] - p[2 * (8 - m)]) < 1e-12 && fabs(p[2 * m + 1] + p[2 * (8 - m) + 1]) < 1e-12);
    }
    kw_table_gradient(&grid, 1, 1, flat);
    assert_true(flat[0] == 0 && flat[1] == 0);
}

static void test_pml_profile(void **state)
{
    (void)state;
    kw_problem problem = {
        .grid = {{12, 1, 1}, {1e-4, 1, 1}}, .pml = {false, {4, 0, 0}, {2, 2, 2}}, .c_ref = 1500, .time = {.dt = 2e-8}};
    double e[12], staggered[12];
    kw_table_pml(&problem, 0, false, e);
    kw_table_pml(&problem, 0, true, staggered);
    double strength = 2.0 * 1500 / 1e-4 * 2e-8 / 2;
    for (int x = 1; x <= 4; x++) { /* the formulas of the header, written out */
        assert_true(fabs(e[x - 1] - exp(-strength * pow((x - 4 - 1) / -4.0, 4))) < 1e-15);
        assert_true(fabs(e[8 + x - 1] - exp(-strength * pow(x / 4.0, 4))) < 1e-15);
        assert_true(fabs(staggered[x - 1] - exp(-strength * pow((x + 0.5 - 4 - 1) / -4.0, 4))) < 1e-15);
        assert_true(fabs(staggered[8 + x - 1] - exp(-strength * pow((x + 0.5) / 4.0, 4))) < 1e-15);
    }
    for (int j = 4; j < 8; j++) assert_true(e[j] == 1 && staggered[j] == 1);
}

static void test_offsets_are_64_bit(void **state)
{
    (void)state;
    kw_grid grid = {{1300, 1300, 1300}, {1, 1, 1}};
    int64_t last[3] = {1299, 1299, 1299};
    assert_true(kw_grid_points(&grid) == INT64_C(2197000000));
    assert_true(kw_grid_offset(&grid, last) == INT64_C(2196999999));
    kw_box box = {{0, 0, 0}, {1300, 1300, 1300}};
    assert_true(kw_box_points(&box) == INT64_C(2197000000));
    kw_sensor_set set = {.name = (char *)"all",
                         .kind = KW_SENSOR_BOX,
                         .box = box,
                         .count = INT64_C(2197000000),
                         .rows = INT64_C(2197000000)};
    kw_problem problem = {.grid = grid, .sets = &set, .set_count = 1};
    kw_sensor_place place = kw_sensor_locate(&problem, INT64_C(2196999999));
    assert_true(place.index[0] == 1299 && place.index[1] == 1299 && place.index[2] == 1299);
    kw_recording all = {.set_count = 1, .series = 1u << KW_REC_P};
    assert_true(kw_recording_ring(&problem, &all, KW_SINGLE) == 1);
}

/* 0.75 dB/(MHz^1.5 cm) is 5.4825e-10 Np/((rad/s)^1.5 m). */
static void test_absorption_units(void **state)
{
    (void)state;
    assert_true(fabs(kw_absorption_nepers(0.75, 1.5) / 5.4825e-10 - 1.0) < 1e-5);
    assert_true(fabs(kw_absorption_nepers(20.0 * log10(exp(1.0)) / 100.0, 0.0) - 1.0) < 1e-12); /* 1 Np/m */
}

/* The stencil reads waves of 3 points per wavelength and longer to 2e-4, and a grid point exactly. */
static void test_stencil(void **state)
{
    (void)state;
    for (double wavelength = 3.0; wavelength < 20.0; wavelength *= 1.13)
        for (double index = 20.0; index < 21.0; index += 0.03) {
            kw_stencil s = kw_stencil_make(KW_BANDLIMITED, 64, index);
            double re = 0.0, im = 0.0, k = 2.0 * M_PI / wavelength;
            for (int t = 0; t < s.taps; t++) {
                re += s.weight[t] * cos(k * ((double)(s.first + t) - index));
                im += s.weight[t] * sin(k * ((double)(s.first + t) - index));
            }
            assert_true(hypot(re - 1.0, im) < 2e-4);
        }
    kw_stencil at = kw_stencil_make(KW_BANDLIMITED, 64, 7.0 + 1e-12);
    assert_true(at.taps == 1 && at.first == 7 && at.weight[0] == 1.0);
    kw_stencil edge = kw_stencil_make(KW_BANDLIMITED, 64, 0.5); /* wraps around */
    assert_true(edge.first == 57);
    kw_stencil two = kw_stencil_make(KW_LINEAR, 64, 3.25);
    assert_true(two.taps == 2 && two.first == 3 && two.weight[0] == 0.75);
}

/* Areas, lengths and moments of the surfaces' quadratures. */
static void test_surface_quadrature(void **state)
{
    (void)state;
    static const struct {
        kw_surface surface;
        double area;
    } known[] = {
        {{KW_SURFACE_DISC, 3, -1, {0}, {0, 0, 1}, {1, 0, 0}, 2.0, 0.5, 0, 0, 0}, M_PI * 3.75},
        {{KW_SURFACE_RECTANGLE, 3, -1, {0}, {0, 0, 1}, {1, 0, 0}, 0, 0, 0, 3.0, 2.0}, 6.0},
        {{KW_SURFACE_SPHERE, 3, -1, {0}, {0, 0, 1}, {1, 0, 0}, 1.5, 0, 0, 0, 0}, 9.0 * M_PI},
        {{KW_SURFACE_SPHERE, 2, 2, {0}, {0, 1, 0}, {-1, 0, 0}, 1.5, 0, 0, 0, 0}, 3.0 * M_PI},
        {{KW_SURFACE_BOWL, 3, -1, {0}, {0, 0, 1}, {1, 0, 0}, 2.0, 0, 2.0, 0, 0},
         8.0 * M_PI * (1.0 - 0.8660254037844387)},
        {{KW_SURFACE_ARC, 2, 2, {0}, {1, 0, 0}, {0, 1, 0}, 2.0, 0, 2.0, 0, 0}, 2.0 * M_PI / 3.0},
        {{KW_SURFACE_LINE, 2, 2, {0}, {1, 0, 0}, {0, 1, 0}, 0, 0, 0, 2.5, 0}, 2.5},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        kw_surface_nodes nodes;
        assert_int_equal(kw_surface_quadrature(&known[i].surface, 0.1, &nodes), KW_OK);
        double area = 0.0;
        for (int64_t k = 0; k < nodes.count; k++) area += nodes.area[k];
        assert_true(fabs(area / known[i].area - 1.0) < 1e-12);
        kw_surface_nodes_free(&nodes);
    }
}

/* Two layers of 1500 and 3000 m/s: dt from the fastest, duration from the slowest; k dt make k + 1 steps. */
static void test_time_axis(void **state)
{
    (void)state;
    kw_problem problem = {.grid = {{40, 30, 1}, {1e-4, 1e-4, 1e-4}}};
    problem.map[KW_QUANTITY_C0].min = 1500;
    problem.map[KW_QUANTITY_C0].max = 3000;
    assert_int_equal(kw_problem_resolve(&problem), KW_OK);
    assert_true(fabs(problem.time.dt - 0.3 * 1e-4 / 3000) < 1e-20 && problem.c_ref == 3000);
    assert_int_equal(problem.time.steps, (int64_t)floor(50e-4 / 1500 / 1e-8 + 1e-6) + 1);
    for (int k = 1; k < 2000; k++) {
        problem.time.asked_duration = k * 1e-8;
        assert_int_equal(kw_problem_resolve(&problem), KW_OK);
        assert_int_equal(problem.time.steps, k + 1);
    }
}

static void test_stable_dt(void **state)
{
    (void)state;
    kw_problem problem = {.grid = {{40, 30, 20}, {1e-4, 1e-4, 1e-4}}, .c_ref = 1500};
    problem.map[KW_QUANTITY_C0].max = 1500;
    assert_true(isinf(kw_stable_dt(&problem)));
    problem.map[KW_QUANTITY_C0].max = 3000;
    double kmax = sqrt(3.0) * M_PI / 1e-4;
    assert_true(fabs(kw_stable_dt(&problem) - 2 / (1500 * kmax) * asin(0.5)) < 1e-20);
}

static void test_fast_sizes(void **state)
{
    (void)state;
    assert_int_equal(kw_largest_prime_factor(1), 1);
    assert_int_equal(kw_largest_prime_factor(97), 97);
    assert_int_equal(kw_largest_prime_factor(2 * 3 * 49), 7);
    assert_int_equal(kw_nearest_fast_size(97), 98);
    assert_int_equal(kw_nearest_fast_size(251), 252);
    assert_int_equal(kw_nearest_fast_size(256), 256);
}

static void test_nearest_grid_point(void **state)
{
    (void)state;
    double position[12] = {0.4, 0, 0, 0.5, 0, 0, -0.6, 0, 0, -4.4, 3.4, 0};
    kw_sensor_set set = {.name = (char *)"s", .count = 4, .rows = 4, .position = position};
    kw_problem problem = {.grid = {{8, 7, 1}, {1, 1, 1}}, .sets = &set, .set_count = 1};
    const int64_t x[4] = {4, 5, 3, 0}, y[4] = {3, 3, 3, 6};
    for (int row = 0; row < 4; row++) {
        kw_sensor_place place = kw_sensor_locate(&problem, row);
        assert_int_equal(place.index[0], x[row]);
        assert_int_equal(place.index[1], y[row]);
        assert_true(place.asked[0] == position[3 * row] && place.used[0] == (double)(x[row] - 4));
    }
}

static void test_messages_may_contain_themselves(void **state)
{
    (void)state;
    assert_int_equal(kw_fail(KW_ERR_RUN, "inner %d", 1), KW_ERR_RUN);
    assert_int_equal(kw_fail(KW_ERR_SCENE, "outer: %s", kw_error_message()), KW_ERR_SCENE);
    assert_string_equal(kw_error_message(), "outer: inner 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wavenumbers_fold),   cmocka_unit_test(test_gradient_factors),
        cmocka_unit_test(test_pml_profile),        cmocka_unit_test(test_offsets_are_64_bit),
        cmocka_unit_test(test_absorption_units),   cmocka_unit_test(test_stencil),
        cmocka_unit_test(test_surface_quadrature), cmocka_unit_test(test_time_axis),
        cmocka_unit_test(test_stable_dt),          cmocka_unit_test(test_fast_sizes),
        cmocka_unit_test(test_nearest_grid_point), cmocka_unit_test(test_messages_may_contain_themselves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
