/* What a library of `relay compile --emit shared` takes, in a fresh process: `library LIBRARY THREADS`.

   It prints seconds of loading it, of `create` (and of those the processor's), and of the first call.  Then each
   number that it reads is answered with the seconds of a call, the mean of so many.  The library's functions begin
   with `model`; its entry 0 has one input of float32 and one output. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model.h"

enum { RANK_MAX = 8 };

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    double begin = seconds(CLOCK_MONOTONIC);
    void *library = dlopen(arguments[1], RTLD_NOW);
    double loaded = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int (*create)(int, model_handle **) = function(library, "model_create");
    __typeof__(&model_run) run = function(library, "model_run");
    __typeof__(&model_input) input = function(library, "model_input");
    model_handle *handle;
    double before = seconds(CLOCK_MONOTONIC);
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    if (create(atoi(arguments[2]), &handle))
        return 1;
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    double created = seconds(CLOCK_MONOTONIC) - before;

    const model_tensor *type = input(0, 0);
    int64_t shape[RANK_MAX], size = 1;
    for (int i = 0; i < type->ndim; i++)
        size *= shape[i] = type->shape[i];
    float *data = malloc((size_t)size * sizeof(float));
    for (int64_t i = 0; i < size; i++)
        data[i] = (float)(i % 17) / 17;
    DLTensor x = {data, {kDLCPU, 0}, type->ndim, type->dtype, shape, NULL, 0};
    const DLTensor *inputs[1] = {&x};
    DLManagedTensor *output;
    before = seconds(CLOCK_MONOTONIC);
    if (run(handle, 0, inputs, 1, &output, 1))
        return 1;
    printf("%.9f %.9f %.9f %.9f\n", loaded - begin, created, cpu, seconds(CLOCK_MONOTONIC) - before);
    fflush(stdout);
    output->deleter(output);

    for (int calls; scanf("%d", &calls) == 1;) {
        begin = seconds(CLOCK_MONOTONIC);
        for (int i = 0; i < calls; i++) {
            if (run(handle, 0, inputs, 1, &output, 1))
                return 1;
            output->deleter(output);
        }
        printf("%.9f\n", (seconds(CLOCK_MONOTONIC) - begin) / calls);
        fflush(stdout);
    }
    return 0;
}
