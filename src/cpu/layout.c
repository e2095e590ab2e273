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
    static const kw_slot slots[4][3] = {
        {KW_COLUMNS}, {KW_COLUMNS}, {KW_LINES, KW_COLUMNS}, {KW_LINES, KW_ROWS, KW_COLUMNS}};
    kw_layout layout = {.n = {1, 1, 1}};
    int dims = kw_grid_dims(grid);
    for (int i = 0; i < 3; i++) {
        if (!kw_axis_active(grid, i)) continue;
        kw_slot slot = slots[dims][layout.dims];
        layout.axis[layout.dims] = i;
        layout.slot[layout.dims++] = slot;
        layout.n[slot] = grid->n[i];
    }
    layout.bins = layout.n[KW_COLUMNS] / 2 + 1;
    layout.real_pitch = pitch(layout.n[KW_ROWS] * layout.n[KW_COLUMNS], 16, (int64_t)real_size);
    layout.spec_pitch = pitch(layout.n[KW_ROWS] * layout.bins, KW_TILE, 2 * (int64_t)real_size);
    layout.tiles = layout.spec_pitch / KW_TILE;
    return layout;
}
