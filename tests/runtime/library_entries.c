/* Call each entry of a library once: `library_entries INPUTS OUTPUTS THREADS`.  Elements of all inputs come from one
   file, those of all outputs go to another, one after the other.

   The library is `model`, all of whose sizes are known. */

#include <stdio.h>
#include <stdlib.h>

#include "model.h"

enum { TENSORS_MAX = 32 };

static size_t bytes_of(const DLTensor *x)
{
    size_t bytes = (x->dtype.bits + 7) / 8;
    for (int i = 0; i < x->ndim; i++)
        bytes *= (size_t)x->shape[i];
    return bytes;
}

static int call(model_handle *model, int entry, FILE *from, FILE *to)
{
    DLTensor tensors[TENSORS_MAX];
    const DLTensor *inputs[TENSORS_MAX];
    DLManagedTensor *outputs[TENSORS_MAX];
    int input_count = model_input_count(entry), output_count = model_output_count(entry);
    for (int i = 0; i < input_count; i++) {
        const model_tensor *type = model_input(entry, i);
        tensors[i] = (DLTensor){NULL, {kDLCPU, 0}, type->ndim, type->dtype, (int64_t *)type->shape, NULL, 0};
        size_t bytes = bytes_of(&tensors[i]);
        tensors[i].data = malloc(bytes);
        if (!tensors[i].data || fread(tensors[i].data, 1, bytes, from) != bytes)
            return 2;
        inputs[i] = &tensors[i];
    }
    if (model_run(model, entry, inputs, input_count, outputs, output_count)) {
        fprintf(stderr, "%s: %s\n", model_entry_name(entry), model_error_text());
        return 1;
    }
    for (int i = 0; i < output_count; i++) {
        const DLTensor *found = &outputs[i]->dl_tensor;
        fwrite(found->data, 1, bytes_of(found), to);
        outputs[i]->deleter(outputs[i]);
    }
    for (int i = 0; i < input_count; i++)
        free(tensors[i].data);
    return 0;
}

int main(int count, char **arguments)
{
    model_handle *model;
    FILE *from = count > 3 ? fopen(arguments[1], "rb") : NULL, *to = from ? fopen(arguments[2], "wb") : NULL;
    if (!to || model_create(atoi(arguments[3]), &model))
        return 2;
    for (int entry = 0; entry < model_entry_count(); entry++) {
        int failed = call(model, entry, from, to);
        if (failed)
            return failed;
    }
    model_destroy(model);
    fclose(from);
    return fclose(to);
}
