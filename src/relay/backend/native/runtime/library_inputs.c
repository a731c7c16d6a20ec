/* Inputs of a call: whether they are what the program takes, and how it gets them. */

#include "library.h"

enum { EXTERNAL = 1 }; /* the tag of a tensor whose elements belong to the caller (`memory/objects.py`) */

static int64_t floor_divide(int64_t a, int64_t b)
{
    int64_t whole = b ? a / b : 0;
    return whole - (b && a % b && (a < 0) != (b < 0));
}

/* A size that operations give, SIZE_UNKNOWN if one of its symbols is not bound yet. */
static int64_t size_of(const int64_t *code, const int64_t *symbols)
{
    int64_t stack[SIZES_DEPTH_MAX], depth = 0;
    for (;;) {
        int64_t operation = *code++;
        if (operation == SIZE_OF_END)
            return stack[0];
        if (operation == SIZE_OF_NUMBER) {
            stack[depth++] = *code++;
            continue;
        }
        if (operation == SIZE_OF_SYMBOL) {
            if ((stack[depth++] = symbols[*code++]) == SIZE_UNKNOWN)
                return SIZE_UNKNOWN;
            continue;
        }
        int64_t b = stack[--depth], a = stack[depth - 1], result = a;
        switch (operation) {
        case SIZE_OF_ADD: result = a + b; break;
        case SIZE_OF_MULTIPLY: result = a * b; break;
        case SIZE_OF_DIVIDE: result = floor_divide(a, b); break;
        case SIZE_OF_MIN: result = a < b ? a : b; break;
        case SIZE_OF_MAX: result = a > b ? a : b; break;
        case SIZE_OF_BROADCAST: result = a == 1 ? b : a; break;
        }
        stack[depth - 1] = result;
    }
}

static int is_row_major(const DLTensor *x)
{
    int64_t stride = 1;
    if (!x->strides)
        return 1;
    for (int32_t i = x->ndim - 1; i >= 0; i--) {
        if (x->shape[i] != 1 && x->strides[i] != stride)
            return 0;
        stride *= x->shape[i];
    }
    return 1;
}

static int64_t element_count(const DLTensor *x)
{
    int64_t count = 1;
    for (int32_t i = 0; i < x->ndim; i++)
        count *= x->shape[i];
    return count;
}

#define MISFIT(...) refuse(relay_model_BAD_ARGUMENT, "argument-type", __VA_ARGS__)

/* A dtype as Relay calls it. */
static const char *dtype_name(char *to, size_t bytes, DLDataType dtype)
{
    static const char *const kinds[] = {"int", "uint", "float", "opaque handle ", "bfloat", "complex"};
    if (dtype.code == kDLBool && dtype.bits == 8)
        snprintf(to, bytes, "bool");
    else if (dtype.code < sizeof kinds / sizeof kinds[0])
        snprintf(to, bytes, "%s%d", kinds[dtype.code], dtype.bits);
    else
        snprintf(to, bytes, "DLPack's %d of %d bits", dtype.code, dtype.bits);
    return to;
}

/* Compare dtype, rank and device of a tensor with what they should be. */
static int check_tensor(const char *what, int i, const struct type *type, const DLTensor *x)
{
    const relay_model_tensor *want = &type->shown;
    if (!x)
        return ABSENT("%s %d (`%s`) is NULL", what, i, want->name);
    if (x->device.device_type != kDLCPU)
        return MISFIT("%s %d (`%s`) is on a device of type %d, not in the memory of the CPU (kDLCPU)", what, i,
                      want->name, (int)x->device.device_type);
    char found[40], wanted[40];
    if (x->dtype.code != want->dtype.code || x->dtype.bits != want->dtype.bits)
        return MISFIT("%s %d (`%s`): its dtype is %s, not %s", what, i, want->name,
                      dtype_name(found, sizeof found, x->dtype), dtype_name(wanted, sizeof wanted, want->dtype));
    if (x->dtype.lanes != 1)
        return MISFIT("%s %d (`%s`): its elements have %d lanes, not 1", what, i, want->name, x->dtype.lanes);
    if (x->ndim != want->ndim)
        return MISFIT("%s %d (`%s`): its rank is %d, not %d", what, i, want->name, (int)x->ndim, (int)want->ndim);
    if (x->ndim && !x->shape)
        return ABSENT("%s %d (`%s`) has no shape: it is NULL", what, i, want->name);
    size_t bytes = type->item_bytes;
    for (int32_t axis = 0; axis < x->ndim; axis++) {
        if (x->shape[axis] < 0)
            return MISFIT("%s %d (`%s`): the size of axis %d is negative", what, i, want->name, (int)axis);
        bytes = times(bytes, x->shape[axis]);
    }
    if (!x->data && bytes)
        return ABSENT("%s %d (`%s`) has no data: it is NULL", what, i, want->name);
    return relay_model_OK;
}

/* Compare the sizes of an input with those of its type, and bind symbols. */
static int check_sizes(int i, const struct type *type, const DLTensor *x, int64_t *symbols)
{
    for (int32_t axis = 0; axis < x->ndim; axis++) {
        const struct dimension *d = &type->dimensions[axis];
        int64_t size = x->shape[axis], want = d->number;
        if (d->symbol != SIZE_UNKNOWN) {
            if (symbols[d->symbol] == SIZE_UNKNOWN)
                symbols[d->symbol] = size;
            want = symbols[d->symbol];
        } else if (d->code)
            want = size_of(d->code, symbols);
        if (want == SIZE_UNKNOWN || want == size)
            continue;
        if (d->number != SIZE_UNKNOWN)
            return MISFIT("input %d (`%s`): its axis %d has size %lld, not %lld", i, type->shown.name, (int)axis,
                          (long long)size, (long long)want);
        return MISFIT("input %d (`%s`): its axis %d has size %lld, but `%s` is %lld", i, type->shown.name,
                      (int)axis, (long long)size, d->text, (long long)want);
    }
    return relay_model_OK;
}

static int check_inputs(const struct entry *entry, const DLTensor *const *inputs, int64_t *symbols)
{
    for (int64_t s = 0; s < entry->symbol_count; s++)
        symbols[s] = SIZE_UNKNOWN;
    for (int i = 0; i < entry->input_count; i++) {
        const struct type *type = &entry->inputs[i];
        int status = check_tensor("input", i, type, inputs[i]);
        if (!status)
            status = check_sizes(i, type, inputs[i], symbols);
        if (status)
            return status;
    }
    /* Once more, now that all symbols are bound. */
    for (int i = 0; i < entry->input_count; i++) {
        int status = check_sizes(i, &entry->inputs[i], inputs[i], symbols);
        if (status)
            return status;
    }
    return relay_model_OK;
}

/* Copy elements that lie apart to memory where they lie side by side. */
static void gather(char *to, const DLTensor *x, int64_t bytes)
{
    const char *from = (const char *)x->data + x->byte_offset;
    int64_t count = element_count(x);
    for (int64_t number = 0; number < count; number++) {
        int64_t rest = number, place = 0;
        for (int32_t axis = x->ndim - 1; axis >= 0; axis--) {
            place += rest % x->shape[axis] * x->strides[axis];
            rest /= x->shape[axis];
        }
        memcpy(to + number * bytes, from + place * bytes, bytes);
    }
}

void *relay_new_tensor(struct context *ctx, size_t bytes);

/* A tensor of the program with the elements of an input, which it reads where they are, or of a copy where they
   are not side by side; NULL if there is no memory. */
static struct tensor *new_input(struct context *ctx, const struct type *type, const DLTensor *x)
{
    char *data = (char *)x->data + x->byte_offset;
    int is_in_place = is_row_major(x) && (uintptr_t)data % type->item_bytes == 0;
    size_t head = sizeof(struct tensor) + sizeof(int64_t) * x->ndim;
    size_t start = (head + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    size_t bytes = is_in_place ? 0 : (size_t)element_count(x) * type->item_bytes;
    struct tensor *p = relay_new_tensor(ctx, start + bytes);
    if (!p)
        return NULL;
    p->header = (struct object){.count = 1, .layout = 0, .tag = is_in_place ? EXTERNAL : 0};
    p->data = is_in_place ? data : (char *)p + start;
    for (int32_t i = 0; i < x->ndim; i++)
        p->sizes[i] = x->shape[i];
    if (!is_in_place && x->strides)
        gather(p->data, x, type->item_bytes);
    else if (!is_in_place)
        memcpy(p->data, data, bytes);
    return p;
}

/* Put the inputs into the box. */
static int give_inputs(struct context *ctx, const struct entry *entry, const DLTensor *const *inputs)
{
    int64_t *box = ctx->box;
    for (int64_t i = 0; i < entry->input_count; i++) {
        const struct type *type = &entry->inputs[i];
        const DLTensor *x = inputs[i];
        box[i] = 0;
        if (!type->shown.ndim)
            memcpy(&box[i], (char *)x->data + x->byte_offset, type->item_bytes);
        else if (!(box[i] = (intptr_t)new_input(ctx, type, x)))
            return out_of_memory();
    }
    return relay_model_OK;
}
