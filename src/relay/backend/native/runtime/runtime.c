/* The runtime is one module. */
#include "allocator.c"
#include "batches.c"
#include "thread_pool.c"
#include "interrupts.c"
#include "host_entry_points.c"
#include "digest.c"
#include "texts.c"
