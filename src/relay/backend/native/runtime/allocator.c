/* Memory for objects.

   Small ones come from free lists in the context of the call, one a size, and these from chunks.  Large ones are
   blocks of sizes that go up by an eighth or less; a context keeps those that it does not need any more, as long
   as there are not more than twice as many bytes as calls have needed at once, so that a program that runs again
   finds all of its memory where it was.  A block that went out with a result comes back when Python has
   forgotten the array, to any context. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "inlined.h"

enum {
    CHUNK_BYTES = 1 << 20,
    KEPT_BYTES = 64 << 20, /* that a context may keep beyond twice of what it has needed */
    HUGE_BYTES = 4 << 20,  /* blocks from this size on are taken in huge pages; C may refuse parts of these */
    HUGE_PAGE_BYTES = 2 << 20,
    RETURNED_MAX = 16, /* blocks that have come back from Python and wait to be taken again, */
    RETURNED_BYTES_MAX = 256 << 20,
};

struct chunk {
    struct chunk *next;
    char unused[OBJECT_GRAIN_BYTES - 8];
    char memory[];
};

void *PyCapsule_GetPointer(void *capsule, const char *name);

__attribute__((noinline)) _Noreturn void relay_fail_at(struct context *ctx, int64_t site)
{
    ctx->site = site;
    relay_fail(ctx);
}

/* --- blocks that have come back from Python --- */

static pthread_mutex_t returned_mutex;
static struct block *returned[RETURNED_MAX];
static size_t returned_bytes, returned_next;

static void reset_allocator(void) { pthread_mutex_init(&returned_mutex, NULL); }

/* Python has no array any more whose block a program has given away. */
void relay_forget(void *capsule)
{
    struct block *block = PyCapsule_GetPointer(capsule, NULL);
    pthread_mutex_lock(&returned_mutex);
    struct block **place = &returned[returned_next], *oldest = *place;
    returned_next = (returned_next + 1) % RETURNED_MAX;
    size_t bytes = returned_bytes - (oldest ? oldest->bytes : 0);
    int fits = bytes + block->bytes <= RETURNED_BYTES_MAX;
    *place = fits ? block : NULL;
    __atomic_store_n(&returned_bytes, bytes + (fits ? block->bytes : 0), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&returned_mutex);
    free(oldest);
    if (!fits)
        free(block);
}

/* Free the blocks that have come back. */
void relay_free_returned(void)
{
    pthread_mutex_lock(&returned_mutex);
    for (int i = 0; i < RETURNED_MAX; i++) {
        free(returned[i]);
        returned[i] = NULL;
    }
    __atomic_store_n(&returned_bytes, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&returned_mutex);
}

/* A block of so many bytes that has come back, if there is one. */
static struct block *take_returned(size_t bytes)
{
    struct block *found = NULL;
    if (__atomic_load_n(&returned_bytes, __ATOMIC_RELAXED) < bytes)
        return NULL;
    pthread_mutex_lock(&returned_mutex);
    for (int i = 0; i < RETURNED_MAX && !found; i++)
        if (returned[i] && returned[i]->bytes == bytes) {
            found = returned[i];
            returned[i] = NULL;
            __atomic_store_n(&returned_bytes, returned_bytes - bytes, __ATOMIC_RELAXED);
        }
    pthread_mutex_unlock(&returned_mutex);
    return found;
}

/* --- large objects --- */

static struct block *new_block(size_t bytes)
{
    if (bytes < HUGE_BYTES)
        return aligned_alloc(CACHE_LINE_BYTES, bytes);
    void *p = aligned_alloc(HUGE_PAGE_BYTES, (bytes + HUGE_PAGE_BYTES - 1) & -(size_t)HUGE_PAGE_BYTES);
#ifdef MADV_HUGEPAGE
    if (p)
        madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
}

/* Give back what a context keeps. */
static void trim(struct context *ctx)
{
    for (int i = 0; i < SIZE_CLASSES; i++)
        for (struct block *block; (block = ctx->free_blocks[i]);) {
            ctx->free_blocks[i] = block->next;
            free(block);
        }
    ctx->idle_bytes = 0;
}

/* A block of a size for which the context has no free one. */
static __attribute__((noinline)) struct block *more_memory(struct context *ctx, size_t bytes)
{
    struct block *block = take_returned(bytes);
    if (block)
        return block;
    if (ctx->idle_bytes + ctx->large_bytes + bytes > 2 * ctx->peak_bytes + KEPT_BYTES)
        trim(ctx);
    if ((block = new_block(bytes)))
        return block;
    trim(ctx);
    if ((block = new_block(bytes)))
        return block;
    fail(ctx, OUT_OF_MEMORY);
}

/* There are more bytes of large objects than ever before. */
static __attribute__((noinline)) void note_peak(const struct context *ctx, struct watch *watch)
{
    watch->running_then = watch->running;
    watch->count = 0;
    for (const struct block *block = ctx->large; block; block = block->next) {
        if (watch->count < WATCHED_MAX) {
            watch->objects[watch->count].bytes = block->bytes;
            watch->objects[watch->count].group = block->group;
        }
        watch->count++;
    }
}

static __attribute__((noinline)) void *allocate_large(struct context *ctx, size_t object_bytes)
{
    /* The size with its last bits rounded up, so that the first four bits alone are not 0. */
    size_t needed = object_bytes + sizeof(struct block), least = (size_t)2 << FIRST_SIZE_POWER;
    size_t below = (needed < least ? least : needed) - 1;
    int power = 63 - __builtin_clzll(below);
    if (power > LAST_SIZE_POWER)
        fail(ctx, OUT_OF_MEMORY);
    size_t eighths = below >> (power - 3), bytes = (eighths + 1) << (power - 3);
    size_t size_class = 8 * (power - FIRST_SIZE_POWER) + eighths - 8;

    struct block *block = ctx->free_blocks[size_class];
    if (block) {
        ctx->free_blocks[size_class] = block->next;
        ctx->idle_bytes -= bytes;
    } else
        block = more_memory(ctx, bytes);
    block->size_class = size_class;
    block->bytes = bytes;
    block->group = 0;
    block->next = ctx->large;
    block->from = &ctx->large;
    ctx->large = block;
    if (block->next)
        block->next->from = &block->next;
    ctx->large_bytes += bytes;
    if (ctx->peak_bytes < ctx->large_bytes) {
        ctx->peak_bytes = ctx->large_bytes;
        if (ctx->watch)
            note_peak(ctx, ctx->watch);
    }
    return block + 1;
}

/* The block of a large object, which is the context's no more. */
struct block *relay_give_away(struct context *ctx, void *object)
{
    struct block *block = (struct block *)object - 1;
    *block->from = block->next;
    if (block->next)
        block->next->from = block->from;
    ctx->large_bytes -= block->bytes;
    return block;
}

__attribute__((noinline)) void relay_free_large(struct context *ctx, void *object)
{
    struct block *block = relay_give_away(ctx, object), **list = &ctx->free_blocks[block->size_class];
    block->next = *list;
    *list = block;
    ctx->idle_bytes += block->bytes;
}

/* --- all objects --- */

static __attribute__((noinline)) void *allocate_in_new_chunk(struct context *ctx, size_t bytes)
{
    struct chunk *chunk = ctx->spare_chunks;
    if (chunk)
        ctx->spare_chunks = chunk->next;
    else if (!(chunk = malloc(CHUNK_BYTES)))
        fail(ctx, OUT_OF_MEMORY);
    chunk->next = ctx->chunks;
    ctx->chunks = chunk;
    ctx->has_small = 1;
    ctx->bump = chunk->memory + bytes;
    ctx->bump_end = (char *)chunk + CHUNK_BYTES;
    return chunk->memory;
}

/* Where the free lists have nothing. */
__attribute__((noinline)) void *relay_allocate(struct context *ctx, size_t bytes)
{
    if (bytes > SMALL_BYTES_MAX)
        return allocate_large(ctx, bytes);
    char *p = ctx->bump;
    if ((size_t)(ctx->bump_end - p) < bytes)
        return allocate_in_new_chunk(ctx, bytes);
    ctx->bump = p + bytes;
    return p;
}

__attribute__((noinline)) void *relay_allocate_bytes(struct context *ctx, size_t exact)
{
    size_t bytes = (exact + CACHE_LINE_BYTES - 1) & -(size_t)CACHE_LINE_BYTES;
    struct tensor *p = bytes <= SMALL_BYTES_MAX ? allocate(ctx, bytes) : allocate_large(ctx, bytes);
    p->bytes = bytes;
    return p;
}

/* Free all objects of a context. */
void relay_clear(struct context *ctx)
{
    while (ctx->large)
        relay_free_large(ctx, ctx->large + 1);
    for (struct chunk *chunk; (chunk = ctx->chunks);) {
        ctx->chunks = chunk->next;
        chunk->next = ctx->spare_chunks;
        ctx->spare_chunks = chunk;
    }
    ctx->has_small = 0;
    ctx->bump = ctx->bump_end = NULL;
    ctx->last_record = NULL;
    ctx->recorded_bytes = 0;
    memset(ctx->free_objects, 0, sizeof ctx->free_objects);
}

/* Give back all memory of a context, which nobody uses any more. */
void relay_free_memory(struct context *ctx)
{
    relay_clear(ctx);
    trim(ctx);
    for (struct chunk *chunk; (chunk = ctx->spare_chunks);) {
        ctx->spare_chunks = chunk->next;
        free(chunk);
    }
}

/* Free an object that nobody refers to any more, and what only it refers to.

   Freeing goes from child to child without recursion: the word from which an object was reached holds the way
   back, and the count of the parent the number of the next child (Schorr and Waite, 1967).  A list, whose tail
   comes last, needs none: its parts are freed on the way down. */
__attribute__((noinline)) void relay_dispose(struct context *ctx, struct object *object)
{
    const struct layout *layouts = ctx->layouts;
    struct object *parent = NULL;
    uint32_t i = 0; /* the next child */
    for (;;) {
        struct layout layout = layouts[object->layout];
        size_t bytes = layout.bytes ? layout.bytes : ((struct tensor *)object)->bytes;
        while (i < layout.pointers) {
            struct object **at = (struct object **)((char *)object + layout.offsets[i++]), *child = *at;
            if (child->count != 1) {
                if (child->count)
                    child->count--;
                continue;
            }
            if (i < layout.pointers) {
                object->count = i;
                *at = parent;
                parent = object;
            } else
                shell(ctx, object, bytes);
            object = child;
            i = 0;
            goto next_object;
        }
        shell(ctx, object, bytes);
        if (!parent)
            return;
        object = parent;
        i = object->count;
        parent = *(struct object **)((char *)object + layouts[object->layout].offsets[i - 1]);
    next_object:;
    }
}

/* To call, where code is not to grow by what is inlined. */
void relay_retain(struct object *p) { retain(p); }

void relay_release(struct context *ctx, struct object *p) { release(ctx, p); }
