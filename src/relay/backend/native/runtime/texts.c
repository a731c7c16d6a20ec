/* Strings: what makes, measures, takes apart and reads them.

   A string is a word, sixteen times the number of its code points and the bytes of each (1, 2 or 4), and then the
   code points, so that any of them is found at once; or, if the word has the bit 8 too, the address of the code
   points, which lie in a string or a buffer.  NULL is the empty string.  Nothing changes a string, and those that
   a call makes are there until the call has ended.

   What is added to the end of a string that ends where its buffer does goes behind it, so that a string that
   grows bit by bit is not copied each time.

   Nothing here depends on the locale: the C library sees digits and exponents, and no points. */

#include <math.h>
#include <stdio.h>

#include "inlined.h"

struct buffer {
    size_t used, capacity; /* in bytes */
    unsigned char units[];
};

struct text {
    uint64_t size;
    union {
        unsigned char units[16];
        struct {
            unsigned char *place;
            struct buffer *buffer; /* where it is; NULL for a part of a string that has none */
        } view;
    };
};

enum {
    UNITS_OFFSET = 8,
    COUNT_SHIFT = 4,
    IS_VIEW = 8,
    WIDTH = 7,
    BUFFERED_BYTES = 64,           /* from which on a sum is made in a buffer */
    NUMBER_BYTES_MAX = 256,        /* a longer number is copied to memory of the C library */
    DIGITS_MAX = 17,               /* that tell any float64 from its neighbours */
    NARROW_DIGITS_MAX = 8,         /* in binary: those of a bfloat16 */
    EXPONENT_MAX = 100000000,      /* beyond it, whatever the digits, there is 0 or infinity */
    POSITIONAL_LEAST = -4,         /* the powers of ten of the first digit, from which */
    POSITIONAL_LIMIT = 16,         /* and up to which a number is written without an exponent */
};

static int64_t count_of(const struct text *x) { return x ? (int64_t)(x->size >> COUNT_SHIFT) : 0; }

static int width_of(const struct text *x) { return x ? (int)(x->size & WIDTH) : 1; }

static const unsigned char *units_of(const struct text *x)
{
    return x->size & IS_VIEW ? x->view.place : x->units;
}

static uint32_t point_at(const struct text *x, int64_t i)
{
    switch (x->size & WIDTH) {
    case 1:
        return units_of(x)[i];
    case 2:
        return ((const uint16_t *)units_of(x))[i];
    default:
        return ((const uint32_t *)units_of(x))[i];
    }
}

static void *memory(struct context *ctx, size_t bytes)
{
    return allocate(ctx, (bytes + OBJECT_GRAIN_BYTES - 1) & -(size_t)OBJECT_GRAIN_BYTES);
}

static struct text *new_text(struct context *ctx, int64_t count, int width)
{
    struct text *made = memory(ctx, UNITS_OFFSET + (size_t)count * width);
    made->size = (uint64_t)count << COUNT_SHIFT | width;
    return made;
}

static struct text *new_view(
    struct context *ctx, int64_t count, int width, const unsigned char *place, struct buffer *buffer)
{
    struct text *made = memory(ctx, sizeof(struct text));
    made->size = (uint64_t)count << COUNT_SHIFT | IS_VIEW | width;
    made->view.place = (unsigned char *)place;
    made->view.buffer = buffer;
    return made;
}

/* Write the code points of a string in a width that is at least its own. */
static void write_units(unsigned char *to, int width, const struct text *x)
{
    int64_t count = count_of(x);
    if (width == width_of(x))
        memcpy(to, units_of(x), (size_t)count * width);
    else if (width == 2)
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)to)[i] = point_at(x, i);
    else
        for (int64_t i = 0; i < count; i++)
            ((uint32_t *)to)[i] = point_at(x, i);
}

static struct text *of_ascii(struct context *ctx, const char *letters, size_t count)
{
    struct text *made = new_text(ctx, count, 1);
    memcpy(made->units, letters, count);
    return made;
}

/* Less than 0, 0 or more than 0, as `x` comes before `y` by code points, is the same, or comes after it. */
int32_t relay_text_order(const struct text *x, const struct text *y)
{
    int64_t m = count_of(x), n = count_of(y), both = m < n ? m : n;
    if (x == y)
        return 0;
    if (both && width_of(x) == 1 && width_of(y) == 1) {
        int order = memcmp(units_of(x), units_of(y), both);
        if (order)
            return order;
    } else
        for (int64_t i = 0; i < both; i++) {
            uint32_t a = point_at(x, i), b = point_at(y, i);
            if (a != b)
                return a < b ? -1 : 1;
        }
    return (m > n) - (m < n);
}

int64_t relay_text_length(const struct text *x) { return count_of(x); }

const struct text *relay_text_concat(struct context *ctx, const struct text *x, const struct text *y)
{
    int64_t m = count_of(x), n = count_of(y);
    if (!n)
        return x;
    if (!m)
        return y;
    int width = width_of(x) > width_of(y) ? width_of(x) : width_of(y);
    size_t own = (size_t)m * width, more = (size_t)n * width;
    struct buffer *buffer = x->size & IS_VIEW ? x->view.buffer : NULL;
    if (buffer && width == width_of(x) && x->view.place + own == buffer->units + buffer->used &&
        more <= buffer->capacity - buffer->used) {
        write_units(buffer->units + buffer->used, width, y);
        buffer->used += more;
        return new_view(ctx, m + n, width, x->view.place, buffer);
    }
    if (own < BUFFERED_BYTES) {
        struct text *made = new_text(ctx, m + n, width);
        write_units(made->units, width, x);
        write_units(made->units + own, width, y);
        return made;
    }
    size_t capacity = own + more + own / 2;
    buffer = memory(ctx, sizeof *buffer + capacity);
    buffer->used = own + more;
    buffer->capacity = capacity;
    write_units(buffer->units, width, x);
    write_units(buffer->units + own, width, y);
    return new_view(ctx, m + n, width, buffer->units, buffer);
}

/* A place among `count` code points: counted from the end if it is negative, and held within. */
static int64_t clipped(int64_t i, int64_t count)
{
    if (i < 0)
        i += count;
    return i < 0 ? 0 : i > count ? count : i;
}

const struct text *relay_text_slice(struct context *ctx, const struct text *x, int64_t begin, int64_t end)
{
    int64_t count = count_of(x);
    begin = clipped(begin, count);
    end = clipped(end, count);
    if (begin >= end)
        return NULL;
    if (end - begin == count)
        return x;
    int width = width_of(x);
    size_t bytes = (size_t)(end - begin) * width;
    const unsigned char *place = units_of(x) + begin * width;
    if (bytes >= sizeof(struct text) - UNITS_OFFSET)
        return new_view(ctx, end - begin, width, place, x->size & IS_VIEW ? x->view.buffer : NULL);
    struct text *made = new_text(ctx, end - begin, width);
    memcpy(made->units, place, bytes);
    return made;
}

/* Where `part` begins in `x` first, from a place on; -1 if nowhere. */
int64_t relay_text_find(const struct text *x, const struct text *part, int64_t begin)
{
    int64_t m = count_of(x), n = count_of(part);
    if (begin > m)
        return -1;
    begin = clipped(begin, m);
    if (!n)
        return begin;
    for (int64_t i = begin; i + n <= m; i++) {
        int64_t k = 0;
        while (k < n && point_at(x, i + k) == point_at(part, k))
            k++;
        if (k == n)
            return i;
    }
    return -1;
}

/* --- numbers as strings --- */

const struct text *relay_text_of_bool(struct context *ctx, int64_t x)
{
    return x ? of_ascii(ctx, "True", 4) : of_ascii(ctx, "False", 5);
}

static const struct text *of_magnitude(struct context *ctx, uint64_t x, int is_negative)
{
    char letters[24], *p = letters + sizeof letters;
    do
        *--p = '0' + x % 10;
    while (x /= 10);
    if (is_negative)
        *--p = '-';
    return of_ascii(ctx, p, letters + sizeof letters - p);
}

const struct text *relay_text_of_int(struct context *ctx, int64_t x)
{
    return of_magnitude(ctx, x < 0 ? -(uint64_t)x : (uint64_t)x, x < 0);
}

const struct text *relay_text_of_uint(struct context *ctx, uint64_t x) { return of_magnitude(ctx, x, 0); }

/* Whether a number that was read rounds to `x > 0` in a format with so many digits in binary, whose smallest
   normal number has the exponent `least`. */
static int rounds_to(double read, double x, int digits, int least)
{
    int exponent = ilogb(x);
    double step = ldexp(1, (exponent < least ? least : exponent) - digits + 1);
    double below = exponent > least && x == ldexp(1, exponent) ? step / 2 : step;
    double low = x - below / 2, high = x + step / 2;
    if (read == low || read == high)
        return fmod(x / step, 2) == 0;
    return low < read && read < high;
}

static int reads_back(const char *letters, double x, int digits, int least)
{
    if (digits == 53)
        return strtod(letters, NULL) == x;
    if (digits == 24)
        return strtof(letters, NULL) == (float)x;
    return rounds_to(strtod(letters, NULL), x, digits, least);
}

/* Whether digits, as an integer, times a power of ten read back as `x`. */
static int digits_read_back(const char *found, int n, int power, double x, int digits, int least)
{
    char letters[40];
    snprintf(letters, sizeof letters, "%.*se%d", n, found, power);
    return reads_back(letters, x, digits, least);
}

/* The fewest decimal digits that read back as `x > 0`, as an integer, and the power of ten of its first one.

   Of so many digits the nearest number is tried; and of wide floats the next one, since above a power of 2 more
   numbers round to it than below (`relay.ir.floats` does so too). */
static int shortest(double x, int digits, int least, char *found, int *power)
{
    for (int count = 1;; count++) {
        char said[40];
        snprintf(said, sizeof said, "%.*e", count - 1, x);
        const char *p = said;
        int n = 0;
        for (; *p != 'e'; p++)
            if (*p >= '0' && *p <= '9')
                found[n++] = *p;
        *power = atoi(p + 1);
        int is_found = count == DIGITS_MAX || digits_read_back(found, n, *power - n + 1, x, digits, least);
        if (!is_found && digits > NARROW_DIGITS_MAX && found[n - 1] != '9') {
            found[n - 1]++;
            is_found = digits_read_back(found, n, *power - n + 1, x, digits, least);
        }
        if (is_found) {
            while (n > 1 && found[n - 1] == '0')
                n--;
            return n;
        }
    }
}

/* A float of a format: see `rounds_to`.  `by_value` says that the number itself decides whether it is written with
   an exponent, and not its shortest digits: where they are below 1e-4 and it is not, or the other way round. */
const struct text *relay_text_of_float(struct context *ctx, double x, int32_t digits, int32_t least, int32_t by_value)
{
    char made[64], found[24], *to = made;
    if (x != x)
        return of_ascii(ctx, "nan", 3);
    if (signbit(x))
        *to++ = '-';
    x = fabs(x);
    int power = 0, n = 1;
    found[0] = '0';
    if (x > 1.7976931348623157e308) {
        memcpy(to, "inf", 3);
        return of_ascii(ctx, made, to + 3 - made);
    }
    if (x != 0)
        n = shortest(x, digits, least, found, &power);
    int is_positional = power >= POSITIONAL_LEAST && power < POSITIONAL_LIMIT;
    if (by_value)
        is_positional = x == 0 || (x >= 1e-4 && x < 1e16);
    if (!is_positional) {
        *to++ = found[0];
        if (n > 1) {
            *to++ = '.';
            memcpy(to, found + 1, n - 1);
            to += n - 1;
        }
        to += snprintf(to, 8, "e%c%02d", power < 0 ? '-' : '+', power < 0 ? -power : power);
        return of_ascii(ctx, made, to - made);
    }
    for (int i = power < 0 ? power : 0; i < n || i <= power + 1; i++) {
        if (i == power + 1)
            *to++ = '.';
        *to++ = i >= 0 && i < n ? found[i] : '0';
    }
    return of_ascii(ctx, made, to - made);
}

/* --- strings as numbers --- */

static int is_digit(uint32_t c) { return c >= '0' && c <= '9'; }

/* Whether a string is an integer of 64 bits, in decimal; which it is. */
static int read_int(const struct text *x, int64_t *found)
{
    int64_t count = count_of(x), i = 0;
    int is_negative = count && point_at(x, 0) == '-';
    if (is_negative || (count && point_at(x, 0) == '+'))
        i = 1;
    if (i == count)
        return 0;
    uint64_t total = 0, most = (uint64_t)INT64_MAX + is_negative;
    for (; i < count; i++) {
        uint32_t c = point_at(x, i);
        if (!is_digit(c) || __builtin_mul_overflow(total, 10, &total) ||
            __builtin_add_overflow(total, c - '0', &total) || total > most)
            return 0;
    }
    *found = is_negative ? -total : total;
    return 1;
}

int32_t relay_text_is_int(const struct text *x)
{
    int64_t found;
    return read_int(x, &found);
}

int64_t relay_text_to_int(const struct text *x)
{
    int64_t found = 0;
    return read_int(x, &found) ? found : 0;
}

static int is_word(const struct text *x, int64_t i, const char *word)
{
    for (; *word; word++, i++)
        if (i >= count_of(x) || point_at(x, i) != (unsigned char)*word)
            return 0;
    return i == count_of(x);
}

/* Whether a string is a number: digits with a point and an exponent at will, `inf` or `nan`, with a sign at will.
   If so, and `found` is not NULL, which it is. */
static int read_float(const struct text *x, double *found)
{
    int64_t count = count_of(x), i = 0, power = 0, exponent = 0;
    double sign = count && point_at(x, 0) == '-' ? -1 : 1;
    if (count && (point_at(x, 0) == '-' || point_at(x, 0) == '+'))
        i = 1;
    int is_inf = is_word(x, i, "inf");
    if (is_inf || is_word(x, i, "nan")) {
        if (found)
            *found = sign * (is_inf ? INFINITY : NAN);
        return 1;
    }
    int64_t begin = i, digits = 0, points = 0;
    for (; i < count; i++) {
        uint32_t c = point_at(x, i);
        if (is_digit(c)) {
            digits++;
            power -= points;
        } else if (c == '.' && !points)
            points = 1;
        else
            break;
    }
    int64_t end = i;
    if (!digits)
        return 0;
    if (i < count) {
        if (point_at(x, i) != 'e' && point_at(x, i) != 'E')
            return 0;
        int is_negative = ++i < count && point_at(x, i) == '-';
        if (is_negative || (i < count && point_at(x, i) == '+'))
            i++;
        if (i == count)
            return 0;
        for (; i < count; i++) {
            if (!is_digit(point_at(x, i)))
                return 0;
            if (exponent < EXPONENT_MAX)
                exponent = 10 * exponent + point_at(x, i) - '0';
        }
        power += is_negative ? -exponent : exponent;
    }
    if (!found)
        return 1;
    char room[NUMBER_BYTES_MAX], *letters = digits + 32 > NUMBER_BYTES_MAX ? malloc(digits + 32) : room, *to = letters;
    if (!letters)
        return 0;
    for (i = begin; i < end; i++)
        if (point_at(x, i) != '.')
            *to++ = point_at(x, i);
    snprintf(to, 32, "e%lld", (long long)power);
    *found = sign * strtod(letters, NULL);
    if (letters != room)
        free(letters);
    return 1;
}

int32_t relay_text_is_float(const struct text *x) { return read_float(x, NULL); }

double relay_text_to_float(const struct text *x)
{
    double found = NAN;
    return read_float(x, &found) ? found : NAN;
}
