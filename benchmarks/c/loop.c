#include <stdint.h>

/* The logistic map: a chain of dependent steps with no closed form. */
float loop(int32_t n, float x) {
    for (int32_t i = 0; i < n; i++) x = 3.7f * x * (1.0f - x);
    return x;
}
