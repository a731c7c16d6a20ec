/* Ctrl-C in a call that takes long, and stacks that grow too far.

   Compiled code that may go on for ever compares its stack pointer with the context's limit as it goes round.
   While a call of the main thread is under way, another thread sets that limit to the highest address from time to
   time: the call then looks whether Python has something to do for a signal, and goes on. */

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "inlined.h"

enum {
    TICK_NANOSECONDS = 40000000, /* between two looks at a call: it is the second one that interrupts it */
    IDLE_TICKS = 25,             /* without any call after which the thread sleeps until there is one */
};
#define BEING_POKED ((struct context *)1) /* in place of the call under way, while its limit is set */

void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *thread);
int PyErr_CheckSignals(void);

static LINE _Atomic(struct context *) current_call; /* of the main thread */
static _Atomic(int64_t) calls_begun;
static _Atomic(int32_t) is_watcher_asleep;
static int32_t is_watcher_started;
static pthread_t main_thread;
static pthread_mutex_t watcher_mutex;
static pthread_cond_t watcher_wake;

static void reset_interrupts(pthread_t main)
{
    current_call = NULL;
    is_watcher_started = 0;
    is_watcher_asleep = 0;
    main_thread = main;
    pthread_mutex_init(&watcher_mutex, NULL);
    pthread_cond_init(&watcher_wake, NULL);
}

static void set_limit(struct context *ctx, uintptr_t limit)
{
    __atomic_store_n(&ctx->limit, limit, __ATOMIC_RELAXED);
}

static void sleep_until_call(void)
{
    pthread_mutex_lock(&watcher_mutex);
    is_watcher_asleep = 1;
    if (!current_call)
        do
            pthread_cond_wait(&watcher_wake, &watcher_mutex);
        while (is_watcher_asleep);
    is_watcher_asleep = 0;
    pthread_mutex_unlock(&watcher_mutex);
}

static void *run_watcher(void *unused)
{
    (void)unused;
    int64_t known = 0, idle = 0;
    for (;;) {
        nanosleep(&(struct timespec){.tv_nsec = TICK_NANOSECONDS}, NULL);
        struct context *call = current_call;
        int64_t count = calls_begun;
        if (!call) {
            if (++idle > IDLE_TICKS) {
                sleep_until_call();
                idle = 0;
            }
            continue;
        }
        struct context *expected = call;
        if (count == known && atomic_compare_exchange_strong(&current_call, &expected, BEING_POKED)) {
            set_limit(call, POKED);
            current_call = call;
        }
        known = count;
        idle = 0;
    }
}

/* Let other threads of Python run, and note what the main thread does. */
void relay_begin(struct context *ctx)
{
    ctx->python_thread = PyEval_SaveThread();
    if (!pthread_equal(pthread_self(), main_thread))
        return;
    atomic_fetch_add_explicit(&calls_begun, 1, memory_order_relaxed);
    struct context *outer = current_call;
    while (outer == BEING_POKED || !atomic_compare_exchange_strong(&current_call, &outer, ctx)) {
        sched_yield();
        outer = current_call;
    }
    ctx->outer = outer;
    if (!is_watcher_started) {
        is_watcher_started = 1;
        spawn(run_watcher, NULL);
    } else if (is_watcher_asleep) {
        pthread_mutex_lock(&watcher_mutex);
        is_watcher_asleep = 0;
        pthread_cond_signal(&watcher_wake);
        pthread_mutex_unlock(&watcher_mutex);
    }
}

void relay_end(struct context *ctx)
{
    if (pthread_equal(pthread_self(), main_thread)) {
        struct context *call = ctx;
        while (!atomic_compare_exchange_strong(&current_call, &call, ctx->outer)) {
            if (call != BEING_POKED && call != ctx)
                break;
            sched_yield();
            call = ctx;
        }
        set_limit(ctx, ctx->shallow);
    }
    PyEval_RestoreThread(ctx->python_thread);
    ctx->python_thread = NULL;
}

/* Why a call should end, as the site of a failure, or 0: to go on. */
int64_t relay_poll(struct context *ctx)
{
    if (!ctx->python_thread)
        return 0;
    PyEval_RestoreThread(ctx->python_thread);
    int raised = PyErr_CheckSignals();
    ctx->python_thread = PyEval_SaveThread();
    return raised ? INTERRUPTED : 0;
}

/* The stack pointer is beyond the limit: because the stack is full or deep, or to make the call look up. */
__attribute__((noinline, preserve_all)) void relay_stopped(struct context *ctx)
{
    uintptr_t here = stack_pointer;
    int is_deep = here < ctx->shallow;
    set_limit(ctx, is_deep ? ctx->bottom : ctx->shallow);
    ctx->is_deep |= is_deep;
    int64_t reason = here < ctx->bottom ? TOO_DEEP : relay_outside(ctx, relay_poll);
    if (reason)
        fail(ctx, reason);
}
