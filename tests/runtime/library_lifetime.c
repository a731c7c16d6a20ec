/* Handles, calls and failures from several threads at once, for a memory checker: whatever is taken is given back.

   The library is `model`; its only entry takes `x`, float32 of (rows, 256), and `i`, int32, and gives a tensor of
   the shape of `x` and a number.  Calls with an `i` that is out of range fail. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

enum { COLUMNS = 256, ROWS_MAX = 40, THREADS = 4, CALLS = 3, HANDLES = 3 };

struct arguments {
    float data[ROWS_MAX * COLUMNS];
    int64_t shape[2];
    int32_t index;
    DLTensor x, i;
    const DLTensor *inputs[2];
};

static model_handle *model;

static void prepare(struct arguments *a, int rows)
{
    for (int k = 0; k < rows * COLUMNS; k++)
        a->data[k] = (float)(k % 7);
    a->shape[0] = rows;
    a->shape[1] = COLUMNS;
    a->index = rows - 1;
    a->x = (DLTensor){a->data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, a->shape, NULL, 0};
    a->i = (DLTensor){&a->index, {kDLCPU, 0}, 0, {kDLInt, 32, 1}, NULL, NULL, 0};
    a->inputs[0] = &a->x;
    a->inputs[1] = &a->i;
}

static void require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s: %s\n", what, model_error_text());
        exit(1);
    }
}

/* Two calls whose outputs are made, one that writes to memory of the caller's, and two that fail. */
static void call(struct arguments *a)
{
    DLManagedTensor *first[2], *second[2];
    require(!model_run(model, 0, a->inputs, 2, first, 2), "run");
    require(!model_run(model, 0, a->inputs, 2, second, 2), "run again");
    float number, *rows = malloc(sizeof a->data);
    DLTensor y = a->x, z = {&number, {kDLCPU, 0}, 0, {kDLFloat, 32, 1}, NULL, NULL, 0};
    DLTensor *places[2] = {&y, &z};
    y.data = rows;
    require(!model_run_into(model, 0, a->inputs, 2, places, 2), "run into");
    require(number == *(float *)second[1]->dl_tensor.data, "equal results");
    free(rows);
    for (int k = 1; k >= 0; k--) {
        first[k]->deleter(first[k]);
        second[k]->deleter(second[k]);
    }
    a->index = ROWS_MAX;
    require(model_run(model, 0, a->inputs, 2, first, 2) == model_FAILED, "an index out of range");
    a->x.ndim = 1;
    require(model_run(model, 0, a->inputs, 2, first, 2) == model_BAD_ARGUMENT, "another rank");
}

static void *work(void *number)
{
    struct arguments *a = malloc(sizeof *a);
    for (int k = 0; k < CALLS; k++) {
        prepare(a, 1 + ((int)(intptr_t)number * 11 + k * 7) % ROWS_MAX);
        call(a);
    }
    free(a);
    return NULL;
}

int main(void)
{
    for (int k = 0; k < HANDLES; k++) {
        pthread_t threads[THREADS];
        require(!model_create(k, &model), "create");
        for (intptr_t t = 0; t < THREADS; t++)
            require(!pthread_create(&threads[t], NULL, work, (void *)t), "a thread");
        work((void *)(intptr_t)THREADS);
        for (int t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
        model_destroy(model);
    }
    puts("ok");
    return 0;
}
