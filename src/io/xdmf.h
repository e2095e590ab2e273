/* NAME.xdmf beside an output with fields, so that ParaView and VisIt open them.
 *
 * XDMF's own regular meshes take the fastest index for x; here it is z. So each box has its points written out, as a
 * structured mesh, in /xdmf: x, y and z lie where they belong. The points are compressed to next to nothing. */
#ifndef KW_IO_XDMF_H
#define KW_IO_XDMF_H

#include <hdf5.h>

#include "kwsim/problem.h"

struct kw_recorder;

/* Fields of one box. */
typedef struct kw_xdmf_grid {
    kw_box box;
    const char *snapshots; /* group of a series of them; NULL: fields */
} kw_xdmf_grid;

typedef struct kw_xdmf_field {
    int grid, rank; /* rank 4: dim[0] fields, one after the other */
    int64_t dim[4];
    char path[300], name[60];
} kw_xdmf_field;

typedef struct kw_xdmf {
    char *path; /* NULL: not wanted */
    kw_xdmf_grid *grid;
    kw_xdmf_field *field;
    int grids, fields;
} kw_xdmf;

/* Decides whether there will be one; KW_ERR_RUN if its name is taken. */
kw_status kw_xdmf_open(struct kw_recorder *recorder);

/* Notes a field [x][y][z], or several [n][x][y][z], of a box, and writes the box's points if they are new. */
herr_t kw_xdmf_add(struct kw_recorder *recorder, const char *group, const char *name, const char *snapshots, int rank,
                   const int64_t *dim, const kw_box *box);

/* Notes the snapshots that were taken. */
herr_t kw_xdmf_add_snapshots(struct kw_recorder *recorder);

/* Writes the file. */
kw_status kw_xdmf_write(const struct kw_recorder *recorder);

void kw_xdmf_free(kw_xdmf *xdmf);

#endif
