/* What Python relies on: `make runtime` writes these numbers to `memory/layout.py`, in capitals. */

#include "batches.h"

#define CONSTANT(name, value) const int64_t name = value;
#define OFFSET(field) CONSTANT(field##_offset, offsetof(struct context, field))
#define TENSOR_OFFSET(field) CONSTANT(tensor_##field##_offset, offsetof(struct tensor, field))

CONSTANT(object_header_bytes, sizeof(struct object))
CONSTANT(object_grain_bytes, OBJECT_GRAIN_BYTES)
TENSOR_OFFSET(data)
TENSOR_OFFSET(bytes)
TENSOR_OFFSET(sizes)

OFFSET(saved_stack_pointer)
OFFSET(stack)
OFFSET(site)
OFFSET(box)
OFFSET(next)
OFFSET(limit)
OFFSET(large)
OFFSET(bottom)
OFFSET(threads)
OFFSET(layouts)
OFFSET(home)
OFFSET(peak_bytes)
OFFSET(callback)
OFFSET(shallow)
OFFSET(turn)
OFFSET(watch)
OFFSET(outputs)
OFFSET(results)

CONSTANT(block_group_offset, offsetof(struct block, group))
CONSTANT(watched_max, WATCHED_MAX)
CONSTANT(record_values_offset, offsetof(struct record, values))
CONSTANT(endless_bytes, ENDLESS_BYTES)
CONSTANT(stack_guard_bytes, STACK_GUARD_BYTES)
CONSTANT(threads_max, THREADS_MAX)
CONSTANT(outputs_max, OUTPUTS_MAX)

CONSTANT(out_of_memory, OUT_OF_MEMORY)
CONSTANT(interrupted, INTERRUPTED)
CONSTANT(too_deep, TOO_DEEP)
CONSTANT(raised, RAISED)
