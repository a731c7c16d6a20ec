/* The last error of each thread. */

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

enum { TEXT_BYTES = 2048 };

struct error {
    const char *code;
    char text[TEXT_BYTES];
};

static pthread_key_t error_key;
static const struct error no_error = {"", ""}, no_room = {"out-of-memory", "error[out-of-memory]: out of memory"};

static void free_error(void *error)
{
    if (error != &no_room)
        free(error);
}

/* The error of this thread, to write to; NULL if there is no memory for one. */
static struct error *own_error(void)
{
    struct error *error = pthread_getspecific(error_key);
    if (error && error != &no_room)
        return error;
    error = malloc(sizeof *error);
    if (pthread_setspecific(error_key, error ? error : &no_room)) {
        free(error);
        return NULL;
    }
    return error;
}

__attribute__((format(printf, 3, 4))) static int refuse(int status, const char *code, const char *format, ...)
{
    struct error *error = own_error();
    if (!error)
        return status;
    error->code = code;
    int head = snprintf(error->text, TEXT_BYTES, "error[%s]: ", code);
    va_list values;
    va_start(values, format);
    vsnprintf(error->text + head, TEXT_BYTES - head, format, values);
    va_end(values);
    return status;
}

/* A pointer that is NULL, and must not be. */
#define ABSENT(...) refuse(relay_model_BAD_ARGUMENT, "null-pointer", __VA_ARGS__)

static int out_of_memory(void)
{
    return refuse(relay_model_OUT_OF_MEMORY, no_room.code, "out of memory");
}

/* What the site of a failure means. */
static int failed_at_site(int64_t site)
{
    if (site == OUT_OF_MEMORY)
        return out_of_memory();
    if (site == TOO_DEEP)
        return refuse(relay_model_TOO_DEEP, "recursion-limit", "stack overflow: the recursion is too deep");
    if (site < 1 || site > relay_program.site_count)
        return refuse(relay_model_FAILED, "unknown-site", "the program has failed");
    const struct site *found = &relay_program.sites[site - 1];
    return refuse(relay_model_FAILED, found->code, "%s", found->text);
}
