/* What a library has beside the code of its program: tables that `library/tables.py` writes. */

#pragma once

#include "inlined.h"
#include "interface.h"

/* Operations of the sizes that have to be computed: on a stack of numbers, see `size_of`. */
enum {
    SIZE_OF_NUMBER,
    SIZE_OF_SYMBOL,
    SIZE_OF_ADD,
    SIZE_OF_MULTIPLY,
    SIZE_OF_DIVIDE,
    SIZE_OF_MIN,
    SIZE_OF_MAX,
    SIZE_OF_BROADCAST,
    SIZE_OF_END
};

enum { SIZES_DEPTH_MAX = 64 }; /* numbers on that stack */

#define SIZE_UNKNOWN (-1)

/* A size of an input: a number, a symbol, which the first input that has it binds, or operations on these. */
struct dimension {
    int64_t number;       /* SIZE_UNKNOWN if it is none */
    int64_t symbol;       /* likewise */
    const int64_t *code;  /* NULL if there is none */
    const char *text;     /* as the program has it */
};

struct type {
    relay_model_tensor shown;
    const struct dimension *dimensions; /* NULL for outputs */
    int64_t item_bytes;
};

struct entry {
    const char *name;
    void (*start)(struct context *);
    const struct type *inputs, *outputs;
    int64_t input_count, output_count;
    int64_t symbol_count;
};

struct site {
    const char *code, *text;
};

struct program {
    const struct entry *entries;
    const struct site *sites;
    const struct layout *layouts;
    int64_t entry_count, site_count;
    int64_t results, slots; /* leaves of results that come back through the context, and leaves in the box */
    int64_t keeps;          /* whether values stay from one call to the next */
    const char *version;
};

extern const struct program relay_program __attribute__((visibility("hidden")));
