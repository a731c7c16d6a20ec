// Reads images of digits, 64 numbers each, from standard input, and prints what they are.
package main

/*
#cgo LDFLAGS: -L${SRCDIR} -ldigits
#include <stdlib.h>
#include "digits.h"

// Go calls no functions by their addresses.
static void delete_tensor(DLManagedTensor *tensor) { tensor->deleter(tensor); }

// Memory that C reads must not refer to memory of Go: so the tensor is made here.
static int run(digits_handle *handle, float *pixels, int64_t count, DLManagedTensor **outputs)
{
    int64_t shape[2] = {count, 64};
    DLTensor images = {pixels, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
    const DLTensor *inputs[1] = {&images};
    return digits_run(handle, digits_ENTRY_MAIN, inputs, 1, outputs, 2);
}
*/
import "C"

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// call runs what may fail on one thread of the system, which has the text of the error.
func call(what func() C.int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if what() != C.digits_OK {
		return errors.New(C.GoString(C.digits_error_text()))
	}
	return nil
}

func classify(pixels []float32) error {
	var network *C.digits_handle
	if err := call(func() C.int { return C.digits_create(0, &network) }); err != nil {
		return err
	}
	defer C.digits_destroy(network)

	count := len(pixels) / 64
	data := (*C.float)(C.malloc(C.size_t(4*len(pixels) + 4)))
	defer C.free(unsafe.Pointer(data))
	copy(unsafe.Slice((*float32)(unsafe.Pointer(data)), len(pixels)), pixels)

	outputs := (*[2]*C.DLManagedTensor)(C.calloc(2, C.size_t(unsafe.Sizeof(uintptr(0)))))
	defer C.free(unsafe.Pointer(outputs))
	err := call(func() C.int { return C.run(network, data, C.int64_t(count), &outputs[0]) })
	if err != nil {
		return err
	}
	defer C.delete_tensor(outputs[0])
	defer C.delete_tensor(outputs[1])
	digits := unsafe.Slice((*int32)(outputs[0].dl_tensor.data), count)
	sure := unsafe.Slice((*float32)(outputs[1].dl_tensor.data), count)
	for i := range digits {
		fmt.Printf("%d %.3f\n", digits[i], sure[i])
	}
	return nil
}

func main() {
	var pixels []float32
	in := bufio.NewReader(os.Stdin)
	for {
		var pixel float32
		if _, err := fmt.Fscan(in, &pixel); err != nil {
			break
		}
		pixels = append(pixels, pixel)
	}
	if err := classify(pixels); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
