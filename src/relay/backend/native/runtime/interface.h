/* What a library of a compiled program offers to C99 and C++11.  In the header of a library, `relay_model` is its
   own name. */

#ifndef RELAY_MODEL_H
#define RELAY_MODEL_H

#include <stddef.h>
#include <stdint.h>

/* --- DLPack, unless it has been included: https://dmlc.github.io/dlpack/latest/c_api.html --- */

#ifndef DLPACK_DLPACK_H_
#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif
#endif
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
    kDLCPU = 1
} DLDeviceType;

typedef struct {
    DLDeviceType device_type;
    int32_t device_id;
} DLDevice;

typedef enum {
    kDLInt = 0,
    kDLUInt = 1,
    kDLFloat = 2,
    kDLOpaqueHandle = 3,
    kDLBfloat = 4,
    kDLComplex = 5,
    kDLBool = 6,
    kDLFloat8_e3m4 = 7,
    kDLFloat8_e4m3 = 8,
    kDLFloat8_e4m3b11fnuz = 9,
    kDLFloat8_e4m3fn = 10,
    kDLFloat8_e4m3fnuz = 11,
    kDLFloat8_e5m2 = 12,
    kDLFloat8_e5m2fnuz = 13,
    kDLFloat8_e8m0fnu = 14
} DLDataTypeCode;

typedef struct {
    uint8_t code; /* a DLDataTypeCode */
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;   /* ndim sizes */
    int64_t *strides; /* in elements; NULL for row-major elements without gaps */
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#endif /* DLPACK_DLPACK_H_ */

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return: 0, or what has gone wrong, which relay_model_error_text() says. */
enum relay_model_status {
    relay_model_OK = 0,
    relay_model_BAD_ARGUMENT = 1, /* a number, dtype, shape or pointer that is not what was asked for */
    relay_model_FAILED = 2,       /* the program: an index out of range, sizes that do not fit, ... */
    relay_model_OUT_OF_MEMORY = 3,
    relay_model_TOO_DEEP = 4 /* a recursion that has no room any more */
};

/* The program, ready to run.  Any number of threads may run one handle at once. */
typedef struct relay_model_handle relay_model_handle;

/* An input or output: its name, the dtype of its elements, and its sizes, of which -1 is known to calls alone. */
typedef struct relay_model_tensor {
    const char *name;
    DLDataType dtype;
    int32_t ndim;
    const int64_t *shape;
} relay_model_tensor;

/* Make a handle.  Parallel loops of its calls take so many threads, from 1 to 256; with 0, one for each core that
   the process may run on. */
int relay_model_create(int threads, relay_model_handle **handle);

/* Free a handle, of which no call is under way any more; NULL is nothing to free.  Outputs stay. */
void relay_model_destroy(relay_model_handle *handle);

/* The functions of the program that can be called, by number. */
int relay_model_entry_count(void);
const char *relay_model_entry_name(int entry);

/* The inputs and outputs of an entry; those of a tuple count one by one.  NULL or -1 if there is no such. */
int relay_model_input_count(int entry);
int relay_model_output_count(int entry);
const relay_model_tensor *relay_model_input(int entry, int number);
const relay_model_tensor *relay_model_output(int entry, int number);

/* Call an entry.  Inputs stay the caller's, and are not written to; they may have strides.  The outputs are new:
   each is the caller's, who calls its deleter, in any thread, even after the handle is gone.  If the call fails,
   there are none. */
int relay_model_run(relay_model_handle *handle, int entry, const DLTensor *const *inputs, int input_count,
                    DLManagedTensor **outputs, int output_count);

/* Call an entry, and write the outputs to memory of the caller's, of the right dtypes and shapes, row-major
   without gaps.  If the call fails, nothing is written. */
int relay_model_run_into(relay_model_handle *handle, int entry, const DLTensor *const *inputs, int input_count,
                         DLTensor *const *outputs, int output_count);

/* Of the last call in this thread that did not return 0: Relay's code of the error ("index-out-of-range"), and
   the message with the place in the program.  They stay until the next such call in this thread, and are empty
   before the first. */
const char *relay_model_error_code(void);
const char *relay_model_error_text(void);

/* The version of Relay that made the library, and what it is for. */
const char *relay_model_version(void);

/* Entries. */

#ifdef __cplusplus
}
#endif

#endif /* RELAY_MODEL_H */
