/* Child-sum LSTM over a binary tree (Tai, Socher and Manning, 2015), as one writes it by hand. */
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { INPUT = 300, HIDDEN = 150 };

struct weights {
    const float *iou, *iou_bias, *iou_h, *forget, *forget_bias, *forget_h;
};

struct tree {
    const float *x;
    const struct tree *children[2];
};

static float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

/* y += w x, for `rows` rows of `columns` numbers: five rows at a time, so that sums do not wait for each other. */
static void add_product(float *restrict y, const float *restrict w, const float *restrict x, int rows, int columns) {
    for (int i = 0; i < rows; i += 5) {
        const float *a = w + i * columns, *b = a + columns, *c = b + columns, *d = c + columns, *e = d + columns;
        float p = 0.0f, q = 0.0f, r = 0.0f, s = 0.0f, t = 0.0f;
        for (int j = 0; j < columns; j++) {
            p += a[j] * x[j];
            q += b[j] * x[j];
            r += c[j] * x[j];
            s += d[j] * x[j];
            t += e[j] * x[j];
        }
        y[i] += p, y[i + 1] += q, y[i + 2] += r, y[i + 3] += s, y[i + 4] += t;
    }
}

/* The hidden state and the memory of a node. */
void treelstm(const struct tree *node, const struct weights *w, float *restrict h, float *restrict c) {
    float hidden[HIDDEN] = {0}, memory[HIDDEN] = {0}, wanted[HIDDEN], gates[3 * HIDDEN];
    memcpy(wanted, w->forget_bias, sizeof wanted);
    if (node->children[0]) add_product(wanted, w->forget, node->x, HIDDEN, INPUT);
    for (int k = 0; k < 2 && node->children[k]; k++) {
        float child_h[HIDDEN], child_c[HIDDEN], gate[HIDDEN];
        treelstm(node->children[k], w, child_h, child_c);
        memcpy(gate, wanted, sizeof gate);
        add_product(gate, w->forget_h, child_h, HIDDEN, HIDDEN);
        for (int i = 0; i < HIDDEN; i++) {
            hidden[i] += child_h[i];
            memory[i] += sigmoid(gate[i]) * child_c[i];
        }
    }
    memcpy(gates, w->iou_bias, sizeof gates);
    add_product(gates, w->iou, node->x, 3 * HIDDEN, INPUT);
    add_product(gates, w->iou_h, hidden, 3 * HIDDEN, HIDDEN);
    for (int i = 0; i < HIDDEN; i++) {
        c[i] = sigmoid(gates[i]) * tanhf(gates[2 * HIDDEN + i]) + memory[i];
        h[i] = sigmoid(gates[HIDDEN + i]) * tanhf(c[i]);
    }
}
