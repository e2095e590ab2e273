#include "kwsim/slots.h"

kw_slots kw_slots_make(const kw_grid *grid)
{
    static const kw_slot by_dims[4][3] = {
        {KW_COLUMNS}, {KW_COLUMNS}, {KW_LINES, KW_COLUMNS}, {KW_LINES, KW_ROWS, KW_COLUMNS}};
    kw_slots slots = {.n = {1, 1, 1}};
    int dims = kw_grid_dims(grid);
    for (int i = 0; i < 3; i++) {
        if (!kw_axis_active(grid, i)) continue;
        kw_slot slot = by_dims[dims][slots.dims];
        slots.axis[slots.dims] = i;
        slots.slot[slots.dims++] = slot;
        slots.n[slot] = grid->n[i];
    }
    slots.bins = slots.n[KW_COLUMNS] / 2 + 1;
    return slots;
}
