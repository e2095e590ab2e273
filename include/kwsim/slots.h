/* How the axes of a grid are dealt to lines, rows and columns, for transforms cut into planes and lines.
 *
 * Flat axes are dropped. 3-D puts x, y, z into lines (across planes), rows and columns (inside a plane); 2-D its two
 * axes into lines and columns; 1-D its axis into columns. Dropping axes of one point does not move an element: the
 * dense (nx, ny, nz) array is also the dense (lines, rows, columns) array. Real transforms halve the columns. */
#ifndef KWSIM_SLOTS_H
#define KWSIM_SLOTS_H

#include "kwsim/grid.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kw_slot { KW_LINES, KW_ROWS, KW_COLUMNS } kw_slot;

typedef struct kw_slots {
    int dims;        /* active axes, 1 to 3 */
    int axis[3];     /* [dims]: axis of the user's grid */
    kw_slot slot[3]; /* [dims]: where it lies */
    int64_t n[3];    /* points by slot; 1 where there is none */
    int64_t bins;    /* columns of the half spectrum: n[KW_COLUMNS]/2 + 1 */
} kw_slots;

kw_slots kw_slots_make(const kw_grid *grid);

#ifdef __cplusplus
}
#endif
#endif
