/* Contexts of calls, one for each call that is under way at once, and what a library needs to begin. */

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "library.h"

#define STACK_BYTES ((size_t)4 << 30) /* address space of a stack; memory is taken as far as it is used */
#define SMALLEST_STACK_BYTES ((size_t)16 << 20)
#define SHALLOW_BYTES ((size_t)64 << 20) /* of a stack, which stay when a call ends */

void relay_start(pthread_t main, int64_t threads);
void relay_restart(void);
void relay_give(struct context *ctx, int64_t is_over);
void relay_free_memory(struct context *ctx);
void relay_free_returned(void);

/* What the runtime asks of Python: here there is none, and the capsule of a block is the block. */
void *PyEval_SaveThread(void) { return NULL; }
void PyEval_RestoreThread(void *thread) { (void)thread; }
int PyErr_CheckSignals(void) { return 0; }
void *PyCapsule_GetPointer(void *capsule, const char *name)
{
    (void)name;
    return capsule;
}

struct relay_model_handle {
    int64_t threads;
};

struct seat {
    struct seat *next;
    struct context *ctx;
    struct context *home; /* where the runtime lists the context when it is free */
    void *stack;
    size_t stack_bytes;
};

static pthread_mutex_t seats_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t alone_mutex = PTHREAD_MUTEX_INITIALIZER; /* of calls that share values */
static struct seat *free_seats;
static int64_t handles;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_started;

static void restart(void)
{
    relay_restart();
    pthread_mutex_init(&seats_mutex, NULL);
    pthread_mutex_init(&alone_mutex, NULL);
}

/* How many cores this process may use. */
static long usable_cores(void)
{
#ifdef __linux__
    cpu_set_t cores;
    if (!sched_getaffinity(0, sizeof cores, &cores))
        return CPU_COUNT(&cores);
#endif
    return sysconf(_SC_NPROCESSORS_ONLN);
}

static void start(void)
{
    long count = usable_cores();
    relay_start(pthread_self(), count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : count);
    is_started = !pthread_key_create(&error_key, free_error) && !pthread_atfork(NULL, NULL, restart);
}

static void free_seat(struct seat *seat)
{
    if (seat->ctx) {
        relay_free_memory(seat->ctx);
        free(seat->ctx->box);
        free(seat->ctx);
    }
    if (seat->stack)
        munmap(seat->stack, seat->stack_bytes);
    free(seat);
}

/* Address space for a stack, or less of it where so much may not even be named. */
static int map_stack(struct seat *seat)
{
    for (size_t bytes = STACK_BYTES; bytes >= SMALLEST_STACK_BYTES; bytes /= 4) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (p != MAP_FAILED) {
            seat->stack = p;
            seat->stack_bytes = bytes;
            return 1;
        }
    }
    return 0;
}

/* Say how far the stack may grow: at most to half of the machine's memory. */
static void set_limits(struct seat *seat)
{
    struct context *ctx = seat->ctx;
    size_t page = sysconf(_SC_PAGESIZE), room = page * (size_t)sysconf(_SC_PHYS_PAGES) / 2;
    uintptr_t begin = (uintptr_t)seat->stack + STACK_GUARD_BYTES;
    uintptr_t top = (uintptr_t)seat->stack + seat->stack_bytes - CACHE_LINE_BYTES;
    uintptr_t bottom = top - begin < room ? begin : (top - room + page - 1) / page * page;
    uintptr_t shallow = top - bottom < SHALLOW_BYTES ? bottom : (top - SHALLOW_BYTES + page - 1) / page * page;
    ctx->stack = (void *)top;
    ctx->bottom = bottom;
    ctx->shallow = shallow;
    ctx->limit = shallow;
}

static struct seat *new_seat(void)
{
    struct seat *seat = calloc(1, sizeof *seat);
    if (!seat)
        return NULL;
    seat->ctx = calloc(1, sizeof(struct context) + sizeof(int64_t) * (relay_program.results + 2));
    if (!seat->ctx || !(seat->ctx->box = calloc(relay_program.slots + 1, sizeof(int64_t))) || !map_stack(seat)) {
        free_seat(seat);
        return NULL;
    }
    set_limits(seat);
    seat->ctx->layouts = relay_program.layouts;
    seat->ctx->home = &seat->home;
    return seat;
}

/* A context that no other call has, NULL if there is no memory for one. */
static struct seat *take_seat(const struct relay_model_handle *handle)
{
    if (relay_program.keeps)
        pthread_mutex_lock(&alone_mutex);
    pthread_mutex_lock(&seats_mutex);
    struct seat *seat = free_seats;
    if (seat)
        free_seats = seat->next;
    pthread_mutex_unlock(&seats_mutex);
    if (!seat && !(seat = new_seat())) {
        if (relay_program.keeps)
            pthread_mutex_unlock(&alone_mutex);
        return NULL;
    }
    seat->ctx->threads = handle->threads;
    return seat;
}

static void give_seat(struct seat *seat)
{
    relay_give(seat->ctx, !relay_program.keeps);
    pthread_mutex_lock(&seats_mutex);
    seat->next = free_seats;
    free_seats = seat;
    pthread_mutex_unlock(&seats_mutex);
    if (relay_program.keeps)
        pthread_mutex_unlock(&alone_mutex);
}

int relay_model_create(int threads, relay_model_handle **handle)
{
    pthread_once(&once, start);
    if (!is_started)
        return relay_model_OUT_OF_MEMORY;
    if (!handle)
        return ABSENT("there is no place for the handle: it is NULL");
    *handle = NULL;
    if (threads < 0 || threads > THREADS_MAX)
        return refuse(relay_model_BAD_ARGUMENT, "thread-count", "%d threads: give 1 to %d, or 0", threads, THREADS_MAX);
    struct relay_model_handle *made = malloc(sizeof *made);
    if (!made)
        return out_of_memory();
    made->threads = threads;
    pthread_mutex_lock(&seats_mutex);
    handles++;
    pthread_mutex_unlock(&seats_mutex);
    *handle = made;
    return relay_model_OK;
}

void relay_model_destroy(relay_model_handle *handle)
{
    if (!handle)
        return;
    free(handle);
    pthread_mutex_lock(&seats_mutex);
    struct seat *seats = NULL;
    if (!--handles && !relay_program.keeps) { /* kept values are in the memory of contexts */
        seats = free_seats;
        free_seats = NULL;
    }
    int is_last = !handles;
    pthread_mutex_unlock(&seats_mutex);
    for (struct seat *seat; (seat = seats);) {
        seats = seat->next;
        free_seat(seat);
    }
    if (is_last)
        relay_free_returned();
}
