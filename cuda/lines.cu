#include "lines.h"

#include <math.h>

namespace
{

/* Radices that the passes have (lines.cuh). */
const int inner_radices[] = {2, 3, 4, 5, 7, 8, 9, 16};
const int outer_radices[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16};
const int middle_radices[] = {8, 7, 5, 4, 3, 2};

/* Fewest middle radices whose product is n; returns their number, or -1. */
int factor(int n, int *found)
{
    if (n == 1) return 0;
    int best = -1, best_found[KW_MOST_MIDDLES];
    for (int radix : middle_radices) {
        int rest[KW_MOST_MIDDLES];
        if (n % radix != 0) continue;
        int count = n == radix ? 0 : factor(n / radix, rest);
        if (count < 0 || count + 1 > KW_MOST_MIDDLES || (best >= 0 && count + 1 >= best)) continue;
        best = count + 1;
        best_found[0] = radix;
        for (int i = 0; i < count; i++) best_found[i + 1] = rest[i];
        if (best == 1) break;
    }
    for (int i = 0; i < best; i++) found[i] = best_found[i];
    return best;
}

/* Smaller is faster: passes through shared memory first, then idle threads, then blocks that are far from 256 threads. */
double cost(int n, int outer, int inner, int middles)
{
    double turns = ceil((double)inner / outer); /* of the outer pass by the threads that the inner one needs */
    double idle = turns * outer / inner, threads = 16.0 * n / inner;
    return 10.0 * middles + 2.0 * idle + fabs(log2(threads / 256.0)) + 0.1 * (outer > inner);
}

kw_line_pass make_pass(kw_lines *plan, int radix, int size)
{
    kw_line_pass pass = {radix, size, size / radix, plan->root_count, 1.0f / (float)(size / radix)};
    plan->root_count += size;
    return pass;
}

void fill_roots(const kw_line_pass *pass, double *root)
{
    for (int m = 0; m < pass->radix; m++)
        for (int offset = 0; offset < pass->sub; offset++) {
            double *at = root + 2 * (pass->roots + m * pass->sub + offset);
            at[0] = cos(2.0 * M_PI * m * offset / pass->size);
            at[1] = -sin(2.0 * M_PI * m * offset / pass->size);
        }
}

} // namespace

kw_lines kw_lines_plan(int64_t length)
{
    kw_lines plan = {};
    double best = INFINITY;
    int n = (int)length, middle[KW_MOST_MIDDLES];
    plan.n = n;
    if (length < 2 || length > KW_LINE_MOST) return plan;
    for (int inner : inner_radices) {
        if (n % inner != 0) continue;
        for (int outer : outer_radices) {
            if (n / inner % outer != 0) continue;
            int middles = factor(n / inner / outer, middle);
            if (middles < 0 || cost(n, outer, inner, middles) >= best) continue;
            best = cost(n, outer, inner, middles);
            plan.inner = inner;
            plan.root_count = 0;
            plan.outer = make_pass(&plan, outer, n);
            plan.middles = middles;
            int size = n / outer;
            for (int k = 0; k < middles; k++) {
                plan.middle[k] = make_pass(&plan, middle[k], size);
                size /= middle[k];
            }
        }
    }
    if (plan.inner > 0) plan.workers = n / plan.inner;
    return plan;
}

kw_lines kw_lines_of(int outer, int middle, int inner)
{
    kw_lines plan = {};
    plan.n = outer * middle * inner;
    plan.inner = inner;
    plan.workers = outer * middle;
    plan.outer = make_pass(&plan, outer, plan.n);
    if (middle > 1) plan.middle[plan.middles++] = make_pass(&plan, middle, middle * inner);
    return plan;
}

void kw_lines_tables(const kw_lines *lines, double *root, unsigned short *place)
{
    int n = lines->n;
    fill_roots(&lines->outer, root);
    for (int k = 0; k < lines->middles; k++) fill_roots(&lines->middle[k], root);
    for (int f = 0; f < n; f++) { /* the first pass leaves f % radix in its highest digit, and so on */
        int rest = f, at = 0;
        at += rest % lines->outer.radix * lines->outer.sub;
        rest /= lines->outer.radix;
        for (int k = 0; k < lines->middles; k++) {
            at += rest % lines->middle[k].radix * lines->middle[k].sub;
            rest /= lines->middle[k].radix;
        }
        place[f] = (unsigned short)(at + rest);
    }
}

int kw_lines_width(const kw_lines *lines, int64_t shared_bytes, int bytes)
{
    int width = KW_TILE_LINES;
    while (width > 1 && (width * lines->workers > KW_LINE_THREADS || (int64_t)width * lines->n * bytes > shared_bytes))
        width /= 2;
    return width;
}
