/* Sums that tell large data apart, as quickly as they are read (`digests.py`).

   Each block of 64 bytes is eight words; to each word a key of its place is added, and the product of the halves
   goes into a sum of its own (NH: Black, Halevi, Krawczyk, Krovetz and Rogaway, 1999).  A second sum has other
   keys. */

#include <stdint.h>

typedef uint64_t words __attribute__((vector_size(64), aligned(8)));
typedef words unaligned_words __attribute__((aligned(1)));

struct digest {
    words sums[2], keys[2];
};

/* What the keys of the two sums go up by from a block to the next: odd, and without a pattern. */
#define STEP_0 0x9E3779B97F4A7C15
#define STEP_1 0xD1B54A32D192ED03
#define PRODUCT_OF_HALVES(x) (((x) & 0xFFFFFFFF) * ((x) >> 32))

/* Go on with some blocks. */
void relay_digest(struct digest *digest, const unaligned_words *blocks, int64_t count)
{
    words sum_0 = digest->sums[0], sum_1 = digest->sums[1], key_0 = digest->keys[0], key_1 = digest->keys[1];
    for (int64_t i = 0; i < count; i++) {
        sum_0 += PRODUCT_OF_HALVES(blocks[i] + key_0);
        sum_1 += PRODUCT_OF_HALVES(blocks[i] + key_1);
        key_0 += STEP_0;
        key_1 += STEP_1;
    }
    *digest = (struct digest){{sum_0, sum_1}, {key_0, key_1}};
}
