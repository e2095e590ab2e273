/* How a grid lies in memory for the transforms. The 3-D transform is cut into 2-D transforms of planes and 1-D
 * transforms of lines across the planes, so that the work between them is done while a plane or a tile of lines
 * is in cache.
 *
 * Flat axes are dropped: slots are lines (across planes), rows and columns (inside a plane). 3-D puts x, y, z
 * there; 2-D its two axes into lines and columns; 1-D its axis into columns. Dropping axes of one point does not
 * move an element, only planes get a pitch.
 */
#ifndef KW_CPU_LAYOUT_H
#define KW_CPU_LAYOUT_H

#include <stddef.h>
#include "kwsim/grid.h"

enum { KW_TILE = 32 }; /* adjacent lines that are transformed together */

typedef enum kw_slot { KW_LINES, KW_ROWS, KW_COLUMNS } kw_slot;

typedef struct kw_layout {
    int dims;           /* active axes */
    int axis[3];        /* [dims]: axis of the user's grid */
    kw_slot slot[3];    /* [dims]: where it lies */
    int64_t n[3];       /* points by slot; 1 where there is none */
    int64_t bins;       /* columns of the half spectrum: n[KW_COLUMNS]/2 + 1 */
    int64_t real_pitch; /* reals from plane to plane */
    int64_t spec_pitch; /* complex numbers from plane to plane: a whole number of tiles */
    int64_t tiles;
} kw_layout;

kw_layout kw_layout_make(const kw_grid *grid, size_t real_size);

/* Offset in a padded field of the element that is at `offset` in the user's dense (nx, ny, nz) array. */
static inline int64_t kw_layout_offset(const kw_layout *layout, int64_t offset)
{
    int64_t plane = layout->n[KW_ROWS] * layout->n[KW_COLUMNS];
    return offset / plane * layout->real_pitch + offset % plane;
}

#endif
