/* What the files of the runtime share: objects, contexts, and the functions that compiled code and Python call.

   `layout.c` says what of this Python relies on; `make runtime` writes that down for it. */

#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OBJECT_GRAIN_BYTES = 16, /* sizes of small objects are multiples of it */
    SMALL_BYTES_MAX = 512,   /* larger objects are blocks of the C library */
    FIRST_SIZE_POWER = 9,    /* sizes of blocks: eight between this power of 2 and the next, and so on */
    LAST_SIZE_POWER = 46,
    SIZE_CLASSES = 8 * (LAST_SIZE_POWER - FIRST_SIZE_POWER + 1),
    THREADS_MAX = 256,
    OUTPUTS_MAX = 64, /* results that a program writes to arrays of its caller */
    CACHE_LINE_BYTES = 64,
    WATCHED_MAX = 1 << 15, /* large objects that a profile knows at its peak */
    STACK_GUARD_BYTES = 1 << 20, /* at the end of a stack, for what does not look how far it has grown */
};

#define ENDLESS_BYTES ((size_t)1 << 62) /* what no machine has: in place of every larger product of sizes */

/* Sites of failures that may be anywhere; others are numbers of places in a program. */
enum { OUT_OF_MEMORY = -1, INTERRUPTED = -2, TOO_DEEP = -3, RAISED = -4 };

/* What each object begins with.  A count of 0 says that it is never freed. */
struct object {
    uint32_t count;
    uint16_t layout;
    uint16_t tag;
};

/* The size of the objects of a layout, 0 for tensors, which know their own, and the offsets of the pointers
   in them to other objects. */
struct layout {
    uint32_t bytes;
    uint32_t pointers;
    const uint32_t *offsets;
};

struct tensor {
    struct object header;
    void *data;
    size_t bytes; /* of the whole object */
    int64_t sizes[];
};

struct free_object {
    struct free_object *next;
};

/* A large object begins behind this, on the next line of the cache. */
struct block {
    struct block *next;
    struct block **from; /* what points to this block */
    size_t size_class;
    size_t bytes;  /* of the whole block */
    int64_t group; /* in a program that is profiled: what it was made for, 0 while nobody has said so */
    char unused[CACHE_LINE_BYTES - 40];
};

/* What a program that is profiled knows of the large objects at its peak; the program writes `running`. */
struct watch {
    int64_t running;      /* the group of operators that is computed now, 0 between two */
    int64_t running_then; /* when there were most bytes of large objects */
    int64_t count;        /* how many objects there were then; the first ones are listed */
    struct {
        int64_t bytes, group;
    } objects[WATCHED_MAX];
};

/* What a call needs to run.  Each field has eight bytes. */
struct context {
    void *saved_stack_pointer; /* of the code that called */
    void *stack;               /* the top of the program's own stack */
    int64_t site;              /* of a failure */
    char *bump, *bump_end;     /* memory for small objects that has not been used yet */
    struct chunk *chunks;      /* where that memory came from */
    void *box;                 /* arguments and results */
    struct chunk *spare_chunks;
    struct context *next;       /* in the list of free contexts */
    uintptr_t limit;            /* how far the stack may grow: read and written atomically */
    void *python_thread;        /* the state of Python's thread while others may run */
    struct block *large;        /* the large objects that there are */
    int64_t has_small;          /* whether there are small ones */
    uintptr_t bottom;           /* how far the stack may grow at all, */
    struct context *outer;      /* the call of the main thread that goes on after this one */
    int64_t threads;            /* of parallel loops, 0 for the default of the process */
    const struct layout *layouts;
    struct context **home; /* the list of free contexts */
    size_t large_bytes, idle_bytes, peak_bytes; /* of large objects, of free blocks, and the most of the former */
    void *callback;     /* arguments of a call of a function of Python, then its result */
    uintptr_t shallow;  /* how far the stack may grow before `is_deep` is set */
    int64_t is_deep;
    int64_t turn; /* whether the last weight that no cache holds was read from its end */
    struct record *last_record; /* of the calls that are to be made together, */
    size_t recorded_bytes;      /* and the bytes of their results */
    struct watch *watch; /* is told of each new peak, where there is one */
    struct free_object *free_objects[SMALL_BYTES_MAX / OBJECT_GRAIN_BYTES + 1];
    struct block *free_blocks[SIZE_CLASSES];
    struct object *outputs[OUTPUTS_MAX]; /* arrays of the caller's for results, NULL once they are taken */
    int64_t results[];                   /* of a function, from the third leaf on */
};

_Static_assert(offsetof(struct context, saved_stack_pointer) == 0 && offsetof(struct context, stack) == 8, "entry");

#define POKED UINTPTR_MAX /* a limit that every stack pointer is beyond: makes a call look up */

/* A range of iterations of a parallel loop. */
typedef void loop_body(struct context *ctx, void *env, int64_t begin, int64_t end, int64_t lane);

/* In assembly (`entry_*.s`).  `relay_enter` calls `start()` on the stack of the context, `relay_try` calls
   `body(ctx, env, begin, end, lane)` on the one it is on; both return 0.  `relay_fail`, called from within,
   makes them return 1.  `relay_outside` calls a function on the stack that `relay_enter` was called on. */
int32_t relay_enter(struct context *ctx, void (*start)(struct context *));
int32_t relay_try(struct context *ctx, loop_body *body, void *env, int64_t begin, int64_t end, int64_t lane);
_Noreturn void relay_fail(struct context *ctx) __attribute__((nothrow));
int64_t relay_outside(struct context *ctx, int64_t (*function)(struct context *));


#define LINE _Alignas(CACHE_LINE_BYTES)
#define NOTHROW __attribute__((nothrow))

/* allocator.c */
void *relay_allocate(struct context *ctx, size_t bytes) __attribute__((malloc, nothrow));
void *relay_allocate_bytes(struct context *ctx, size_t bytes) __attribute__((malloc, nothrow));
void relay_free_large(struct context *ctx, void *object) NOTHROW;
void relay_dispose(struct context *ctx, struct object *object) NOTHROW;
void relay_clear(struct context *ctx);
_Noreturn void relay_fail_at(struct context *ctx, int64_t site) NOTHROW;

/* batches.c */
struct block_code;
struct record *relay_record(struct context *ctx, const struct block_code *code) NOTHROW;
void relay_flush(struct context *ctx) NOTHROW;

/* interrupts.c */
int64_t relay_poll(struct context *ctx);
void relay_stopped(struct context *ctx) __attribute__((preserve_all, cold, nothrow));
