/* Dynamic batching: calls of blocks of operators are recorded, and made later, those of one block together.

   A recorded call has made the objects of its results, whose `data` is NULL until the call is made.  Then they
   are rows of one tensor, which they own together; before, the record stands in the place of that owner.  Where a
   value is read, and at the end of a call of the program, all records are run: by depth, which is one more than
   that of the deepest operand, and at each depth the calls of one block as one (Looks et al., 2017; Neubig et
   al., 2017).

   Blocks that add to their first operand, as those do that sum gradients up, form chains: long ones, of which
   nothing else reads what lies between, are run as one sum. */

#include <string.h>

#include "batches.h"
#include "inlined.h"

enum {
    RECORDED_BYTES_MAX = 256 << 20, /* of results, from which on the records are run at once */
    CHAIN_MIN = 8,                  /* records of the shortest chain that is run as one sum */
    GROUPS_MAX = 64,                /* groups that the records of one depth are sorted into at a time */
    LAUNCH_BYTES = 512 << 10,       /* of operands and results of one launch: as much as stays in the cache, */
    LAUNCH_ROWS_MIN = 64,           /* but as many rows as weights are worth reading for */
};

static struct object nobody; /* owns what has never been computed */

static size_t record_bytes(const struct block_code *code)
{
    size_t bytes = sizeof(struct record) + (code->operands + code->results) * sizeof(union value);
    return (bytes + OBJECT_GRAIN_BYTES - 1) & -(size_t)OBJECT_GRAIN_BYTES;
}

/* Where a tensor that is a row of another says so, or the record that makes it. */
static void **owner_of(const struct record *r, int64_t i)
{
    return (void **)((char *)r->values[i].tensor + r->code->slots[i].owner);
}

/* The record of the call that makes an operand, NULL if it has its elements. */
static struct record *maker(const struct record *r, int64_t i)
{
    return r->code->slots[i].owner && !r->values[i].tensor->data ? *owner_of(r, i) : NULL;
}

/* A record of a call, to be filled in: operands, each with a reference of its own, and results, each with two,
   which have no data, and the record where their elements will be. */
struct record *relay_record(struct context *ctx, const struct block_code *code)
{
    if (ctx->recorded_bytes > RECORDED_BYTES_MAX)
        relay_flush(ctx);
    struct record *r = allocate(ctx, record_bytes(code));
    r->code = code;
    r->before = ctx->last_record;
    ctx->last_record = r;
    for (int64_t i = code->operands; i < code->operands + code->results; i++)
        ctx->recorded_bytes += code->slots[i].bytes;
    return r;
}

/* Give up what a record holds, and the record. */
static void drop_record(struct context *ctx, struct record *r)
{
    const struct block_code *code = r->code;
    for (int64_t i = 0; i < code->operands + code->results; i++)
        if (code->slots[i].owner) {
            if (i >= code->operands && !r->values[i].tensor->data)
                *owner_of(r, i) = &nobody;
            release(ctx, &r->values[i].tensor->header);
        }
    shell(ctx, r, record_bytes(code));
}

static int is_unused(const struct record *r)
{
    const struct block_code *code = r->code;
    for (int64_t i = code->operands; i < code->operands + code->results; i++)
        if (r->values[i].tensor->header.count != 1)
            return 0;
    return 1;
}

/* The records in their order, without those whose results nobody wants. */
static struct record *wanted_records(struct context *ctx, int64_t *count)
{
    struct record *first = NULL, *r = ctx->last_record;
    *count = 0;
    ctx->last_record = NULL;
    ctx->recorded_bytes = 0;
    for (struct record *before; r; r = before) {
        before = r->before;
        if (is_unused(r)) {
            drop_record(ctx, r);
            continue;
        }
        r->after = first;
        if (first)
            first->before = r;
        first = r;
        ++*count;
    }
    if (first)
        first->before = NULL;
    return first;
}

static int has_shared(const struct record *a, const struct record *b)
{
    return memcmp(a->values, b->values, a->code->shared * sizeof(union value)) == 0;
}

/* Find the chains that are run as one. */
static struct record *find_chains(struct record *first)
{
    struct record *last = NULL;
    for (struct record *r = first; r; r = r->after) {
        const struct block_code *code = r->code;
        struct record *from = code->sum ? maker(r, code->shared) : NULL;
        r->chain = NULL;
        r->length = 1;
        r->goes_on = r->is_chained = 0;
        if (from && from->code == code && from->values[code->operands].tensor->header.count == 2
            && has_shared(r, from)) {
            r->chain = from;
            r->length = from->length + 1;
            from->goes_on = 1;
        }
        last = r;
    }
    for (struct record *r = last; r; r = r->before) {
        r->is_chained |= !r->goes_on && r->length >= CHAIN_MIN;
        if (r->is_chained && r->chain)
            r->chain->is_chained = 1;
    }
    return last;
}

/* The depth of each record, and the largest one. */
static uint32_t find_depths(struct record *first)
{
    uint32_t largest = 0;
    for (struct record *r = first; r; r = r->after) {
        uint32_t depth = 0;
        struct record *chain = r->is_chained ? r->chain : NULL;
        for (int64_t i = 0; i < r->code->operands; i++) {
            struct record *from = maker(r, i);
            if (from && from != chain && from->depth >= depth)
                depth = from->depth + 1;
        }
        if (chain && chain->depth > depth)
            depth = chain->depth;
        r->depth = depth;
        if (depth > largest)
            largest = depth;
    }
    return largest;
}

/* How many records one launch takes. */
static int64_t launch_rows(const struct block_code *code)
{
    int64_t bytes = 1;
    for (int64_t i = code->shared; i < code->operands + code->results; i++)
        bytes += code->slots[i].bytes;
    return LAUNCH_BYTES / bytes > LAUNCH_ROWS_MIN ? LAUNCH_BYTES / bytes : LAUNCH_ROWS_MIN;
}

/* Run the records of one group, or a chain by its last one, for which `room` has place. */
static void launch(struct context *ctx, struct record **rows, int64_t count, struct record **room)
{
    const struct block_code *code = rows[0]->code;
    int64_t launches = 1;
    check(ctx);
    if (rows[0]->is_chained) {
        struct record *r = rows[0];
        for (int64_t i = r->length; i--; r = r->chain)
            room[i] = r;
        code->sum(ctx, room, rows[0]->length);
    } else {
        int64_t most = launch_rows(code), size;
        launches = (count + most - 1) / most;
        size = (count + launches - 1) / launches;
        for (int64_t i = 0; i < count; i += size)
            code->run(ctx, rows + i, count - i < size ? count - i : size);
    }
    __atomic_fetch_add(&code->counts[0], rows[0]->is_chained ? rows[0]->length : count, __ATOMIC_RELAXED);
    __atomic_fetch_add(&code->counts[1], launches, __ATOMIC_RELAXED);
}

/* Run the records of one depth; `room` has place for them, and for as many as there are in all. */
static void run_depth(struct context *ctx, struct record **rows, int64_t count, struct record **room)
{
    while (count) {
        struct record *samples[GROUPS_MAX];
        int64_t sizes[GROUPS_MAX] = {0}, groups = 0, left = 0;
        for (int64_t i = 0; i < count; i++) {
            struct record *r = rows[i];
            int64_t g = groups - 1;
            while (g >= 0 && (samples[g]->code != r->code || r->is_chained || samples[g]->is_chained
                              || !has_shared(samples[g], r)))
                g--;
            if (g < 0 && groups < GROUPS_MAX)
                samples[g = groups++] = r;
            r->group = g < 0 ? GROUPS_MAX : g;
            if (g < 0)
                left++;
            else
                sizes[g]++;
        }
        struct record **next = room;
        for (int64_t g = 0; g < groups; g++) {
            struct record **group = next;
            for (int64_t i = 0; i < count; i++)
                if (rows[i]->group == g)
                    *next++ = rows[i];
            launch(ctx, group, sizes[g], next);
            next = group;
        }
        int64_t kept = 0;
        for (int64_t i = 0; i < count; i++)
            if (rows[i]->group == GROUPS_MAX)
                rows[kept++] = rows[i];
        count = left;
    }
}

/* Run all records. */
__attribute__((noinline)) void relay_flush(struct context *ctx)
{
    int64_t count;
    struct record *first = wanted_records(ctx, &count);
    if (!first)
        return;
    find_chains(first);
    int64_t depths = (int64_t)find_depths(first) + 1;
    size_t bytes = sizeof(struct tensor) + (3 * count + depths + 1) * sizeof(void *);
    struct tensor *memory = allocate_bytes(ctx, bytes);
    struct record **sorted = (struct record **)memory->sizes, **room = sorted + count;
    int64_t *ends = (int64_t *)(room + 2 * count);
    memset(ends, 0, (depths + 1) * sizeof *ends);
    for (struct record *r = first; r; r = r->after)
        if (!(r->is_chained && r->goes_on))
            ends[r->depth + 1]++;
    for (int64_t d = 0; d < depths; d++)
        ends[d + 1] += ends[d];
    for (struct record *r = first; r; r = r->after)
        if (!(r->is_chained && r->goes_on))
            sorted[ends[r->depth]++] = r;
    int64_t begin = 0;
    for (int64_t d = 0; d < depths; d++) {
        int64_t end = ends[d];
        run_depth(ctx, sorted + begin, end - begin, room);
        begin = end;
    }
    for (struct record *r = first, *after; r; r = after) {
        after = r->after;
        drop_record(ctx, r);
    }
    shell(ctx, memory, memory->bytes);
}

/* Whether the elements of an operand of records are rows of one tensor that follow each other. */
static int is_run(struct record **rows, int64_t count, int64_t index)
{
    struct slot slot = rows[0]->code->slots[index];
    char *data = slot.owner ? rows[0]->values[index].tensor->data : NULL;
    if (!data || rows[0]->values[index].tensor->header.layout != slot.layout)
        return 0;
    for (int64_t i = 1; i < count; i++)
        if (rows[i]->values[index].tensor->data != (data += slot.bytes)
            || rows[i]->values[index].tensor->header.layout != slot.layout
            || *owner_of(rows[i], index) != *owner_of(rows[0], index))
            return 0;
    return 1;
}

/* An operand of each record as the rows of one tensor of a rank, whose sizes are to be set: a copy, or a part of
   the tensor that they are rows of.  `whole` and `part` are the first words of such objects. */
struct tensor *relay_stack(struct context *ctx, struct record **rows, int64_t count, int64_t index, int64_t rank,
                           uint64_t whole, uint64_t part)
{
    struct slot slot = rows[0]->code->slots[index];
    size_t head = sizeof(struct tensor) + rank * sizeof(int64_t);
    if (is_run(rows, count, index)) {
        size_t bytes = (head + sizeof(void *) + OBJECT_GRAIN_BYTES - 1) & -(size_t)OBJECT_GRAIN_BYTES;
        struct tensor *made = allocate(ctx, bytes);
        struct object *owner = *owner_of(rows[0], index);
        retain(owner);
        memcpy(&made->header, &part, sizeof part);
        made->data = rows[0]->values[index].tensor->data;
        made->bytes = bytes;
        *(struct object **)((char *)made + head) = owner;
        return made;
    }
    head = (head + CACHE_LINE_BYTES - 1) & -(size_t)CACHE_LINE_BYTES;
    struct tensor *made = allocate_bytes(ctx, head + count * slot.bytes);
    memcpy(&made->header, &whole, sizeof whole);
    char *to = made->data = (char *)made + head;
    for (int64_t i = 0; i < count; i++, to += slot.bytes) {
        const union value *v = &rows[i]->values[index];
        memcpy(to, slot.owner ? v->tensor->data : (const void *)v, slot.bytes);
    }
    return made;
}

/* Make a result of each record a row of a tensor. */
void relay_unstack(struct record **rows, int64_t count, int64_t index, struct tensor *owner)
{
    struct slot slot = rows[0]->code->slots[index];
    char *data = owner->data;
    if (owner->header.count)
        owner->header.count += count;
    for (int64_t i = 0; i < count; i++, data += slot.bytes) {
        rows[i]->values[index].tensor->data = data;
        *owner_of(rows[i], index) = owner;
    }
}
