/* How a grid lies in memory on the CPU. The 3-D transform is cut into 2-D transforms of planes and 1-D transforms of
 * lines across the planes (slots.h), so that the work between them is done while a plane or a tile of lines is in
 * cache. Planes are padded. */
#ifndef KW_CPU_LAYOUT_H
#define KW_CPU_LAYOUT_H

#include <stddef.h>

#include "kwsim/slots.h"

enum { KW_TILE = 32 }; /* adjacent lines that are transformed together */

typedef struct kw_layout {
    kw_slots slots;
    int64_t real_pitch; /* reals from plane to plane */
    int64_t spec_pitch; /* complex numbers from plane to plane: a whole number of tiles */
    int64_t tiles;
} kw_layout;

kw_layout kw_layout_make(const kw_grid *grid, size_t real_size);

/* Offset in a padded field of the element that is at `offset` in the user's dense (nx, ny, nz) array. */
static inline int64_t kw_layout_offset(const kw_layout *layout, int64_t offset)
{
    int64_t plane = layout->slots.n[KW_ROWS] * layout->slots.n[KW_COLUMNS];
    return offset / plane * layout->real_pitch + offset % plane;
}

#endif
