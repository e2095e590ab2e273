/* The parts of a scene, each read from its group into the problem. */
#ifndef KW_SCENE_PARTS_H
#define KW_SCENE_PARTS_H

#include "kwsim/problem.h"
#include "kwsim/surface.h"
#include "tree.h"

/* shapes.c: one shape of a list, its keys `shape`, place and lengths; `more` are the other keys allowed there. */
kw_status kw_scene_shape(const kw_node *node, const kw_grid *grid, const char *more, kw_shape *shape);

/* A length in m from `key`, or from `key`_index in grid points (then the spacings must be equal). */
kw_status kw_scene_length(const kw_node *node, const char *key, const kw_grid *grid, double *value);

/* A position in m from `key`, or from `key`_index as grid indices; *value stays if neither is there. */
kw_status kw_scene_position(const kw_node *node, const char *key, const kw_grid *grid, double value[3]);

/* A unit vector; unless `may_be_flat`, flat axes must have no part in it. */
kw_status kw_scene_direction(const kw_node *node, const char *key, const kw_grid *grid, bool may_be_flat,
                             double value[3]);

/* surfaces.c: a transducer's surface, its keys `shape`, place, direction and lengths; `more` are the other keys. */
kw_status kw_scene_surface(const kw_node *node, const kw_grid *grid, const char *more, kw_surface *surface);

/* transducers.c: entries of a source from its `shape` or its `elements`: of a velocity along `axis` (-1: of pressure),
 * times the surface's normal if `outward`. */
kw_status kw_scene_transducer(const kw_node *node, const kw_problem *problem, int axis, bool outward,
                              kw_source *source);

/* Delays and weights of listed points: keys delays, apodization, delay_law. */
kw_status kw_scene_delays(const kw_node *node, const kw_problem *problem, kw_source *source);

/* files.c: path of a file named in the scene: relative to the scene, absolute from then on, also in the tree;
 * owned by the caller. */
kw_status kw_scene_file(const kw_node *node, char **path, char **dataset);

/* maps.c */
kw_status kw_scene_medium(const kw_node *root, kw_problem *problem);
kw_status kw_scene_p0(const kw_node *root, kw_problem *problem);

/* sources.c */
kw_status kw_scene_sources(const kw_node *root, kw_problem *problem);

/* sensors.c: the one of the keys points, points_index, box, box_index, plane, plane_index that is there; fills kind,
 * box, count and position. */
kw_status kw_scene_place(const kw_node *node, const kw_problem *problem, kw_sensor_set *set);
kw_status kw_scene_sensors(const kw_node *root, kw_problem *problem);

/* record.c */
kw_status kw_scene_record(const kw_node *root, kw_problem *problem);
kw_status kw_scene_snapshots(const kw_node *root, kw_problem *problem);

/* Does a sensor set have quantities or a window of its own? Then they make a recording of its own. */
bool kw_scene_set_is_own(const kw_node *node);
kw_status kw_scene_set_record(const kw_node *node, kw_problem *problem, int64_t number);

#endif
