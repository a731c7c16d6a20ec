/* Parallel loops, and the threads that they share: made when they are first needed, and between two loops
   waiting, first by looking for work for a moment, while others may have the core, then asleep.

   A loop of many iterations is cut into one part a thread, and each part into a few chunks.  A thread takes the
   chunks of its own part first, so that the same data come back to the same core from loop to loop, and then
   what is left of the others': a thread that wakes up late, or has its core taken away, holds nobody up.  A loop
   inside of another, or beside that of another thread of Python, runs where it is.

   Bounds of chunks never change what is computed.  If iterations fail, the first one's failure is the loop's. */

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "inlined.h"

enum {
    SPINS = 10000, /* looks for work before a thread sleeps: about 0.5 ms, what a virtual machine may take to wake a
                      core that sleeps, and longer than what programs do on one thread between two loops */
    SPINS_PER_YIELD = 64, /* looks after which whoever waits for the core gets it: about 3 us */
    WORKER_STACK_BYTES = 1 << 23,
    CHUNKS_PER_PART = 4,
    CHUNKS_PER_POLL = 1000, /* that a thread runs by itself before it looks whether it should stop */
    LANE_CONTEXT_BYTES = (offsetof(struct context, free_objects) + 63) / 64 * 64, /* bodies allocate nothing */
};
#define NEVER INT64_MAX

struct part {
    LINE _Atomic(int64_t) next; /* iteration that nobody has taken */
    int64_t end;
    int64_t failed_at, site; /* where the thread of this part has failed first */
};

/* The gate of a loop: how many workers are inside, whether it is closed, whether who closed it sleeps. */
#define GATE_COUNT (((int64_t)1 << 32) - 1)
#define GATE_CLOSED ((int64_t)1 << 32)
#define GATE_ASLEEP ((int64_t)1 << 33)

static LINE _Atomic(int32_t) busy; /* whether there is a loop */
static LINE _Atomic(int64_t) generation;
static LINE _Atomic(int64_t) sleepers;
static LINE _Atomic(int64_t) gate = GATE_CLOSED;
static LINE int64_t failed_at; /* the first iteration known to have failed; atomic */
static LINE _Atomic(int64_t) workers;
static int64_t default_threads = 1;
static pthread_mutex_t pool_mutex;
static pthread_cond_t work, done;

/* The loop: what is set before the gate opens. */
static struct {
    LINE loop_body *body;
    void *env;
    int64_t chunk, threads;
    struct part parts[THREADS_MAX];
} loop;
static LINE char lane_contexts[THREADS_MAX][LANE_CONTEXT_BYTES];

static void pause_briefly(int64_t spins)
{
    if (spins % SPINS_PER_YIELD == SPINS_PER_YIELD - 1)
        sched_yield();
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __builtin_arm_yield();
#endif
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static void reset_thread_pool(void)
{
    busy = 0;
    gate = GATE_CLOSED;
    sleepers = 0;
    workers = 0;
    pthread_mutex_init(&pool_mutex, NULL);
    pthread_cond_init(&work, NULL);
    pthread_cond_init(&done, NULL);
}

/* How many threads there are beside those of Python. */
int64_t relay_workers(void) { return workers; }

/* The lanes of a loop whose program asks for some; 0 leaves it to the process. */
int64_t relay_threads(int64_t asked) { return asked ? asked : default_threads; }

/* A thread that runs a function; signals are for others.  Not 0 if there can be none. */
static __attribute__((noinline)) int spawn(void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t id;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, WORKER_STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&id, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

static void note_failure(struct part *part, int64_t at, int64_t site)
{
    part->failed_at = at;
    part->site = site;
    __atomic_fetch_min(&failed_at, at, __ATOMIC_RELAXED);
}

/* Why a call should stop that has been poked; 0 if it goes on. */
static int64_t stop_reason(struct context *ctx)
{
    if (__atomic_load_n(&ctx->limit, __ATOMIC_RELAXED) != POKED)
        return 0;
    return relay_outside(ctx, relay_poll);
}

/* Take chunks of the loop and run them, until there are none. */
static void run_chunks(int64_t lane, struct context *caller)
{
    struct context *ctx = (struct context *)lane_contexts[lane];
    struct part *own = &loop.parts[lane];
    int64_t threads = loop.threads, chunk = loop.chunk;
    for (int64_t k = 0; k < threads; k++) {
        struct part *part = &loop.parts[lane + k < threads ? lane + k : lane + k - threads];
        while (atomic_load_explicit(&part->next, memory_order_relaxed) < part->end) {
            int64_t begin = atomic_fetch_add_explicit(&part->next, chunk, memory_order_relaxed);
            if (begin >= part->end || begin > __atomic_load_n(&failed_at, __ATOMIC_RELAXED))
                break;
            int64_t end = smaller(begin + chunk, part->end), reason;
            if (relay_try(ctx, loop.body, loop.env, begin, end, lane)) {
                if (begin < own->failed_at)
                    note_failure(own, begin, ctx->site);
            } else if ((reason = stop_reason(caller)))
                note_failure(own, -1, reason);
        }
    }
}

static void *run_worker(void *argument)
{
    int64_t lane = (intptr_t)argument, known = 0;
    for (;;) {
        int64_t spins = 0;
        while (atomic_load_explicit(&generation, memory_order_acquire) == known && spins++ < SPINS)
            pause_briefly(spins);
        if (spins > SPINS) {
            sleepers++;
            pthread_mutex_lock(&pool_mutex);
            while (generation == known)
                pthread_cond_wait(&work, &pool_mutex);
            pthread_mutex_unlock(&pool_mutex);
            sleepers--;
        }
        known = generation;
        if (!(atomic_fetch_add(&gate, 1) & GATE_CLOSED) && lane < loop.threads) {
            struct context *ctx = (struct context *)lane_contexts[lane];
            run_chunks(lane, ctx);
        }
        if (atomic_fetch_sub(&gate, 1) == (GATE_CLOSED | GATE_ASLEEP) + 1) {
            pthread_mutex_lock(&pool_mutex);
            pthread_cond_signal(&done);
            pthread_mutex_unlock(&pool_mutex);
        }
    }
}

static void open_gate(void)
{
    atomic_fetch_and(&gate, GATE_COUNT);
    generation++;
    if (sleepers > 0) {
        pthread_mutex_lock(&pool_mutex);
        pthread_cond_broadcast(&work);
        pthread_mutex_unlock(&pool_mutex);
    }
}

/* Close the gate and wait until nobody is inside. */
static void close_gate(void)
{
    atomic_fetch_or(&gate, GATE_CLOSED);
    for (int64_t spins = 0; spins < SPINS; spins++) {
        if (!(atomic_load_explicit(&gate, memory_order_acquire) & GATE_COUNT))
            return;
        pause_briefly(spins);
    }
    atomic_fetch_or(&gate, GATE_ASLEEP);
    pthread_mutex_lock(&pool_mutex);
    while (gate & GATE_COUNT)
        pthread_cond_wait(&done, &pool_mutex);
    pthread_mutex_unlock(&pool_mutex);
}

static void run_alone(struct context *ctx, loop_body *body, void *env, int64_t count, int64_t slice)
{
    for (int64_t begin = 0, end; ; begin = end) {
        int64_t reason;
        end = smaller(begin + slice, count);
        body(ctx, env, begin, end, 0);
        if (end >= count)
            return;
        if ((reason = stop_reason(ctx)))
            fail(ctx, reason);
    }
}

/* Make workers until there are so many, if the system lets us. */
static __attribute__((noinline)) void hire(int64_t wanted)
{
    while (workers < wanted && !spawn(run_worker, (void *)(workers + 1)))
        workers++;
}

/* body(ctx, env, begin, end, lane) on ranges of at least `grain` that make up the one from 0 to `count`; with a
   grain of 0 there is one range for each thread. */
void relay_parallel(struct context *ctx, loop_body *body, void *env, int64_t count, int64_t grain, int64_t asked)
{
    int64_t least = larger(grain, 1), wanted = smaller(relay_threads(asked), count / least);
    int32_t is_free = 0;
    if (wanted < 2 || !atomic_compare_exchange_strong(&busy, &is_free, 1)) {
        run_alone(ctx, body, env, count, CHUNKS_PER_POLL * least);
        return;
    }
    if (workers < wanted - 1)
        hire(wanted - 1);
    int64_t threads = smaller(workers + 1, wanted), share = count / threads, longer = count % threads, end = 0;
    loop.threads = threads;
    loop.body = body;
    loop.env = env;
    loop.chunk = larger((grain ? share / CHUNKS_PER_PART : share) + 1, least);
    __atomic_store_n(&failed_at, NEVER, __ATOMIC_RELAXED);
    for (int64_t i = 0; i < threads; i++) {
        struct part *part = &loop.parts[i];
        atomic_store_explicit(&part->next, end, memory_order_relaxed);
        end += share + (i < longer);
        part->end = end;
        part->failed_at = NEVER;
    }
    open_gate();
    run_chunks(0, ctx);
    close_gate();
    int64_t first = NEVER, site = 0;
    for (int64_t i = 0; i < threads; i++)
        if (loop.parts[i].failed_at < first) {
            first = loop.parts[i].failed_at;
            site = loop.parts[i].site;
        }
    atomic_store_explicit(&busy, 0, memory_order_release);
    if (first != NEVER)
        fail(ctx, site);
}
