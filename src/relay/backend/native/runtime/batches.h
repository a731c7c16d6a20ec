/* The records of calls that are to be made together (`batches.c`), and what compiled code says of a block. */

#pragma once

#include "runtime.h"

/* Of an operand or result: the bytes of its elements; where in the object the owner of these is said, 0 for a
   number; and the layout of such objects. */
struct slot {
    uint32_t bytes, owner, layout;
};

union value {
    struct tensor *tensor;
    uint64_t bits;
};

struct record {
    const struct block_code *code;
    struct record *before, *after; /* in the order of recording */
    struct record *chain;          /* the record whose result this one adds to */
    uint32_t length;               /* of the chain up to here */
    uint32_t depth;
    uint16_t group;
    uint8_t goes_on, is_chained; /* whether another adds to the result; whether the chain is run as one */
    union value values[];        /* operands, then results */
};

typedef void run_rows(struct context *ctx, struct record **rows, int64_t count);

/* A block as compiled code describes it; its first `shared` operands are the same for all rows of a launch. */
struct block_code {
    run_rows *run, *sum; /* calls of many records; chains, or NULL */
    int64_t shared, operands, results;
    int64_t *counts; /* how many calls there were, and how many launches they became */
    struct slot slots[];
};
