/* An object file of macOS in a process of Linux on 64-bit Arm: its image is put where it was placed (`mach_o.py`),
   and what it calls of macOS's C library is that of Linux, with macOS's numbers and sizes.

   What differs is here: the values of constants, mutexes that begin with a signature and are larger, and further
   arguments of functions like `snprintf`, which are on the stack there.  `placed.h` has `BASE` and `SLOTS`. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "placed.h"

enum {
    MUTEX_SIGNATURE = 0x32AAABA7, /* of PTHREAD_MUTEX_INITIALIZER */
    MUTEX_BYTES = 64,
    ONCE_SIGNATURE = 0x30B1BCBA,
    CREATE_DETACHED = 2,
    SET_MASK = 3,
    ANONYMOUS = 0x1000 | 0x40 | 0x2, /* and private, and MAP_NORESERVE */
    NOT_NEEDED = 5,                  /* MADV_FREE */
    PAGE_SIZE = 29, CORES = 58, PAGES = 200,
};

#define REQUIRE(holds)                                                             \
    do {                                                                           \
        if (!(holds)) {                                                            \
            fprintf(stderr, "this is not how macOS is called: %s\n", #holds);      \
            abort();                                                               \
        }                                                                          \
    } while (0)

/* Those that are called in the same way. */
#define macos_bzero bzero
#define macos_calloc calloc
#define macos_free free
#define macos_malloc malloc
#define macos_memcpy memcpy
#define macos_memmove memmove
#define macos_memset memset
#define macos_munmap munmap
#define macos_pthread_atfork pthread_atfork
#define macos_pthread_attr_destroy pthread_attr_destroy
#define macos_pthread_attr_init pthread_attr_init
#define macos_pthread_attr_setstacksize pthread_attr_setstacksize
#define macos_pthread_cond_broadcast pthread_cond_broadcast
#define macos_pthread_cond_init pthread_cond_init
#define macos_pthread_cond_signal pthread_cond_signal
#define macos_pthread_create pthread_create
#define macos_pthread_getspecific pthread_getspecific
#define macos_pthread_self pthread_self
#define macos_pthread_setspecific pthread_setspecific
#define macos_sched_yield sched_yield

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t *mutex_at(uint64_t *place)
{
    pthread_mutex_lock(&guard);
    if (*place == MUTEX_SIGNATURE)
        memset(place, 0, MUTEX_BYTES);
    pthread_mutex_unlock(&guard);
    return (pthread_mutex_t *)place;
}

static int macos_pthread_mutex_init(uint64_t *place, const void *attributes)
{
    REQUIRE(!attributes);
    memset(place, 0, MUTEX_BYTES);
    return 0;
}

static int macos_pthread_mutex_lock(uint64_t *mutex) { return pthread_mutex_lock(mutex_at(mutex)); }

static int macos_pthread_mutex_unlock(uint64_t *mutex) { return pthread_mutex_unlock(mutex_at(mutex)); }

static int macos_pthread_cond_wait(pthread_cond_t *condition, uint64_t *mutex)
{
    return pthread_cond_wait(condition, mutex_at(mutex));
}

static int macos_pthread_once(uint64_t *once, void (*function)(void))
{
    pthread_mutex_lock(&guard);
    int is_first = *once == ONCE_SIGNATURE;
    REQUIRE(is_first || !*once);
    *once = 0;
    pthread_mutex_unlock(&guard);
    if (is_first)
        function();
    return 0;
}

static int macos_pthread_key_create(uint64_t *key, void (*end)(void *))
{
    pthread_key_t made;
    int failed = pthread_key_create(&made, end);
    *key = made;
    return failed;
}

static int macos_pthread_attr_setdetachstate(pthread_attr_t *attributes, int state)
{
    REQUIRE(state == CREATE_DETACHED);
    return pthread_attr_setdetachstate(attributes, PTHREAD_CREATE_DETACHED);
}

static int macos_pthread_sigmask(int how, const uint32_t *set, uint32_t *before)
{
    REQUIRE(how == SET_MASK && set);
    if (before)
        *before = 0;
    return 0;
}

static void *macos_aligned_alloc(size_t alignment, size_t bytes)
{
    REQUIRE(bytes % alignment == 0);
    return aligned_alloc(alignment, bytes);
}

static int macos_madvise(void *start, size_t bytes, int advice)
{
    REQUIRE(advice == NOT_NEEDED);
    return madvise(start, bytes, MADV_DONTNEED);
}

static void *macos_mmap(void *start, size_t bytes, int access, int flags, int file, int64_t offset)
{
    REQUIRE(!start && access == (PROT_READ | PROT_WRITE) && flags == ANONYMOUS && file == -1 && !offset);
    return mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static long macos_sysconf(int name)
{
    REQUIRE(name == PAGE_SIZE || name == CORES || name == PAGES);
    return sysconf(name == PAGE_SIZE ? _SC_PAGESIZE : name == CORES ? _SC_NPROCESSORS_ONLN : _SC_PHYS_PAGES);
}

/* `arguments` is macOS's `va_list`: where they are, eight bytes each, as Linux has those that no register holds. */
int macos_vsnprintf(char *to, size_t bytes, const char *format, void *arguments)
{
    union {
        va_list list;
        struct { void *stack, *general_top, *vector_top; int general, vector; } parts;
    } found;
    memset(&found, 0, sizeof found);
    found.parts.stack = arguments;
    return vsnprintf(to, bytes, format, found.list);
}

int macos_snprintf(char *to, size_t bytes, const char *format, ...);
__asm__(".globl macos_snprintf\n"
        "macos_snprintf:\n"
        "  mov x3, sp\n"
        "  b macos_vsnprintf\n");

__attribute__((constructor)) static void load(void)
{
    FILE *file = fopen("image", "rb");
    REQUIRE(file && !fseek(file, 0, SEEK_END));
    size_t bytes = (size_t)ftell(file);
    rewind(file);
    int access = PROT_READ | PROT_WRITE | PROT_EXEC, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    void *image = mmap((void *)BASE, bytes, access, flags, -1, 0);
    REQUIRE(image == (void *)BASE && fread(image, 1, bytes, file) == bytes);
    fclose(file);
    __builtin___clear_cache(image, (char *)image + bytes);
#define SLOT(name, place) *(void **)(place) = (void *)macos_##name;
    SLOTS
}
