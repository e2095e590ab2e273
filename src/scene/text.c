#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_BYTES = 64 << 20, MOST_DEPTH = 10 };

/* Reads through one file, or one string. */
typedef struct kw_reader {
    kw_text *text;
    const char *at;
    int file, line;
    const struct kw_reader *parent; /* the including file */
    bool string;                    /* no includes */
} kw_reader;

static kw_status no_memory(void) { return kw_fail(KW_ERR_RESOURCE, "no memory for the scene"); }

static kw_status put(kw_reader *reader, const char *bytes, size_t count)
{
    kw_text *text = reader->text;
    if (text->length + count + 1 > text->room) {
        size_t room = 2 * (text->room + count + 1);
        char *data = realloc(text->data, room);
        if (data == NULL) return no_memory();
        text->data = data;
        text->room = room;
    }
    memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
    return KW_OK;
}

/* Ends a line of the output and notes where it came from. */
static kw_status put_newline(kw_reader *reader)
{
    kw_text *text = reader->text;
    if (text->line_count == text->line_room) {
        int room = 2 * text->line_room + 64;
        void *line = realloc(text->line, (size_t)room * sizeof *text->line);
        if (line == NULL) return no_memory();
        text->line = line;
        text->line_room = room;
    }
    text->line[text->line_count++] = (struct kw_text_line){reader->file, reader->line};
    return put(reader, "\n", 1);
}

static kw_status fail_at(const kw_reader *reader, const char *what, const char *token, size_t length)
{
    return kw_fail(KW_ERR_SCENE, "%s:%d: %.*s: %s", reader->text->file[reader->file], reader->line,
                   (int)(length > 60 ? 60 : length), token, what);
}

/* ---- numbers ---- */

static size_t number_length(const char *s)
{
    size_t n = s[0] == '+' || s[0] == '-';
    if (s[n] == '0' && (s[n + 1] == 'x' || s[n + 1] == 'X')) {
        for (n += 2; isxdigit((unsigned char)s[n]); n++) {}
    } else {
        while (isdigit((unsigned char)s[n]) || s[n] == '.') n++;
        size_t sign = s[n] != '\0' && (s[n + 1] == '+' || s[n + 1] == '-');
        if ((s[n] == 'e' || s[n] == 'E') && isdigit((unsigned char)s[n + 1 + sign]))
            for (n += 1 + sign; isdigit((unsigned char)s[n]); n++) {}
    }
    while (s[n] == 'L') n++;
    return n;
}

static kw_status put_integer(kw_reader *reader, const char *token, size_t length)
{
    bool hex = memchr(token, 'x', length) != NULL || memchr(token, 'X', length) != NULL;
    errno = 0;
    long long value = strtoll(token, NULL, hex ? 16 : 10);
    if (errno == ERANGE)
        return fail_at(reader, "an integer beyond 64 bits; write it with a decimal point", token, length);
    KW_TRY(put(reader, token, length));
    bool wide = value > INT32_MAX || value < INT32_MIN;
    return wide && token[length - 1] != 'L' ? put(reader, "L", 1) : KW_OK;
}

static bool has_nonzero_mantissa(const char *token, size_t length)
{
    for (size_t i = 0; i < length && token[i] != 'e' && token[i] != 'E'; i++)
        if (token[i] >= '1' && token[i] <= '9') return true;
    return false;
}

static kw_status put_number(kw_reader *reader)
{
    const char *token = reader->at;
    size_t length = number_length(token);
    reader->at += length;
    bool hex = length > 2 && (memchr(token, 'x', length) != NULL || memchr(token, 'X', length) != NULL);
    bool real = !hex && strcspn(token, ".eE") < length;
    if (!real) return put_integer(reader, token, length);
    double value = strtod(token, NULL);
    if (!isfinite(value)) return fail_at(reader, "a number beyond 1.8e308", token, length);
    if (value == 0.0 && has_nonzero_mantissa(token, length))
        return fail_at(reader, "a number so small that it becomes 0", token, length);
    return put(reader, token, length);
}

/* ---- comments, strings, names ---- */

/* Copies up to `end` (exclusive), minding line ends. */
static kw_status put_through(kw_reader *reader, const char *end)
{
    while (reader->at < end) {
        size_t run = strcspn(reader->at, "\n");
        if (reader->at + run >= end) run = (size_t)(end - reader->at);
        KW_TRY(put(reader, reader->at, run));
        reader->at += run;
        if (reader->at < end) {
            KW_TRY(put_newline(reader));
            reader->at++;
            reader->line++;
        }
    }
    return KW_OK;
}

static kw_status put_string(kw_reader *reader)
{
    const char *end = reader->at + 1;
    while (*end != '\0' && *end != '"' && *end != '\n') {
        if (strncmp(end, "\\x00", 4) == 0) return fail_at(reader, "text cannot hold a zero byte", end, 4);
        end += end[0] == '\\' && end[1] != '\0' ? 2 : 1;
    }
    if (*end != '"')
        return fail_at(reader, "this text in quotes does not end on its line", reader->at, strcspn(reader->at, "\r\n"));
    return put_through(reader, end + 1);
}

static kw_status skip_block_comment(kw_reader *reader)
{
    const char *end = strstr(reader->at + 2, "*/");
    if (end == NULL) return fail_at(reader, "this comment does not end", reader->at, strcspn(reader->at, "\n"));
    for (; reader->at < end + 2; reader->at++)
        if (*reader->at == '\n') {
            KW_TRY(put_newline(reader));
            reader->line++;
        }
    return put(reader, " ", 1);
}

static size_t name_length(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || (s[n] != '\0' && strchr("-_*", s[n]) != NULL)) n++;
    return n;
}

/* ---- files and includes ---- */

static kw_status read_whole(const char *path, const char *from, char **data)
{
    struct stat st;
    if (stat(path, &st) != 0) return kw_fail(KW_ERR_SCENE, "%scannot read \"%s\": %s", from, path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return kw_fail(KW_ERR_SCENE, "%scannot read \"%s\": not a regular file", from, path);
    FILE *file = fopen(path, "rb");
    if (file == NULL) return kw_fail(KW_ERR_SCENE, "%scannot read \"%s\": %s", from, path, strerror(errno));
    size_t size = (size_t)st.st_size;
    *data = st.st_size <= MOST_BYTES ? malloc(size + 1) : NULL;
    size_t got = *data != NULL ? fread(*data, 1, size, file) : 0;
    fclose(file);
    if (*data == NULL)
        return kw_fail(KW_ERR_SCENE, "%s\"%s\" is too large for a scene (%.0f bytes)", from, path, (double)size);
    (*data)[got] = '\0';
    if (got != size || memchr(*data, '\0', got) != NULL) {
        free(*data);
        return kw_fail(KW_ERR_SCENE, "%s\"%s\" is not a text file: a scene is text in libconfig's form", from, path);
    }
    return KW_OK;
}

static kw_status load_file(kw_text *text, const char *path, const kw_reader *parent);

static bool includes_itself(const kw_text *text, const kw_reader *reader, const char *path, int *depth)
{
    char real[PATH_MAX], other[PATH_MAX];
    bool found = false;
    if (realpath(path, real) == NULL) snprintf(real, sizeof real, "%s", path);
    for (*depth = 0; reader != NULL; reader = reader->parent, ++*depth) {
        const char *name = text->file[reader->file];
        found |= realpath(name, other) != NULL && strcmp(real, other) == 0;
    }
    return found;
}

/* @include "name": relative to the including file. */
static kw_status put_include(kw_reader *reader)
{
    const char *line = reader->at, *open = line + strcspn(line, "\"\n"), *end;
    size_t length = strcspn(line, "\n");
    if (*open != '"' || *(end = open + 1 + strcspn(open + 1, "\"\n")) != '"')
        return fail_at(reader, "write @include \"file\"", line, length);
    const char *own = reader->text->file[reader->file], *slash = strrchr(own, '/');
    char path[PATH_MAX];
    int folder = open[1] == '/' || slash == NULL ? 0 : (int)(slash - own + 1);
    snprintf(path, sizeof path, "%.*s%.*s", folder, own, (int)(end - open - 1), open + 1);
    int depth;
    if (includes_itself(reader->text, reader, path, &depth))
        return fail_at(reader, "the file includes itself, directly or through others", line, length);
    if (depth >= MOST_DEPTH) return fail_at(reader, "includes are nested more than 10 deep", line, length);
    KW_TRY(load_file(reader->text, path, reader));
    reader->at = end + 1;
    return KW_OK;
}

static kw_status put_next(kw_reader *reader, bool *line_start)
{
    const char *s = reader->at;
    bool start = *line_start;
    *line_start = start && (*s == ' ' || *s == '\t' || (s[0] == '/' && s[1] == '*'));
    if (*s == '\n') {
        KW_TRY(put_newline(reader));
        reader->at++;
        reader->line++;
        *line_start = true;
        return KW_OK;
    }
    if (start && strncmp(s, "@include", 8) == 0 && !reader->string) return put_include(reader);
    if (*s == '@') return fail_at(reader, "@ begins only an @include, at the start of a line", s, strcspn(s, "\r\n"));
    if (*s == '#' || (s[0] == '/' && s[1] == '/')) {
        reader->at += strcspn(s, "\n");
        return KW_OK;
    }
    if (s[0] == '/' && s[1] == '*') return skip_block_comment(reader);
    if (*s == '"') return put_string(reader);
    if (isalpha((unsigned char)*s) || *s == '_' || *s == '*') return put_through(reader, s + name_length(s));
    const char *digits = s + (*s == '+' || *s == '-');
    if (isdigit((unsigned char)digits[0]) || (digits[0] == '.' && isdigit((unsigned char)digits[1])))
        return put_number(reader);
    reader->at++;
    return put(reader, *s == '[' ? "(" : *s == ']' ? ")" : *s == '\r' ? " " : s, 1);
}

/* Bytes of the UTF-8 character at s; 0 if it is none. */
static int utf8_length(const unsigned char *s)
{
    int length = s[0] < 0x80 ? 1 : s[0] >= 0xC2 && s[0] < 0xE0 ? 2 : s[0] >= 0xE0 && s[0] < 0xF0 ? 3 : 0;
    if (s[0] >= 0xF0 && s[0] < 0xF5) length = 4;
    for (int i = 1; i < length; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    return length;
}

static kw_status check_utf8(const kw_reader *reader)
{
    int line = reader->line;
    for (const char *s = reader->at; *s != '\0';) {
        int length = utf8_length((const unsigned char *)s);
        if (length == 0)
            return kw_fail(KW_ERR_SCENE, "%s:%d: the byte 0x%02x is not UTF-8; save the text as UTF-8",
                           reader->text->file[reader->file], line, (unsigned)(unsigned char)*s);
        line += *s == '\n';
        s += length;
    }
    return KW_OK;
}

static kw_status put_all(kw_reader *reader)
{
    bool line_start = true;
    KW_TRY(check_utf8(reader));
    while (*reader->at != '\0') KW_TRY(put_next(reader, &line_start));
    return put_newline(reader);
}

static kw_status add_file(kw_text *text, const char *name)
{
    char **file = realloc(text->file, (size_t)(text->file_count + 1) * sizeof *file);
    if (file == NULL) return no_memory();
    text->file = file;
    if ((file[text->file_count] = strdup(name)) == NULL) return no_memory();
    text->file_count++;
    return KW_OK;
}

static kw_status load_file(kw_text *text, const char *path, const kw_reader *parent)
{
    char from[PATH_MAX + 32] = "", *data = NULL;
    if (parent != NULL) snprintf(from, sizeof from, "%s:%d: @include: ", text->file[parent->file], parent->line);
    KW_TRY(read_whole(path, from, &data));
    kw_status status = add_file(text, path);
    if (status == KW_OK) {
        bool mark = strncmp(data, "\xEF\xBB\xBF", 3) == 0; /* byte-order mark */
        kw_reader reader = {text, data + (mark ? 3 : 0), text->file_count - 1, 1, parent, false};
        status = put_all(&reader);
    }
    free(data);
    return status;
}

kw_status kw_text_load(const char *path, kw_text *text)
{
    *text = (kw_text){0};
    kw_status status = load_file(text, path, NULL);
    if (status != KW_OK) kw_text_free(text);
    return status;
}

kw_status kw_text_from_string(const char *string, const char *name, kw_text *text)
{
    *text = (kw_text){0};
    kw_status status = add_file(text, name);
    kw_reader reader = {text, string, 0, 1, NULL, true};
    if (status == KW_OK) status = put_all(&reader);
    if (status != KW_OK) kw_text_free(text);
    return status;
}

const char *kw_text_origin(const kw_text *text, int line, int *origin_line)
{
    if (line < 1) line = 1;
    if (line > text->line_count) line = text->line_count;
    *origin_line = text->line[line - 1].line;
    return text->file[text->line[line - 1].file];
}

void kw_text_free(kw_text *text)
{
    for (int i = 0; i < text->file_count; i++) free(text->file[i]);
    free(text->file);
    free(text->line);
    free(text->data);
    *text = (kw_text){0};
}
