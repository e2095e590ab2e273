#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

kw_status kw_scene_file(const kw_node *node, char **path, char **dataset)
{
    const char *file = NULL, *name = NULL;
    KW_TRY(kw_node_require(node, "file", "the name of an HDF5 file"));
    KW_TRY(kw_node_require(node, "dataset", "the name of a dataset in it"));
    KW_TRY(kw_node_text(node, "file", &file));
    KW_TRY(kw_node_text(node, "dataset", &name));
    const char *scene = node->tree->path, *slash = strrchr(scene, '/');
    int folder = file[0] == '/' || slash == NULL ? 0 : (int)(slash - scene + 1);
    char joined[PATH_MAX], absolute[PATH_MAX];
    int length = snprintf(joined, sizeof joined, "%.*s%s", folder, scene, file);
    if (length >= (int)sizeof joined) return kw_node_fail(node, "file", "the path is too long");
    if (realpath(joined, absolute) != NULL) KW_TRY(kw_node_set_text(node, "file", absolute));
    *path = strdup(realpath(joined, absolute) != NULL ? absolute : joined);
    *dataset = strdup(name);
    if (*path != NULL) KW_TRY(kw_tree_add_input(node->tree, *path));
    return *path != NULL && *dataset != NULL ? KW_OK : kw_fail(KW_ERR_RESOURCE, "no memory for the scene");
}
