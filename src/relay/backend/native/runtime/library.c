/* What a library of a compiled program has beside the runtime: the functions of `interface.h`. */

#define _GNU_SOURCE /* sets of cores */

#include "library_errors.c"
#include "library_contexts.c"
#include "library_inputs.c"
#include "library_outputs.c"
#include "library_calls.c"
