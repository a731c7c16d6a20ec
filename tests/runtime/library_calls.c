/* Calls of a library from several threads, each compared with what Python has computed, to the bit, or with a
   tolerance: `library_calls INPUT EXPECTED THREADS CALLS [TOLERANCE]`, files of float32.

   The library is `model`, of one input and one output of known sizes. */

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model.h"

static model_handle *model;
static DLTensor input;
static const float *expected;
static size_t expected_count;
static int calls_of_thread;
static double tolerance = -1; /* for equal bits */

static float *read_floats(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        exit(2);
    *count = (size_t)ftell(file) / sizeof(float);
    rewind(file);
    float *data = malloc(*count * sizeof(float));
    if (!data || fread(data, sizeof(float), *count, file) != *count)
        exit(2);
    fclose(file);
    return data;
}

static int is_equal(const float *found)
{
    if (tolerance < 0)
        return !memcmp(found, expected, expected_count * sizeof(float));
    float most = 0, difference = 0;
    for (size_t i = 0; i < expected_count; i++) {
        most = fmaxf(most, fabsf(expected[i]));
        difference = fmaxf(difference, fabsf(found[i] - expected[i]));
    }
    printf("differs by %.2g of the largest\n", (double)(difference / most));
    return difference <= tolerance * most;
}

static void *call(void *unused)
{
    (void)unused;
    intptr_t wrong = 0;
    const DLTensor *inputs[] = {&input};
    for (int i = 0; i < calls_of_thread; i++) {
        DLManagedTensor *output;
        if (model_run(model, 0, inputs, 1, &output, 1)) {
            fprintf(stderr, "%s\n", model_error_text());
            return (void *)(wrong + 1);
        }
        wrong += !is_equal(output->dl_tensor.data);
        output->deleter(output);
    }
    return (void *)wrong;
}

int main(int count, char **arguments)
{
    if (count < 5)
        return 2;
    size_t input_count;
    float *data = read_floats(arguments[1], &input_count);
    float *wanted = read_floats(arguments[2], &expected_count);
    int threads = atoi(arguments[3]);
    calls_of_thread = atoi(arguments[4]) / threads;
    if (count > 5)
        tolerance = atof(arguments[5]);
    expected = wanted;

    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (model_create(0, &model))
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("created in %.3f ms\n", (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) / 1e6);
    const model_tensor *type = model_input(0, 0);
    input = (DLTensor){data, {kDLCPU, 0}, type->ndim, type->dtype, (int64_t *)type->shape, NULL, 0};

    pthread_t ids[64];
    intptr_t wrong = 0;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, call, NULL))
            return 2;
    for (int i = 0; i < threads; i++) {
        void *found;
        pthread_join(ids[i], &found);
        wrong += (intptr_t)found;
    }
    model_destroy(model);
    free(data);
    free(wanted);
    printf("%d calls, %d wrong\n", threads * calls_of_thread, (int)wrong);
    return wrong != 0;
}
