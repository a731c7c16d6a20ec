/* What the user of a library asks and calls. */

#include "library.h"

static const struct entry *entry_of(int number)
{
    return number < 0 || number >= relay_program.entry_count ? NULL : &relay_program.entries[number];
}

int relay_model_entry_count(void) { return relay_program.entry_count; }

const char *relay_model_entry_name(int entry) { return entry_of(entry) ? entry_of(entry)->name : NULL; }

int relay_model_input_count(int entry) { return entry_of(entry) ? entry_of(entry)->input_count : -1; }

int relay_model_output_count(int entry) { return entry_of(entry) ? entry_of(entry)->output_count : -1; }

const relay_model_tensor *relay_model_input(int entry, int number)
{
    return number < 0 || number >= relay_model_input_count(entry) ? NULL : &entry_of(entry)->inputs[number].shown;
}

const relay_model_tensor *relay_model_output(int entry, int number)
{
    return number < 0 || number >= relay_model_output_count(entry) ? NULL
                                                                    : &entry_of(entry)->outputs[number].shown;
}

const char *relay_model_version(void) { return relay_program.version; }

static const struct error *last_error(void)
{
    const struct error *error = is_started ? pthread_getspecific(error_key) : NULL;
    return error ? error : &no_error;
}

const char *relay_model_error_code(void) { return last_error()->code; }

const char *relay_model_error_text(void) { return last_error()->text; }

#define MISCOUNT(...) refuse(relay_model_BAD_ARGUMENT, "argument-count", __VA_ARGS__)

static const char *plural(int64_t count) { return count == 1 ? "" : "s"; }

static int check_call(const relay_model_handle *handle, const struct entry *entry, int number, const void *inputs,
                      int input_count, const void *outputs, int output_count)
{
    pthread_once(&once, start);
    if (!is_started)
        return relay_model_OUT_OF_MEMORY;
    if (!handle)
        return ABSENT("the handle is NULL");
    if (!entry)
        return refuse(relay_model_BAD_ARGUMENT, "no-entry", "there is no entry %d: the library has %d, from 0 on", number,
                      relay_model_entry_count());
    if (input_count != entry->input_count)
        return MISCOUNT("`%s` takes %d input%s, and %d %s given", entry->name, (int)entry->input_count,
                        plural(entry->input_count), input_count, input_count == 1 ? "is" : "are");
    if (output_count != entry->output_count)
        return MISCOUNT("`%s` has %d output%s, and there is room for %d", entry->name, (int)entry->output_count,
                        plural(entry->output_count), output_count);
    if ((input_count && !inputs) || (output_count && !outputs))
        return ABSENT("the inputs or the outputs of `%s` are NULL", entry->name);
    return relay_model_OK;
}

/* Call an entry; what it makes goes to `made`, or to `places` if there are some. */
static int call(const relay_model_handle *handle, const struct entry *entry, const DLTensor *const *inputs,
                DLManagedTensor **made, DLTensor *const *places)
{
    int64_t symbols[entry->symbol_count + 1];
    int status = check_inputs(entry, inputs, symbols);
    if (status)
        return status;
    struct seat *seat = take_seat(handle);
    if (!seat)
        return out_of_memory();
    status = give_inputs(seat->ctx, entry, inputs);
    if (!status && relay_enter(seat->ctx, entry->start))
        status = failed_at_site(seat->ctx->site);
    else if (!status)
        status = made ? take_outputs(seat->ctx, entry, made) : write_outputs(seat->ctx, entry, places);
    give_seat(seat);
    return status;
}

int relay_model_run(relay_model_handle *handle, int entry, const DLTensor *const *inputs, int input_count,
                    DLManagedTensor **outputs, int output_count)
{
    const struct entry *found = entry_of(entry);
    int status = check_call(handle, found, entry, inputs, input_count, outputs, output_count);
    if (status)
        return status;
    for (int i = 0; i < output_count; i++)
        outputs[i] = NULL;
    return call(handle, found, inputs, outputs, NULL);
}

int relay_model_run_into(relay_model_handle *handle, int entry, const DLTensor *const *inputs, int input_count,
                         DLTensor *const *outputs, int output_count)
{
    const struct entry *found = entry_of(entry);
    int status = check_call(handle, found, entry, inputs, input_count, outputs, output_count);
    for (int i = 0; i < output_count && !status; i++) {
        status = check_tensor("output", i, &found->outputs[i], outputs[i]);
        if (!status && !is_row_major(outputs[i]))
            status = MISFIT("output %d (`%s`): its memory has gaps", i, found->outputs[i].shown.name);
    }
    return status ? status : call(handle, found, inputs, NULL, outputs);
}
