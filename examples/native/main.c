/* Reads images of digits, 64 numbers each, from standard input, and prints what they are. */

#include <stdio.h>
#include <stdlib.h>

#include "digits.h"

enum { PIXELS = 64, IMAGES_MAX = 1000 };

static int fail(void)
{
    fprintf(stderr, "%s\n", digits_error_text());
    return EXIT_FAILURE;
}

int main(void)
{
    static float pixels[IMAGES_MAX * PIXELS];
    int64_t shape[2] = {0, PIXELS}, count = 0;
    while (count < IMAGES_MAX * PIXELS && scanf("%f", &pixels[count]) == 1)
        count++;
    shape[0] = count / PIXELS;

    digits_handle *network;
    if (digits_create(0, &network))
        return fail();

    DLTensor images = {pixels, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
    const DLTensor *inputs[] = {&images};
    DLManagedTensor *outputs[2];
    if (digits_run(network, digits_ENTRY_MAIN, inputs, 1, outputs, 2))
        return fail();
    const int32_t *digits = outputs[0]->dl_tensor.data;
    const float *sure = outputs[1]->dl_tensor.data;
    for (int64_t i = 0; i < shape[0]; i++)
        printf("%d %.3f\n", (int)digits[i], sure[i]);

    outputs[0]->deleter(outputs[0]);
    outputs[1]->deleter(outputs[1]);
    digits_destroy(network);
    return EXIT_SUCCESS;
}
