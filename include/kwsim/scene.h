/* From a libconfig scene file to a problem. Strict: what is not understood is an error. */
#ifndef KWSIM_SCENE_H
#define KWSIM_SCENE_H

#include "kwsim/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the scene at `path` and applies overrides "key.path=value" in order, each as if written in the scene.
 * Maps and index lists are looked for relative to the scene's folder; their shapes are checked here, their voxels
 * are not read. steps > 0 takes the place of time.steps and time.duration. Messages (KW_ERR_SCENE) name file,
 * line, key, value and what is allowed; a malformed override is KW_ERR_USAGE. On failure the problem is left
 * empty; otherwise kw_problem_free() it. */
kw_status kw_scene_load(const char *path, const char *const *overrides, int override_count, int64_t steps,
                        kw_problem *problem);

#ifdef __cplusplus
}
#endif
#endif
