/* What Python calls beside what compiled code does. */

#include <pthread.h>
#include <sys/mman.h>

#include "inlined.h"

static void reset(pthread_t main)
{
    reset_allocator();
    reset_thread_pool();
    reset_interrupts(main);
}

/* Begin: `main` is the main thread of Python, `threads` how many parallel loops take by default. */
void relay_start(pthread_t main, int64_t threads)
{
    default_threads = threads;
    reset(main);
}

/* Begin anew in a child process, which has no thread but the one that made it. */
void relay_restart(void) { reset(pthread_self()); }

/* Run code in a context; whether it has failed. */
int32_t relay_call(struct context *ctx, void (*start)(struct context *))
{
    relay_begin(ctx);
    int32_t failed = relay_enter(ctx, start);
    relay_end(ctx);
    return failed;
}

/* A context of a list of free ones, or none. */
struct context *relay_take(struct context **home)
{
    struct context *ctx = *home;
    if (ctx)
        *home = ctx->next;
    return ctx;
}

#ifdef __APPLE__
#define NOT_NEEDED MADV_FREE /* there, after MADV_DONTNEED the pages are still the process's */
#else
#define NOT_NEEDED MADV_DONTNEED
#endif

/* Give back what a deep call has used of the stack. */
static __attribute__((noinline, cold)) void shrink_stack(struct context *ctx)
{
    uintptr_t end = ctx->bottom - STACK_GUARD_BYTES;
    ctx->is_deep = 0;
    set_limit(ctx, ctx->shallow);
    madvise((void *)end, ctx->shallow - end, NOT_NEEDED);
}

/* A context is free again; nothing that it has is needed any more if it `is_over`. */
void relay_give(struct context *ctx, int64_t is_over)
{
    if (is_over && (ctx->has_small || ctx->large))
        relay_clear(ctx);
    if (__builtin_expect(ctx->is_deep, 0))
        shrink_stack(ctx);
    ctx->next = *ctx->home;
    *ctx->home = ctx;
}

static void make_object(struct context *ctx, void *to, int64_t bytes, int64_t end, int64_t lane)
{
    (void)end, (void)lane;
    *(void **)to = allocate(ctx, bytes);
}

static void make_tensor(struct context *ctx, void *to, int64_t bytes, int64_t end, int64_t lane)
{
    (void)end, (void)lane;
    *(void **)to = allocate_bytes(ctx, bytes);
}

/* Memory for an object or a tensor, NULL if there is none. */
void *relay_new_object(struct context *ctx, size_t bytes)
{
    void *p = NULL;
    relay_try(ctx, make_object, &p, bytes, 0, 0);
    return p;
}

void *relay_new_tensor(struct context *ctx, size_t bytes)
{
    void *p = NULL;
    relay_try(ctx, make_tensor, &p, bytes, 0, 0);
    return p;
}
