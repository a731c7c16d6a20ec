/* The native runtime under load, for sanitizers: `tests/backend/test_native_runtime.py` compiles it. */

#include "runtime.c"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#if __has_feature(address_sanitizer)
void __asan_unpoison_memory_region(const volatile void *at, size_t bytes);
#else
#define __asan_unpoison_memory_region(at, bytes)
#endif

#define CHECK(condition) \
    do \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    while (0)
enum { STACK_BYTES = STACK_GUARD_BYTES + (1 << 18), ROUNDS = 60, CALLERS = 4, ITERATIONS = 3000, OBJECTS = 300 };

/* --- what the runtime needs of Python --- */

static pthread_mutex_t interpreter_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(int) signals;

void *PyEval_SaveThread(void)
{
    pthread_mutex_unlock(&interpreter_lock);
    return &interpreter_lock;
}

void PyEval_RestoreThread(void *thread) { pthread_mutex_lock(thread); }

int PyErr_CheckSignals(void) { return signals ? -1 : 0; }

void *PyCapsule_GetPointer(void *capsule, const char *name) { return name ? NULL : capsule; }

/* --- contexts --- */

static const uint32_t first_offset[] = {8}, both_offsets[] = {8, 16}, row_owner[] = {32}, part_owner[] = {40};
enum { TENSOR, CONS, PAIR, ROW, PART }; /* `next` alone, `left` and `right`; a row of a tensor, several rows */
static const struct layout layouts[] = {
    {0, 0, NULL}, {16, 1, first_offset}, {32, 2, both_offsets}, {0, 1, row_owner}, {0, 1, part_owner}};

struct node {
    struct object header;
    void *left, *right;
};

static struct context *new_context(struct context **home)
{
    struct context *ctx = calloc(1, sizeof *ctx + sizeof *ctx->results);
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(ctx && stack != MAP_FAILED);
    ctx->stack = stack + STACK_BYTES - 64;
    ctx->bottom = (uintptr_t)stack + STACK_GUARD_BYTES;
    ctx->shallow = ctx->limit = ctx->bottom + (STACK_BYTES - STACK_GUARD_BYTES) / 2;
    ctx->layouts = layouts;
    ctx->home = home;
    return ctx;
}

static void free_context(struct context *ctx)
{
    relay_free_memory(ctx);
    munmap((char *)ctx->stack + 64 - STACK_BYTES, STACK_BYTES);
    free(ctx);
}

/* Whether a call fails, and at which site. */
static int64_t call(struct context *ctx, void (*start)(struct context *))
{
    int32_t failed = relay_call(ctx, start);
    __asan_unpoison_memory_region((char *)ctx->stack + 64 - STACK_BYTES, STACK_BYTES);
    return failed ? ctx->site : 0;
}

/* --- objects --- */

static uint32_t random_below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)*state * n) >> 32);
}

static struct node *new_node(struct context *ctx, int layout, void *left, void *right)
{
    struct node *p = allocate(ctx, layouts[layout].bytes);
    p->header = (struct object){1, layout, 0};
    p->left = left;
    if (layout == PAIR)
        p->right = right;
    return p;
}

static struct tensor *new_tensor(struct context *ctx, size_t bytes)
{
    struct tensor *p = allocate_bytes(ctx, sizeof *p + bytes);
    p->header = (struct object){1, TENSOR, 0};
    memset(p + 1, 0x5a, bytes);
    return p;
}

/* Makes, shares and drops tensors, pairs and lists at random. */
static void shuffle_objects(struct context *ctx)
{
    uint32_t state = 1;
    static struct object immortal = {0, TENSOR, 0};
    void *held[OBJECTS] = {0};
    for (int step = 0; step < 10 * OBJECTS; step++) {
        void **place = &held[random_below(&state, OBJECTS)], *other = held[random_below(&state, OBJECTS)];
        if (!other)
            other = &immortal;
        switch (random_below(&state, 4)) {
        case 0:
            if (*place)
                release(ctx, *place);
            *place = new_tensor(ctx, (size_t)random_below(&state, 4000) << random_below(&state, 6));
            break;
        case 1:
            retain(other);
            *place = *place ? new_node(ctx, PAIR, *place, other) : NULL;
            if (!*place)
                release(ctx, other);
            break;
        case 2:
            *place = *place ? new_node(ctx, CONS, *place, NULL) : NULL;
            break;
        case 3:
            if (*place)
                release(ctx, *place);
            *place = NULL;
        }
    }
    for (int i = 0; i < OBJECTS; i++)
        if (held[i])
            release(ctx, held[i]);
    CHECK(!ctx->large && !ctx->large_bytes);
}

static void test_objects(void)
{
    struct context *ctx = new_context(NULL);
    shuffle_objects(ctx);
    void *list = new_tensor(ctx, 10), *left = NULL;
    for (int i = 0; i < 1000000; i++)
        list = new_node(ctx, CONS, list, NULL);
    left = list;
    for (int i = 0; i < 1000000; i++)
        left = new_node(ctx, PAIR, left, new_tensor(ctx, 100));
    relay_release(ctx, left);
    CHECK(!relay_new_tensor(ctx, ENDLESS_BYTES) && ctx->site == OUT_OF_MEMORY);
    CHECK(times(1 << 20, 1 << 20) == (size_t)1 << 40 && times(SIZE_MAX, 3) == ENDLESS_BYTES);
    new_tensor(ctx, 1 << 20);
    free_context(ctx);
}

static void *exchange_blocks(void *argument)
{
    struct context *ctx = new_context(NULL);
    for (int i = 0; i < ROUNDS; i++)
        for (int size = 12; size < 24; size++)
            relay_forget(relay_give_away(ctx, new_tensor(ctx, (size_t)1 << size)));
    free_context(ctx);
    return argument;
}

/* --- recorded calls --- */

enum { ELEMENTS = 3, ROW_BYTES = 8 * ELEMENTS };

static uint64_t head_of(int layout)
{
    struct object head = {1, layout, 0};
    uint64_t word;
    memcpy(&word, &head, sizeof word);
    return word;
}

/* `a + 2 * b + n` of each record, for a number n. */
static void run_rows_of(struct context *ctx, struct record **rows, int64_t count)
{
    struct tensor *a = relay_stack(ctx, rows, count, 0, 2, head_of(TENSOR), head_of(PART));
    struct tensor *b = relay_stack(ctx, rows, count, 1, 2, head_of(TENSOR), head_of(PART));
    struct tensor *n = relay_stack(ctx, rows, count, 2, 1, head_of(TENSOR), head_of(PART));
    struct tensor *out = new_tensor(ctx, count * ROW_BYTES + 64);
    uint64_t *to = out->data = (char *)out + 64, *xs = a->data, *ys = b->data, *numbers = n->data;
    for (int64_t i = 0; i < ELEMENTS * count; i++)
        to[i] = xs[i] + 2 * ys[i] + numbers[i / ELEMENTS];
    relay_unstack(rows, count, 3, out);
    release(ctx, &out->header);
    release(ctx, &a->header);
    release(ctx, &b->header);
    release(ctx, &n->header);
}

/* The first operand of the first record, and what all of a chain add to it. */
static void run_sum(struct context *ctx, struct record **rows, int64_t count)
{
    struct tensor *out = new_tensor(ctx, ROW_BYTES + 64);
    uint64_t *to = out->data = (char *)out + 64;
    memcpy(to, rows[0]->values[0].tensor->data, ROW_BYTES);
    struct tensor *b = relay_stack(ctx, rows, count, 1, 2, head_of(TENSOR), head_of(PART));
    for (int64_t i = 0; i < ELEMENTS * count; i++)
        to[i % ELEMENTS] += 2 * ((uint64_t *)b->data)[i] + rows[i / ELEMENTS]->values[2].bits;
    relay_unstack(rows + count - 1, 1, 3, out);
    release(ctx, &out->header);
    release(ctx, &b->header);
}

static int64_t block_counts[2];
static const struct block_code block = {
    run_rows_of, run_sum, 0, 3, 1, block_counts,
    {{ROW_BYTES, 32, ROW}, {ROW_BYTES, 32, ROW}, {8, 0, 0}, {ROW_BYTES, 32, ROW}}};

static struct tensor *record_row(struct context *ctx, struct tensor *a, struct tensor *b, uint64_t n)
{
    struct tensor *made = allocate(ctx, 48);
    struct record *r = relay_record(ctx, &block);
    retain(&a->header);
    retain(&b->header);
    made->header = (struct object){2, ROW, 0};
    made->data = NULL;
    made->bytes = 48;
    *(struct record **)((char *)made + 32) = r;
    r->values[0].tensor = a;
    r->values[1].tensor = b;
    r->values[2].bits = n;
    r->values[3].tensor = made;
    return made;
}

/* Records calls on what others give, adds up long sums, drops and reads at random. */
static void record_calls(struct context *ctx)
{
    enum { HELD = 40 };
    struct tensor *held[HELD] = {0};
    uint64_t wanted[HELD];
    uint32_t state = 7;
    for (int step = 0; step < 100 * HELD; step++) {
        uint32_t at = random_below(&state, HELD), a = random_below(&state, HELD), b = random_below(&state, HELD);
        int32_t length = random_below(&state, 3) ? 1 : random_below(&state, 3 * CHAIN_MIN);
        if (!held[a] || !held[b]) {
            if (held[at])
                release(ctx, &held[at]->header);
            held[at] = new_tensor(ctx, 64 + ROW_BYTES);
            held[at]->data = (char *)held[at] + 64;
            for (int i = 0; i < ELEMENTS; i++)
                ((uint64_t *)held[at]->data)[i] = step;
            wanted[at] = step;
            continue;
        }
        struct tensor *made = held[a];
        uint64_t value = wanted[a];
        retain(&made->header);
        for (int32_t i = 0; i < length; i++) {
            struct tensor *next = record_row(ctx, made, held[b], i);
            release(ctx, &made->header);
            made = next;
            value += 2 * wanted[b] + i;
        }
        if (random_below(&state, 9) == 0) {
            force(ctx, made);
            for (int i = 0; i < ELEMENTS; i++)
                CHECK(((uint64_t *)made->data)[i] == value);
        }
        if (held[at])
            release(ctx, &held[at]->header);
        held[at] = made;
        wanted[at] = value;
        if (random_below(&state, 5) == 0) {
            release(ctx, &held[at]->header);
            held[at] = NULL;
        }
    }
    relay_flush(ctx);
    for (int i = 0; i < HELD; i++)
        if (held[i]) {
            CHECK(*(uint64_t *)held[i]->data == wanted[i]);
            release(ctx, &held[i]->header);
        }
    CHECK(block_counts[1] < block_counts[0] / 2);
}

static void test_records(void)
{
    struct context *ctx = new_context(NULL);
    ctx->limit = 0;
    record_calls(ctx);
    CHECK(!ctx->large && !ctx->last_record);
    free_context(ctx);
}

/* --- parallel loops --- */

struct loop_test {
    int32_t counts[ITERATIONS];
    int64_t failing; /* from this iteration on */
};

static void count(struct context *ctx, void *env, int64_t begin, int64_t end, int64_t lane)
{
    struct loop_test *test = env;
    CHECK(0 <= lane && lane < CALLERS);
    for (int64_t i = begin; i < end; i++) {
        test->counts[i]++;
        if (i >= test->failing)
            fail(ctx, i + 1);
    }
}

static void nested(struct context *ctx, void *env, int64_t begin, int64_t end, int64_t lane)
{
    (void)lane;
    for (int64_t i = begin; i < end; i++)
        relay_parallel(ctx, count, (struct loop_test *)env + i, ITERATIONS, 1, CALLERS);
}

static void run_nested(struct context *ctx, void *env, int64_t n, int64_t grain, int64_t threads)
{
    relay_parallel(ctx, nested, env, n, grain, threads);
}

static void run_loop(struct context *ctx, void *env, int64_t n, int64_t grain, int64_t threads)
{
    relay_parallel(ctx, count, env, n, grain, threads);
}

static void *run_loops(void *argument)
{
    struct context *ctx = new_context(NULL);
    struct loop_test *tests = calloc(2, sizeof *tests);
    for (int round = 0; round < ROUNDS; round++) {
        memset(tests, 0, 2 * sizeof *tests);
        tests[0].failing = tests[1].failing = round % 3 ? ITERATIONS : 7 * round;
        if (round % 2)
            CHECK(relay_try(ctx, run_nested, tests, 2, 1, CALLERS) == (round % 3 == 0));
        else
            CHECK(relay_try(ctx, run_loop, tests, ITERATIONS, round % 50, CALLERS) == (round % 3 == 0));
        CHECK(round % 3 || ctx->site == tests->failing + 1);
        for (int64_t i = 0; i < (1 + round % 2) * tests->failing && round % 3; i++)
            CHECK(tests[i / ITERATIONS].counts[i % ITERATIONS] == 1);
        if (round % 20 == 0)
            usleep(3000); /* workers fall asleep */
    }
    free(tests);
    free_context(ctx);
    return argument;
}

static void run_threads(void *(*function)(void *), int n)
{
    pthread_t threads[CALLERS];
    for (int i = 0; i < n; i++)
        CHECK(!pthread_create(&threads[i], NULL, function, NULL));
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

/* --- calls of Python --- */

static struct context *home;

static void spin(struct context *ctx)
{
    for (;;)
        check(ctx);
}

static void spin_in_loop(struct context *ctx)
{
    struct loop_test *test = allocate(ctx, sizeof *test);
    test->failing = ITERATIONS;
    for (;;)
        relay_parallel(ctx, count, test, ITERATIONS, 1, 2);
}

static __attribute__((noinline)) int64_t deeper(struct context *ctx, volatile int64_t *depth)
{
    volatile int64_t next = *depth + 1; /* in memory, so that no loop becomes of the recursion */
    check(ctx);
    return next < 0 ? 0 : deeper(ctx, &next) + next;
}

static void recurse(struct context *ctx)
{
    volatile int64_t depth = 0;
    ctx->results[0] = deeper(ctx, &depth);
}

static void *ring(void *argument)
{
    usleep(100000);
    signals = 1;
    return argument;
}

static void *make_calls(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&interpreter_lock);
        struct context *ctx = relay_take(&home);
        if (!ctx)
            ctx = new_context(&home);
        CHECK(!call(ctx, shuffle_objects) && call(ctx, recurse) == TOO_DEEP);
        relay_give(ctx, 1);
        CHECK(!ctx->is_deep && ctx->limit == ctx->shallow);
        pthread_mutex_unlock(&interpreter_lock);
        i += 20;
    }
    return argument;
}

static void interrupt(struct context *ctx, void (*start)(struct context *))
{
    pthread_t ringer;
    CHECK(!pthread_create(&ringer, NULL, ring, NULL));
    CHECK(call(ctx, start) == INTERRUPTED);
    pthread_join(ringer, NULL);
    signals = 0;
}

int main(void)
{
    relay_start(pthread_self(), 2);
    test_objects();
    test_records();
    run_threads(exchange_blocks, CALLERS);
    run_threads(run_loops, CALLERS);
    run_threads(run_loops, 1);
    CHECK(relay_workers() >= 1 && relay_workers() < CALLERS);
    run_threads(make_calls, CALLERS);

    struct context *ctx = new_context(NULL);
    pthread_mutex_lock(&interpreter_lock);
    interrupt(ctx, spin);
    usleep(1200000); /* the watcher falls asleep */
    interrupt(ctx, spin_in_loop);
    pthread_mutex_unlock(&interpreter_lock);

    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        relay_restart();
        CHECK(relay_workers() == 0);
        run_loops(NULL);
        CHECK(relay_workers() == CALLERS - 1);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    free_context(ctx);
    while ((ctx = relay_take(&home)))
        free_context(ctx);
    for (int i = 0; i < RETURNED_MAX; i++)
        free(returned[i]);
    puts("ok");
    return 0;
}
