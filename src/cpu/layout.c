#include "layout.h"

/* Smallest multiple of `unit` >= n whose size in bytes is not a multiple of 4096: planes a power of two apart
 * would fall into the same few sets of the caches. */
static int64_t pitch(int64_t n, int64_t unit, int64_t element_bytes)
{
    int64_t padded = (n + unit - 1) / unit * unit;
    return padded * element_bytes % 4096 == 0 ? padded + unit : padded;
}

kw_layout kw_layout_make(const kw_grid *grid, size_t real_size)
{
    kw_slots slots = kw_slots_make(grid);
    kw_layout layout = {
        .slots = slots,
        .real_pitch = pitch(slots.n[KW_ROWS] * slots.n[KW_COLUMNS], 16, (int64_t)real_size),
        .spec_pitch = pitch(slots.n[KW_ROWS] * slots.bins, KW_TILE, 2 * (int64_t)real_size),
    };
    layout.tiles = layout.spec_pitch / KW_TILE;
    return layout;
}
