/* The text of a scene before libconfig sees it.
 *
 * libconfig 1.5 reads 4294967396 as 100 and 1e999 as infinity, refuses [0, 1.5e-3] because the types differ, and
 * trips over a byte-order mark. So the text is prepared first: includes are expanded (which also catches cycles and
 * keeps file and line of everything), integers beyond 32 bits get the suffix that libconfig wants, numbers beyond
 * the range of a double are refused, and arrays [ ] become lists ( ), which may mix integers and reals.
 */
#ifndef KW_SCENE_TEXT_H
#define KW_SCENE_TEXT_H

#include "kwsim/status.h"
#include <stddef.h>

typedef struct kw_text {
    char *data; /* zero-terminated */
    size_t length, room;
    char **file; /* names of the scene and its includes */
    int file_count;
    struct kw_text_line {
        int file, line;
    } * line; /* origin of line i+1 of data */
    int line_count, line_room;
} kw_text;

/* Reads and prepares a scene file. KW_ERR_SCENE. */
kw_status kw_text_load(const char *path, kw_text *text);

/* Prepares one piece of text that comes from the command line and is called `name` in messages. */
kw_status kw_text_from_string(const char *string, const char *name, kw_text *text);

/* File and line from which line `line` (from 1) of the data came. */
const char *kw_text_origin(const kw_text *text, int line, int *origin_line);

void kw_text_free(kw_text *text);

#endif
