#include "tree.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kw_status no_memory(void) { return kw_fail(KW_ERR_RESOURCE, "no memory for the scene"); }

/* ---- copying settings ---- */

static bool is_container(const config_setting_t *setting)
{
    return config_setting_is_aggregate(setting) == CONFIG_TRUE;
}

/* Marks a setting and all below it as coming from override `number` (from 1). */
static void mark(config_setting_t *setting, int number)
{
    config_setting_set_hook(setting, (void *)(intptr_t)number);
    for (int i = 0; is_container(setting) && i < config_setting_length(setting); i++)
        mark(config_setting_get_elem(setting, (unsigned)i), number);
}

/* Where a setting came from, in one number for its hook: an override (> 0) or a line (< 0). */
static int origin_of(const config_setting_t *setting)
{
    int number = (int)(intptr_t)config_setting_get_hook(setting);
    return number != 0 ? number : -(int)config_setting_source_line(setting);
}

static bool copy_into(config_setting_t *parent, const char *name, const config_setting_t *from)
{
    config_setting_t *to = config_setting_add(parent, name, config_setting_type(from));
    if (to == NULL) return false;
    config_setting_set_hook(to, (void *)(intptr_t)origin_of(from));
    switch (config_setting_type(from)) {
    case CONFIG_TYPE_INT:
        return config_setting_set_int(to, config_setting_get_int(from));
    case CONFIG_TYPE_INT64:
        return config_setting_set_int64(to, config_setting_get_int64(from));
    case CONFIG_TYPE_FLOAT:
        return config_setting_set_float(to, config_setting_get_float(from));
    case CONFIG_TYPE_BOOL:
        return config_setting_set_bool(to, config_setting_get_bool(from));
    case CONFIG_TYPE_STRING:
        return config_setting_set_string(to, config_setting_get_string(from));
    default:
        break;
    }
    for (int i = 0; i < config_setting_length(from); i++) {
        const config_setting_t *child = config_setting_get_elem(from, (unsigned)i);
        if (!copy_into(to, config_setting_name(child), child)) return false;
    }
    return true;
}

/* ---- parsing ---- */

/* A line of the prepared text, without the space around it. */
static void quote_line(const kw_text *text, int line, char *quote, size_t size)
{
    const char *s = text->data;
    for (int i = 1; i < line && s != NULL; i++) s = strchr(s, '\n') != NULL ? strchr(s, '\n') + 1 : NULL;
    while (s != NULL && (*s == ' ' || *s == '\t')) s++;
    snprintf(quote, size, "%.*s", s != NULL ? (int)strcspn(s, "\n") : 0, s != NULL ? s : "");
}

static kw_status parse_error(const config_t *config, const kw_text *text)
{
    int line = config_error_line(config), origin;
    const char *file = kw_text_origin(text, line, &origin), *what = config_error_text(config);
    char quote[80];
    if (what != NULL && strstr(what, "duplicate") != NULL) {
        quote_line(text, line, quote, sizeof quote);
        return kw_fail(KW_ERR_SCENE, "%s:%d: a key is in its group twice, keep one: %s", file, origin, quote);
    }
    return kw_fail(KW_ERR_SCENE,
                   "%s:%d: %s (in libconfig's form a setting is `key = value;`: is a ; = or a closing "
                   "bracket missing here or just before?)",
                   file, origin, what != NULL ? what : "cannot be read");
}

static kw_status parse(config_t *config, const kw_text *text)
{
    config_init(config);
    return config_read_string(config, text->data) == CONFIG_TRUE ? KW_OK : parse_error(config, text);
}

/* ---- overrides ---- */

static kw_status bad_override(const char *name, const char *why)
{
    return kw_fail(KW_ERR_USAGE,
                   "%s: %s; write --set key.path=value, as in --set time.cfl=0.2 or --set p0.shapes[0].radius=1e-3",
                   name, why);
}

/* "steps" or "[2]" at *at; moves on. index is -1 for a name. Returns false if it is neither. */
static bool next_step(const char **at, char *name, size_t size, int *index)
{
    const char *s = *at;
    size_t n = strcspn(s, ".[=");
    *index = -1;
    if (*s == '[') {
        char *end;
        long value = strtol(s + 1, &end, 10);
        if (*end != ']' || end == s + 1 || value < 0 || value > 1000000) return false;
        *index = (int)value;
        s = end + 1;
    } else {
        if (n == 0 || n >= size) return false;
        snprintf(name, size, "%.*s", (int)n, s);
        s += n;
    }
    if (*s == '.' && (s[1] == '[' || s[1] == '.' || s[1] == '=' || s[1] == '\0')) return false;
    if (*s != '.' && *s != '[' && *s != '=') return false;
    if (*s == '.') s++;
    *at = s;
    return true;
}

static config_setting_t *find_child(config_setting_t *parent, const char *name, int index)
{
    if (index >= 0)
        return is_container(parent) && !config_setting_is_group(parent) && index < config_setting_length(parent)
                   ? config_setting_get_elem(parent, (unsigned)index)
                   : NULL;
    return config_setting_is_group(parent) ? config_setting_get_member(parent, name) : NULL;
}

/* Sets list element `index` by rebuilding the list: libconfig only appends. */
static bool replace_element(config_setting_t *list, int index, const config_setting_t *value, int number)
{
    int count = config_setting_length(list);
    for (int i = 0; i < count; i++) {
        const config_setting_t *from = i == index ? value : config_setting_get_elem(list, 0);
        if (!copy_into(list, NULL, from)) return false;
        if (i == index) mark(config_setting_get_elem(list, (unsigned)config_setting_length(list) - 1), number);
        config_setting_remove_elem(list, 0);
    }
    return true;
}

/* Puts the value where the path says, making groups on the way. */
static kw_status put_override(config_setting_t *at, const char *path, const config_setting_t *value, const char *name,
                              int number)
{
    char step[80];
    int index;
    for (;;) {
        if (!next_step(&path, step, sizeof step, &index)) return bad_override(name, "the key is not a path");
        config_setting_t *child = find_child(at, step, index);
        bool last = *path == '=';
        if (index >= 0 && child == NULL) return bad_override(name, "there is no list with such an element");
        if (index < 0 && !config_setting_is_group(at)) return bad_override(name, "a key on the way is not a group");
        if (last && index >= 0) return replace_element(at, index, value, number) ? KW_OK : no_memory();
        if (last) break;
        if (child == NULL) {
            child = config_setting_add(at, step, CONFIG_TYPE_GROUP);
            if (child == NULL) return bad_override(name, "the key is not a valid name");
            config_setting_set_hook(child, (void *)(intptr_t)number);
        }
        at = child;
    }
    config_setting_remove(at, step);
    if (!copy_into(at, step, value)) return bad_override(name, "the key is not a valid name");
    mark(config_setting_get_member(at, step), number);
    return KW_OK;
}

/* Parses "name = value;"; a value that libconfig does not understand and that is one bare word is a string. */
static kw_status parse_value(const char *value, const char *name, config_t *config)
{
    size_t size = strlen(value) + 32;
    char *text = malloc(size);
    if (text == NULL) return no_memory();
    kw_text prepared;
    bool word = value[0] != '\0' && strpbrk(value, "\"[](){};=\n\\") == NULL;
    bool number =
        strchr("+-.0123456789", value[0]) != NULL && strspn(value, "+-.0123456789eExXabcdefABCDEFL") == strlen(value);
    bool named = word && !number && strcasecmp(value, "true") != 0 && strcasecmp(value, "false") != 0;
    snprintf(text, size, named ? "value = \"%s\";" : "value = %s;", value);
    kw_status status = kw_text_from_string(text, name, &prepared);
    free(text);
    if (status != KW_OK) return status;
    config_init(config);
    bool good = config_read_string(config, prepared.data) == CONFIG_TRUE &&
                config_setting_length(config_root_setting(config)) == 1;
    kw_text_free(&prepared);
    if (good) return KW_OK;
    config_destroy(config);
    return bad_override(name, "the value is not a number, true, false, a word, \"text\", a list or a group");
}

static kw_status apply_override(kw_tree *tree, const char *override, int number)
{
    const char *name = tree->override_name[number - 1];
    const char *value = strchr(override, '=');
    if (value == NULL) return bad_override(name, "there is no =");
    config_t parsed;
    KW_TRY(parse_value(value + 1, name, &parsed));
    const config_setting_t *setting = config_setting_get_elem(config_root_setting(&parsed), 0);
    kw_status status = put_override(config_root_setting(&tree->config), override, setting, name, number);
    config_destroy(&parsed);
    return status;
}

static kw_status apply_overrides(kw_tree *tree, const char *const *overrides, int count)
{
    tree->override_name = calloc((size_t)count + 1, sizeof *tree->override_name);
    if (tree->override_name == NULL) return no_memory();
    for (int i = 0; i < count; i++) {
        size_t size = strlen(overrides[i]) + 8;
        char *name = tree->override_name[i] = malloc(size);
        if (name == NULL) return no_memory();
        tree->override_count = i + 1;
        snprintf(name, size, "--set %s", overrides[i]);
        KW_TRY(apply_override(tree, overrides[i], i + 1));
    }
    return KW_OK;
}

kw_status kw_tree_load(const char *path, const char *const *overrides, int count, kw_tree *tree)
{
    *tree = (kw_tree){.path = path};
    KW_TRY(kw_text_load(path, &tree->text));
    tree->config_made = true;
    kw_status status = parse(&tree->config, &tree->text);
    for (int i = 0; i < tree->text.file_count && status == KW_OK; i++)
        status = kw_tree_add_input(tree, tree->text.file[i]);
    if (status == KW_OK) status = apply_overrides(tree, overrides, count);
    if (status != KW_OK) kw_tree_free(tree);
    return status;
}

kw_status kw_tree_add_input(kw_tree *tree, const char *path)
{
    char **inputs = realloc(tree->inputs, (size_t)(tree->input_count + 1) * sizeof *inputs);
    if (inputs == NULL) return no_memory();
    tree->inputs = inputs;
    if ((inputs[tree->input_count] = strdup(path)) == NULL) return no_memory();
    tree->input_count++;
    return KW_OK;
}

void kw_tree_free(kw_tree *tree)
{
    for (int64_t i = 0; i < tree->input_count; i++) free(tree->inputs[i]);
    free(tree->inputs);
    if (tree->config_made) config_destroy(&tree->config);
    for (int i = 0; i < tree->override_count; i++) free(tree->override_name[i]);
    free(tree->override_name);
    kw_text_free(&tree->text);
    *tree = (kw_tree){0};
}

kw_node kw_tree_root(kw_tree *tree) { return (kw_node){tree, config_root_setting(&tree->config), ""}; }

static config_setting_t *find_group(kw_tree *tree, const char *group)
{
    config_setting_t *root = config_root_setting(&tree->config);
    config_setting_t *found = config_setting_get_member(root, group);
    if (found == NULL) found = config_setting_add(root, group, CONFIG_TYPE_GROUP);
    return found != NULL && config_setting_is_group(found) ? found : NULL;
}

void kw_tree_remove(kw_tree *tree, const char *group, const char *name)
{
    config_setting_t *at = find_group(tree, group);
    if (at != NULL) config_setting_remove(at, name);
}

kw_status kw_tree_set_integer(kw_tree *tree, const char *group, const char *name, int64_t value)
{
    config_setting_t *at = find_group(tree, group);
    if (at == NULL) return KW_OK; /* not a group: the reader says so */
    config_setting_remove(at, name);
    config_setting_t *setting = config_setting_add(at, name, CONFIG_TYPE_INT64);
    return setting != NULL && config_setting_set_int64(setting, value) ? KW_OK : no_memory();
}

/* ---- printing ---- */

static void print_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 32)
            fprintf(out, "\\x%02x", (unsigned)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

/* Shortest form that reads back as the same number, and as a real. */
static void print_real(FILE *out, double value)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    fprintf(out, "%s%s", text, strpbrk(text, ".e") == NULL ? ".0" : "");
}

static void print_value(FILE *out, const config_setting_t *setting, int depth)
{
    int count = is_container(setting) ? config_setting_length(setting) : 0;
    bool group = config_setting_is_group(setting);
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64: {
        long long value = config_setting_get_int64(setting);
        fprintf(out, "%lld%s", value, value > INT32_MAX || value < INT32_MIN ? "L" : "");
        return;
    }
    case CONFIG_TYPE_FLOAT:
        print_real(out, config_setting_get_float(setting));
        return;
    case CONFIG_TYPE_BOOL:
        fputs(config_setting_get_bool(setting) ? "true" : "false", out);
        return;
    case CONFIG_TYPE_STRING:
        print_text(out, config_setting_get_string(setting));
        return;
    default:
        break;
    }
    fputs(group ? "{ " : "( ", out);
    for (int i = 0; i < count; i++) {
        const config_setting_t *child = config_setting_get_elem(setting, (unsigned)i);
        if (group) fprintf(out, "%s = ", config_setting_name(child));
        print_value(out, child, depth + 1);
        fputs(group ? "; " : i + 1 < count ? ", " : " ", out);
    }
    fputs(group ? "}" : ")", out);
}

char *kw_tree_print(const kw_tree *tree)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    const config_setting_t *root = config_root_setting(&tree->config);
    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *child = config_setting_get_elem(root, (unsigned)i);
        fprintf(out, "%s = ", config_setting_name(child));
        print_value(out, child, 1);
        fputs(";\n", out);
    }
    fclose(out);
    return text;
}
