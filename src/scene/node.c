/* Typed access to the keys of a group, with messages. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

/* ---- messages ---- */

static config_setting_t *member(const kw_node *node, const char *key)
{
    return node->setting != NULL ? config_setting_get_member(node->setting, key) : NULL;
}

/* "scene.cfg:12" or "--set time.cfl=0" of a setting. */
static void origin(const kw_node *node, const config_setting_t *setting, char *text, size_t size)
{
    int number = setting != NULL ? (int)(intptr_t)config_setting_get_hook(setting) : 0, line;
    int source = number < 0 ? -number : setting != NULL ? (int)config_setting_source_line(setting) : 0;
    if (number > 0)
        snprintf(text, size, "%s", node->tree->override_name[number - 1]);
    else if (source == 0 || config_setting_is_root(setting))
        snprintf(text, size, "%s", node->tree->path);
    else {
        const char *file = kw_text_origin(&node->tree->text, source, &line);
        snprintf(text, size, "%s:%d", file, line);
    }
}

static void where(const kw_node *node, const char *key, char *text, size_t size)
{
    const config_setting_t *setting = key != NULL ? member(node, key) : NULL;
    char place[512];
    origin(node, setting != NULL ? setting : node->setting, place, sizeof place);
    const char *dot = key != NULL && node->path[0] != '\0' ? "." : "";
    snprintf(text, size, "%s: %s%s%s", place, node->path, dot, key != NULL ? key : "");
}

kw_status kw_node_fail(const kw_node *node, const char *key, const char *format, ...)
{
    char place[800], text[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    where(node, key, place, sizeof place);
    return kw_fail(KW_ERR_SCENE, "%s: %s", place, text);
}

char *kw_node_where(const kw_node *node, const char *key)
{
    char place[800];
    where(node, key, place, sizeof place);
    return strdup(place);
}

/* A value as a person would write it, cut short. */
static const char *show(const config_setting_t *setting, char *text, size_t size)
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        snprintf(text, size, "%lld", config_setting_get_int64(setting));
        break;
    case CONFIG_TYPE_FLOAT:
        snprintf(text, size, "%.9g", config_setting_get_float(setting));
        break;
    case CONFIG_TYPE_BOOL:
        snprintf(text, size, "%s", config_setting_get_bool(setting) ? "true" : "false");
        break;
    case CONFIG_TYPE_STRING:
        snprintf(text, size, "\"%.60s\"", config_setting_get_string(setting));
        break;
    case CONFIG_TYPE_GROUP:
        snprintf(text, size, "a group");
        break;
    default:
        snprintf(text, size, "a list of %d", config_setting_length(setting));
        break;
    }
    return text;
}

static kw_status wrong(const kw_node *node, const char *key, const config_setting_t *got, const char *wanted)
{
    char text[100];
    return kw_node_fail(node, key, "must be %s, got %s", wanted, show(got, text, sizeof text));
}

/* ---- keys ---- */

bool kw_node_has(const kw_node *node, const char *key) { return member(node, key) != NULL; }

bool kw_node_is_group(const kw_node *node, const char *key)
{
    const config_setting_t *setting = member(node, key);
    return setting != NULL && config_setting_is_group(setting);
}

bool kw_node_is_text(const kw_node *node, const char *key)
{
    const config_setting_t *setting = member(node, key);
    return setting != NULL && config_setting_type(setting) == CONFIG_TYPE_STRING;
}

const char *kw_node_word(const kw_node *node, const char *key)
{
    return kw_node_is_text(node, key) ? config_setting_get_string(member(node, key)) : "";
}

/* Edits from one word to the other (Levenshtein). */
static int distance(const char *a, const char *b, size_t b_length)
{
    int row[64];
    if (b_length > 63) return 1000;
    for (size_t j = 0; j <= b_length; j++) row[j] = (int)j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        int diagonal = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < b_length; j++) {
            int best = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j + 1] = diagonal + 1 < best ? diagonal + 1 : best;
        }
    }
    return row[b_length];
}

/* Walks over the words of a space-separated list: returns the next and its length, or NULL. */
static const char *next_word(const char **list, size_t *length)
{
    const char *word = *list + strspn(*list, " ");
    *length = strcspn(word, " ");
    *list = word + *length;
    return *length > 0 ? word : NULL;
}

/* Number of the word in the list, or -1; *near and *near_length get the word most like it. */
static int find_word(const char *list, const char *name, const char **near, size_t *near_length)
{
    const char *word;
    size_t length;
    int best = 1000;
    for (int i = 0; (word = next_word(&list, &length)) != NULL; i++) {
        if (strlen(name) == length && strncmp(word, name, length) == 0) return i;
        int edits = distance(name, word, length);
        if (edits >= best) continue;
        best = edits;
        *near = word;
        *near_length = length;
    }
    return -1;
}

kw_status kw_node_check_keys(const kw_node *node, const char *known)
{
    for (int i = 0; node->setting != NULL && i < config_setting_length(node->setting); i++) {
        const char *name = config_setting_name(config_setting_get_elem(node->setting, (unsigned)i)), *near = "";
        size_t length = 0;
        if (find_word(known, name, &near, &length) < 0)
            return kw_node_fail(node, name, "unknown key; nearest known key: %.*s (allowed here: %s)", (int)length,
                                near, known);
    }
    return KW_OK;
}

kw_status kw_node_require(const kw_node *node, const char *key, const char *what)
{
    return kw_node_has(node, key) ? KW_OK : kw_node_fail(node, key, "missing; it must give %s", what);
}

kw_status kw_node_exclude(const kw_node *node, const char *key, const char *other)
{
    if (!kw_node_has(node, key) || !kw_node_has(node, other)) return KW_OK;
    return kw_node_fail(node, key, "contradicts %s, which is given too; keep one of them", other);
}

static void child_path(const kw_node *node, const char *key, kw_node *child)
{
    snprintf(child->path, sizeof child->path, "%s%s%s", node->path, node->path[0] != '\0' ? "." : "", key);
}

kw_status kw_node_group(const kw_node *node, const char *key, kw_node *child)
{
    kw_node made = {node->tree, member(node, key), ""};
    child_path(node, key, &made);
    if (made.setting != NULL && !config_setting_is_group(made.setting))
        return wrong(node, key, made.setting, "a group { ... }");
    if (made.setting == NULL && node->setting != NULL) /* so that defaults have a place */
        made.setting = config_setting_add(node->setting, key, CONFIG_TYPE_GROUP);
    *child = made;
    return KW_OK;
}

static bool is_list(const config_setting_t *setting)
{
    return config_setting_is_list(setting) || config_setting_is_array(setting);
}

kw_status kw_node_list(const kw_node *node, const char *key, int *count)
{
    const config_setting_t *setting = member(node, key);
    *count = 0;
    if (setting == NULL) return KW_OK;
    if (!is_list(setting)) return wrong(node, key, setting, "a list ( ... )");
    *count = config_setting_length(setting);
    return KW_OK;
}

kw_status kw_node_element(const kw_node *node, const char *key, int index, kw_node *child)
{
    kw_node made = {node->tree, config_setting_get_elem(member(node, key), (unsigned)index), ""};
    char name[100];
    snprintf(name, sizeof name, "%s[%d]", key, index);
    child_path(node, name, &made);
    if (!config_setting_is_group(made.setting)) {
        char text[100];
        return kw_node_fail(&made, NULL, "must be a group { ... }, got %s", show(made.setting, text, sizeof text));
    }
    *child = made;
    return KW_OK;
}

/* ---- numbers ---- */

static bool is_integer(const config_setting_t *setting)
{
    int type = config_setting_type(setting);
    return type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64;
}

static bool is_number(const config_setting_t *setting)
{
    return is_integer(setting) || config_setting_type(setting) == CONFIG_TYPE_FLOAT;
}

/* libconfig converts a float to int64 and back only with auto-convert, which is off */
static double number(const config_setting_t *setting)
{
    return is_integer(setting) ? (double)config_setting_get_int64(setting) : config_setting_get_float(setting);
}

static void show_rule(kw_rule rule, bool integer, char *text, size_t size)
{
    const char *kind = integer ? "an integer" : "a number", *unit = rule.unit;
    const char *space = unit[0] != '\0' ? " " : "";
    if (isfinite(rule.least) && isfinite(rule.most))
        snprintf(text, size, "%s from %.9g to %.9g%s%s", kind, rule.least, rule.most, space, unit);
    else if (isfinite(rule.least))
        snprintf(text, size, "%s %s %.9g%s%s", kind, rule.above ? ">" : ">=", rule.least, space, unit);
    else
        snprintf(text, size, "%s%s%s%s", kind, space, unit[0] != '\0' ? "in " : "", unit);
}

static kw_status check_number(const kw_node *node, const char *key, const config_setting_t *setting, kw_rule rule,
                              bool integer)
{
    char wanted[120];
    bool good = integer ? is_integer(setting) : is_number(setting);
    if (good) {
        double value = number(setting);
        good = isfinite(value) && value <= rule.most && (rule.above ? value > rule.least : value >= rule.least);
    }
    if (good) return KW_OK;
    show_rule(rule, integer, wanted, sizeof wanted);
    return wrong(node, key, setting, wanted);
}

kw_status kw_node_real(const kw_node *node, const char *key, kw_rule rule, bool keep, double *value)
{
    config_setting_t *setting = member(node, key);
    if (setting == NULL) {
        if (keep && node->setting != NULL)
            config_setting_set_float(config_setting_add(node->setting, key, CONFIG_TYPE_FLOAT), *value);
        return KW_OK;
    }
    KW_TRY(check_number(node, key, setting, rule, false));
    *value = number(setting);
    return KW_OK;
}

kw_status kw_node_integer(const kw_node *node, const char *key, kw_rule rule, bool keep, int64_t *value)
{
    config_setting_t *setting = member(node, key);
    if (setting == NULL) {
        if (keep && node->setting != NULL)
            config_setting_set_int64(config_setting_add(node->setting, key, CONFIG_TYPE_INT64), *value);
        return KW_OK;
    }
    KW_TRY(check_number(node, key, setting, rule, true));
    *value = config_setting_get_int64(setting);
    return KW_OK;
}

kw_status kw_node_bool(const kw_node *node, const char *key, bool keep, bool *value)
{
    config_setting_t *setting = member(node, key);
    if (setting == NULL) {
        if (keep && node->setting != NULL)
            config_setting_set_bool(config_setting_add(node->setting, key, CONFIG_TYPE_BOOL), *value);
        return KW_OK;
    }
    if (config_setting_type(setting) != CONFIG_TYPE_BOOL) return wrong(node, key, setting, "true or false");
    *value = config_setting_get_bool(setting);
    return KW_OK;
}

/* The number that stands for axis i: the setting itself, or its element i. */
static const config_setting_t *for_axis(const config_setting_t *setting, int i)
{
    return is_list(setting) ? config_setting_get_elem(setting, (unsigned)i) : setting;
}

static kw_status check_three(const kw_node *node, const char *key, const config_setting_t *setting, kw_rule rule,
                             bool integer)
{
    if (is_list(setting) && config_setting_length(setting) != 3)
        return wrong(node, key, setting, "three numbers [x, y, z], or one for all axes");
    for (int i = 0; i < 3; i++) KW_TRY(check_number(node, key, for_axis(setting, i), rule, integer));
    return KW_OK;
}

kw_status kw_node_reals3(const kw_node *node, const char *key, kw_rule rule, bool keep, double value[3])
{
    config_setting_t *setting = member(node, key);
    if (setting == NULL) {
        if (!keep || node->setting == NULL) return KW_OK;
        config_setting_t *list = config_setting_add(node->setting, key, CONFIG_TYPE_LIST);
        for (int i = 0; i < 3; i++) config_setting_set_float_elem(list, -1, value[i]);
        return KW_OK;
    }
    KW_TRY(check_three(node, key, setting, rule, false));
    for (int i = 0; i < 3; i++) value[i] = number(for_axis(setting, i));
    return KW_OK;
}

kw_status kw_node_integers3(const kw_node *node, const char *key, kw_rule rule, bool keep, int64_t value[3])
{
    config_setting_t *setting = member(node, key);
    if (setting == NULL) {
        if (!keep || node->setting == NULL) return KW_OK;
        config_setting_t *list = config_setting_add(node->setting, key, CONFIG_TYPE_LIST);
        for (int i = 0; i < 3; i++) config_setting_set_int64_elem(list, -1, value[i]);
        return KW_OK;
    }
    KW_TRY(check_three(node, key, setting, rule, true));
    for (int i = 0; i < 3; i++) value[i] = config_setting_get_int64(for_axis(setting, i));
    return KW_OK;
}

static kw_status read_point(const kw_node *node, const char *key, int index, double *point)
{
    const config_setting_t *setting = config_setting_get_elem(member(node, key), (unsigned)index);
    char text[100];
    bool good = is_list(setting) && config_setting_length(setting) == 3;
    for (int i = 0; good && i < 3; i++) {
        const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);
        good = is_number(element);
        if (good) point[i] = number(element);
    }
    if (good) return KW_OK;
    return kw_node_fail(node, key, "point %d must be three numbers (x, y, z), got %s", index,
                        show(setting, text, sizeof text));
}

kw_status kw_node_points(const kw_node *node, const char *key, int64_t *count, double **value)
{
    int length;
    *count = 0;
    *value = NULL;
    KW_TRY(kw_node_list(node, key, &length));
    if (length == 0) return kw_node_fail(node, key, "must have at least one point (x, y, z)");
    double *points = malloc((size_t)length * 3 * sizeof *points);
    if (points == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for %d points", length);
    for (int i = 0; i < length; i++) {
        kw_status status = read_point(node, key, i, points + 3 * (ptrdiff_t)i);
        if (status == KW_OK) continue;
        free(points);
        return status;
    }
    *count = length;
    *value = points;
    return KW_OK;
}

kw_status kw_node_numbers(const kw_node *node, const char *key, kw_rule rule, int64_t *count, double **value)
{
    int length;
    *count = 0;
    *value = NULL;
    KW_TRY(kw_node_list(node, key, &length));
    if (length == 0) return kw_node_fail(node, key, "must have at least one number");
    double *numbers = malloc((size_t)length * sizeof *numbers);
    if (numbers == NULL) return kw_fail(KW_ERR_RESOURCE, "no memory for %d numbers", length);
    for (int i = 0; i < length; i++) {
        const config_setting_t *element = config_setting_get_elem(member(node, key), (unsigned)i);
        kw_status status = check_number(node, key, element, rule, false);
        if (status != KW_OK) {
            free(numbers);
            return status;
        }
        numbers[i] = number(element);
    }
    *count = length;
    *value = numbers;
    return KW_OK;
}

/* ---- text ---- */

kw_status kw_node_text(const kw_node *node, const char *key, const char **value)
{
    const config_setting_t *setting = member(node, key);
    if (setting == NULL) return KW_OK;
    if (config_setting_type(setting) != CONFIG_TYPE_STRING || config_setting_get_string(setting)[0] == '\0')
        return wrong(node, key, setting, "text in quotes, not empty");
    *value = config_setting_get_string(setting);
    return KW_OK;
}

kw_status kw_node_set_text(const kw_node *node, const char *key, const char *value)
{
    config_setting_t *setting = member(node, key);
    if (setting == NULL) setting = config_setting_add(node->setting, key, CONFIG_TYPE_STRING);
    if (setting == NULL || !config_setting_set_string(setting, value))
        return kw_fail(KW_ERR_RESOURCE, "no memory for the scene");
    return KW_OK;
}

static kw_status read_word(const kw_node *node, const char *key, const config_setting_t *setting, const char *allowed,
                           int *value)
{
    const char *near = "";
    size_t length;
    if (config_setting_type(setting) == CONFIG_TYPE_STRING)
        *value = find_word(allowed, config_setting_get_string(setting), &near, &length);
    else
        *value = -1;
    if (*value >= 0) return KW_OK;
    char text[100];
    return kw_node_fail(node, key, "must be one of: %s; got %s", allowed, show(setting, text, sizeof text));
}

kw_status kw_node_choice(const kw_node *node, const char *key, const char *allowed, bool keep, int *value)
{
    const config_setting_t *setting = member(node, key);
    if (setting != NULL) return read_word(node, key, setting, allowed, value);
    if (!keep || node->setting == NULL) return KW_OK;
    const char *word = NULL;
    size_t length = 0;
    for (int i = 0; i <= *value; i++) word = next_word(&allowed, &length);
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)length, word);
    return kw_node_set_text(node, key, text);
}

/* Writes the default into the tree. */
static kw_status keep_choices(const kw_node *node, const char *key, const char *allowed, unsigned bits)
{
    config_setting_t *list = config_setting_add(node->setting, key, CONFIG_TYPE_LIST);
    const char *word;
    size_t length;
    for (int i = 0; (word = next_word(&allowed, &length)) != NULL; i++) {
        char text[64];
        if (!(bits >> i & 1)) continue;
        snprintf(text, sizeof text, "%.*s", (int)length, word);
        config_setting_set_string_elem(list, -1, text);
    }
    return KW_OK;
}

kw_status kw_node_choices(const kw_node *node, const char *key, const char *allowed, unsigned *bits)
{
    int count, word;
    const config_setting_t *setting = member(node, key);
    KW_TRY(kw_node_list(node, key, &count));
    if (setting == NULL) return keep_choices(node, key, allowed, *bits);
    *bits = 0;
    for (int i = 0; i < count; i++) {
        KW_TRY(read_word(node, key, config_setting_get_elem(setting, (unsigned)i), allowed, &word));
        *bits |= 1u << word;
    }
    return KW_OK;
}
