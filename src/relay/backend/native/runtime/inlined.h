/* What each module of a compiled program has a copy of, for LLVM to work on: counting references, and the usual
   ways to make and free objects.  Here these functions are `static`; `inlined.c` makes LLVM IR of them. */

#pragma once

#include "runtime.h"

#ifndef LINKAGE
#define LINKAGE static inline
#endif
/* Compiled code calls them `relay.retain` and so on. */
#define INLINED(result, name, ...) \
    LINKAGE result name(__VA_ARGS__) __asm__("relay." #name); \
    __attribute__((always_inline)) LINKAGE result name(__VA_ARGS__)

#if defined(__x86_64__)
register uintptr_t stack_pointer __asm__("rsp");
#elif defined(__aarch64__)
register uintptr_t stack_pointer __asm__("sp");
#endif

INLINED(_Noreturn void, fail, struct context *ctx, int64_t site) { relay_fail_at(ctx, site); }

/* At the start of what may go on for ever. */
INLINED(void, check, struct context *ctx)
{
    uintptr_t here = stack_pointer; /* read first, so that it is compared with the limit in memory */
#if __has_feature(thread_sanitizer)
    uintptr_t limit = __atomic_load_n(&ctx->limit, __ATOMIC_RELAXED);
#else
    uintptr_t limit = *(volatile uintptr_t *)&ctx->limit; /* LLVM moves other memory past it, unlike an atomic load */
#endif
    if (__builtin_expect(here < limit, 0))
        relay_stopped(ctx);
}

INLINED(void, retain, struct object *p)
{
    if (p->count)
        p->count++;
}

INLINED(void, release, struct context *ctx, struct object *p)
{
    if (p->count == 1)
        relay_dispose(ctx, p);
    else if (p->count)
        p->count--;
}

INLINED(void *, allocate, struct context *ctx, size_t bytes)
{
    if (bytes <= SMALL_BYTES_MAX) {
        struct free_object **list = &ctx->free_objects[bytes / OBJECT_GRAIN_BYTES], *p = *list;
        if (__builtin_expect(p != NULL, 1)) {
            *list = p->next;
            return p;
        }
    }
    return relay_allocate(ctx, bytes);
}

/* A tensor of so many bytes, header included. */
INLINED(void *, allocate_bytes, struct context *ctx, size_t bytes) { return relay_allocate_bytes(ctx, bytes); }

/* Bytes of so many elements; the product never wraps. */
INLINED(size_t, times, size_t bytes, size_t size)
{
    size_t product;
    if (__builtin_mul_overflow(bytes, size, &product) || product > ENDLESS_BYTES)
        return ENDLESS_BYTES;
    return product;
}

/* Make a tensor have its elements, which may be those of a call that was recorded. */
INLINED(void, force, struct context *ctx, struct tensor *p)
{
    if (__builtin_expect(!p->data, 0))
        relay_flush(ctx);
}

/* Free an object that holds no references any more. */
INLINED(void, shell, struct context *ctx, void *object, size_t bytes)
{
    if (bytes <= SMALL_BYTES_MAX) {
        struct free_object **list = &ctx->free_objects[bytes / OBJECT_GRAIN_BYTES], *p = object;
        p->next = *list;
        *list = p;
    } else
        relay_free_large(ctx, object);
}
