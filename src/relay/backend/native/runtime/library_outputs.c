/* Outputs of a call: as tensors that are the caller's from now on, or in memory of the caller's. */

#include "library.h"

enum { LEAST_GIVEN_BYTES = 4096 }; /* smaller tensors are copied */

struct block *relay_give_away(struct context *ctx, void *object);
void relay_forget(void *block);

/* A tensor that the caller has, and where its elements are. */
struct output {
    DLManagedTensor tensor;
    struct block *block; /* NULL where elements are in memory of their own */
    int64_t sizes[];
};

static void delete_output(DLManagedTensor *self)
{
    struct output *output = self->manager_ctx;
    if (output->block)
        relay_forget(output->block);
    else
        free(self->dl_tensor.data);
    free(output);
}

static size_t output_bytes(const struct type *type, const struct tensor *p)
{
    size_t bytes = type->item_bytes;
    for (int32_t i = 0; i < type->shown.ndim; i++)
        bytes *= p->sizes[i];
    return bytes;
}

/* Whether nobody else has a tensor of the program, whose elements may go with it. */
static int can_be_given(const struct tensor *p, size_t bytes)
{
    return p->header.count == 1 && p->header.layout == 0 && p->header.tag == 0 && bytes >= LEAST_GIVEN_BYTES;
}

static DLManagedTensor *new_output(struct context *ctx, const struct type *type, const int64_t *leaf)
{
    int32_t rank = type->shown.ndim;
    struct output *made = calloc(1, sizeof *made + sizeof(int64_t) * rank);
    if (!made)
        return NULL;
    struct tensor *p = rank ? *(struct tensor *const *)leaf : NULL;
    size_t bytes = rank ? output_bytes(type, p) : (size_t)type->item_bytes;
    for (int32_t i = 0; i < rank; i++)
        made->sizes[i] = p->sizes[i];
    made->tensor.manager_ctx = made;
    made->tensor.deleter = delete_output;
    made->tensor.dl_tensor = (DLTensor){
        .device = {kDLCPU, 0}, .ndim = rank, .dtype = type->shown.dtype, .shape = made->sizes,
    };
    if (rank && can_be_given(p, bytes)) {
        made->tensor.dl_tensor.data = p->data;
        made->block = relay_give_away(ctx, p);
        return &made->tensor;
    }
    size_t room = (bytes + CACHE_LINE_BYTES) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    if (!(made->tensor.dl_tensor.data = aligned_alloc(CACHE_LINE_BYTES, room))) {
        free(made);
        return NULL;
    }
    memcpy(made->tensor.dl_tensor.data, rank ? p->data : leaf, bytes);
    return &made->tensor;
}

void relay_release(struct context *ctx, struct object *p);

/* Make the outputs of what is in the box; the program has none of it any more. */
static int take_outputs(struct context *ctx, const struct entry *entry, DLManagedTensor **outputs)
{
    int64_t leaves[entry->output_count + 1];
    int status = relay_model_OK;
    memcpy(leaves, ctx->box, sizeof(int64_t) * entry->output_count);
    for (int64_t i = 0; i < entry->output_count && !status; i++)
        if (!(outputs[i] = new_output(ctx, &entry->outputs[i], &leaves[i])))
            status = out_of_memory();
    for (int64_t i = 0; i < entry->output_count; i++) {
        struct output *made = outputs[i] ? outputs[i]->manager_ctx : NULL;
        if (entry->outputs[i].shown.ndim && !(made && made->block))
            relay_release(ctx, (struct object *)leaves[i]);
        if (status && outputs[i]) {
            delete_output(outputs[i]);
            outputs[i] = NULL;
        }
    }
    return status;
}

/* Compare memory for an output with the output. */
static int check_output(int i, const struct type *type, const DLTensor *to, const struct tensor *p)
{
    for (int32_t axis = 0; axis < type->shown.ndim; axis++)
        if (to->shape[axis] != p->sizes[axis])
            return refuse(relay_model_BAD_ARGUMENT, "output-array",
                          "output %d (`%s`): axis %d of the memory for it has the size %lld, and the result %lld", i,
                          type->shown.name, (int)axis, (long long)to->shape[axis], (long long)p->sizes[axis]);
    return relay_model_OK;
}

/* Write what is in the box to memory of the caller's. */
static int write_outputs(struct context *ctx, const struct entry *entry, DLTensor *const *outputs)
{
    const int64_t *box = ctx->box;
    int status = relay_model_OK;
    for (int i = 0; i < entry->output_count && !status; i++)
        if (entry->outputs[i].shown.ndim)
            status = check_output(i, &entry->outputs[i], outputs[i], (struct tensor *)box[i]);
    for (int i = 0; i < entry->output_count; i++) {
        const struct type *type = &entry->outputs[i];
        struct tensor *p = type->shown.ndim ? (struct tensor *)box[i] : NULL;
        char *to = (char *)outputs[i]->data + outputs[i]->byte_offset;
        if (!status && (!p || output_bytes(type, p)))
            memmove(to, p ? p->data : (void *)&box[i], p ? output_bytes(type, p) : (size_t)type->item_bytes);
        if (p)
            relay_release(ctx, &p->header);
    }
    return status;
}
