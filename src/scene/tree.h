/* The scene as a tree of libconfig settings, with overrides applied, and typed access to its keys.
 *
 * A node is a group of the tree with its dotted path. All access goes through nodes, so that every message has
 * file, line, key, value and what is allowed. A key that is absent and has a default is written into the tree:
 * printed at the end, the tree is the whole scene. */
#ifndef KW_SCENE_TREE_H
#define KW_SCENE_TREE_H

#include <libconfig.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "text.h"

typedef struct kw_tree {
    const char *path; /* of the scene file; borrowed */
    kw_text text;
    config_t config;
    bool config_made;
    char **inputs; /* files that the scene is made of; owned; the HDF5 files are added as they are read */
    int64_t input_count;
    char **override_name; /* "--set key=value", by number; owned */
    int override_count;
} kw_tree;

enum { KW_PATH_SIZE = 256 };

typedef struct kw_node {
    kw_tree *tree;
    config_setting_t *setting; /* a group, or NULL: every key is absent */
    char path[KW_PATH_SIZE];   /* "medium.regions[1]"; "" at the root */
} kw_node;

/* Parses the scene and applies the overrides in order. On failure the tree is left empty. */
kw_status kw_tree_load(const char *path, const char *const *overrides, int count, kw_tree *tree);
void kw_tree_free(kw_tree *tree);

/* The whole tree as a scene, lists in ( ); owned by the caller, or NULL without memory. */
char *kw_tree_print(const kw_tree *tree);

/* Notes a file that the scene is made of. */
kw_status kw_tree_add_input(kw_tree *tree, const char *path);

kw_node kw_tree_root(kw_tree *tree);

/* Sets key `name` of a group to an integer, or takes it away: for options that stand for keys. */
kw_status kw_tree_set_integer(kw_tree *tree, const char *group, const char *name, int64_t value);
void kw_tree_remove(kw_tree *tree, const char *group, const char *name);

/* KW_ERR_SCENE with "scene.cfg:12: medium.sound_speed: " and the text; key may be NULL for the node itself. */
kw_status kw_node_fail(const kw_node *node, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "scene.cfg:12: medium.sound_speed" for later messages; owned by the caller, or NULL without memory. */
char *kw_node_where(const kw_node *node, const char *key);

bool kw_node_has(const kw_node *node, const char *key);

/* Fails for a key that is not among the space-separated `known` ones, naming the nearest. */
kw_status kw_node_check_keys(const kw_node *node, const char *known);

/* Fails if the key is absent. */
kw_status kw_node_require(const kw_node *node, const char *key, const char *what);

/* Fails if both keys are there: they say the same thing twice. */
kw_status kw_node_exclude(const kw_node *node, const char *key, const char *other);

/* A group below; absent or, where the key is not a group, an error unless `or_other` (then setting is NULL). */
kw_status kw_node_group(const kw_node *node, const char *key, kw_node *child);
bool kw_node_is_group(const kw_node *node, const char *key);
bool kw_node_is_text(const kw_node *node, const char *key);

/* Elements of a list of groups; 0 if the key is absent. */
kw_status kw_node_list(const kw_node *node, const char *key, int *count);
kw_status kw_node_element(const kw_node *node, const char *key, int index, kw_node *child);

/* What a number may be. */
typedef struct kw_rule {
    double least, most;
    bool above; /* > least instead of >= least */
    const char *unit;
} kw_rule;

#define KW_ANY(unit) ((kw_rule){-INFINITY, INFINITY, false, unit})
#define KW_POSITIVE(unit) ((kw_rule){0.0, INFINITY, true, unit})
#define KW_NOT_NEGATIVE(unit) ((kw_rule){0.0, INFINITY, false, unit})

/* Each reads the key into *value if it is there. If not, *value stays and, with `keep`, is written into the tree
 * as the default. Integers are taken where reals are wanted; the other way is an error. */
kw_status kw_node_real(const kw_node *node, const char *key, kw_rule rule, bool keep, double *value);
kw_status kw_node_integer(const kw_node *node, const char *key, kw_rule rule, bool keep, int64_t *value);
kw_status kw_node_bool(const kw_node *node, const char *key, bool keep, bool *value);

/* Three numbers, or one that stands for three equal ones. */
kw_status kw_node_reals3(const kw_node *node, const char *key, kw_rule rule, bool keep, double value[3]);
kw_status kw_node_integers3(const kw_node *node, const char *key, kw_rule rule, bool keep, int64_t value[3]);

/* A list of `count` points of three numbers: ( (x, y, z), ... ); *value is [count][3], owned by the caller. */
kw_status kw_node_points(const kw_node *node, const char *key, int64_t *count, double **value);

/* A list of numbers, at least one; *value is [count], owned by the caller. */
kw_status kw_node_numbers(const kw_node *node, const char *key, kw_rule rule, int64_t *count, double **value);

/* Text; borrowed from the tree. */
kw_status kw_node_text(const kw_node *node, const char *key, const char **value);

/* The text of a key, "" if it is absent or not text. */
const char *kw_node_word(const kw_node *node, const char *key);
kw_status kw_node_set_text(const kw_node *node, const char *key, const char *value);

/* One word of the space-separated `allowed`; *value is its number. */
kw_status kw_node_choice(const kw_node *node, const char *key, const char *allowed, bool keep, int *value);

/* A list of words out of `allowed`, as bits; absent, *bits stays and is written into the tree. */
kw_status kw_node_choices(const kw_node *node, const char *key, const char *allowed, unsigned *bits);

#endif
