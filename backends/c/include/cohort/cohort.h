// SPDX-License-Identifier: Apache-2.0
#ifndef COHORT_COHORT_H
#define COHORT_COHORT_H
// Prediction with Cohort's model files, from C and other languages. C99; link with -lcohort_c.
//
//     cohort_model* model = NULL;
//     if (cohort_open("lenet.safetensors", "auto", 1, &model) != cohort_ok) puts(cohort_last_error());
//     cohort_input const pixels = {images, sizeof images};
//     cohort_output const digits = {probabilities, sizeof probabilities};
//     if (cohort_predict(model, 32, &pixels, 1, NULL, 0, &digits, 1) != cohort_ok) puts(cohort_last_error());
//     cohort_close(model);
//
// Order     all functions are thread-safe. Calls of cohort_predict with the same model run concurrently; only
//           one thread at a time can advance a stream. A model or stream may be closed while other threads
//           call functions with it: these calls complete normally.
// Errors    functions that can fail return a code; cohort_last_error returns the text. Null pointers, closed
//           handles, and wrong numbers, sizes or alignments are errors. No C++ exception leaves the library.
// Exact     the outputs of load_trained and training::predict, bit by bit.
#include <stddef.h>
#include <stdint.h>

#define COHORT_API __attribute__((visibility("default")))

/// Version of this interface: its functions, structures and codes. A library with the same number is
/// compatible; libcohort_c.so.1 has number 1.
#define COHORT_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/// Codes. Later versions may add codes: treat an unknown code as an error.
enum {
  cohort_ok = 0,
  cohort_argument_error = 1,  ///< a null pointer, a closed handle, a number out of range
  cohort_file_error = 2,      ///< the file cannot be opened or read
  cohort_data_error = 3,      ///< the file is damaged, is not a model, or has unknown layers
  cohort_shape_error = 4,     ///< wrong number or size of inputs, masks or outputs
  cohort_backend_error = 5,   ///< the backend is unknown, or cannot run this network on this machine
  cohort_memory_error = 6,
  cohort_other_error = 7,
  cohort_busy_error = 8  ///< another thread advances this stream
};

/// Types of elements.
enum { cohort_f32 = 0, cohort_i32 = 1 };

/// Largest number of a tensor's extents, without the batch.
enum { cohort_max_rank = 6 };

/// A model in memory; thread-safe.
typedef struct cohort_model cohort_model;
/// Sequences that are continued step by step.
typedef struct cohort_stream cohort_stream;

/// One input or output of a model.
typedef struct cohort_tensor_info {
  char const* name;                  ///< name of the layer; valid until the model is closed
  int32_t type;                      ///< cohort_f32; cohort_i32 for indices
  int32_t rank;                      ///< number of extents
  int32_t extents[cohort_max_rank];  ///< extents of one example, without the batch
  int32_t masked;                    ///< 1: an input that may have a mask
  int32_t has_steps;                 ///< 1: in a stream, the number of steps replaces extents[0]
} cohort_tensor_info;

/// Memory that the library reads during a call. `bytes`: its exact size, which the library checks. f32 and
/// i32 elements are aligned to 4 bytes.
typedef struct cohort_input {
  void const* data;
  size_t bytes;
} cohort_input;

/// Caller's memory to which the library writes f32 numbers. `bytes`: its exact size, which the library
/// checks.
typedef struct cohort_output {
  float* data;
  size_t bytes;
} cohort_output;

/// Returns COHORT_ABI_VERSION of the loaded library.
COHORT_API int32_t cohort_abi_version(void);
/// Returns the version of Cohort, such as "0.1.0".
COHORT_API char const* cohort_version(void);
/// Returns the name of a code, such as "shape_error"; "unknown" for other numbers.
COHORT_API char const* cohort_code_name(int32_t code);
/// Returns the error text of this thread's last call that returned a code: "what (where): expected …, got …";
/// "" if this call succeeded. The text is valid until this thread's next call.
COHORT_API char const* cohort_last_error(void);

/// Opens a model file: network, parameters, and the normalisation of its inputs and outputs.
///
/// `backend`: "onednn", "onednn_bf16" or "reference"; "auto" or NULL for the first of onednn and reference
/// that can run the network. `threads`: threads per call of cohort_predict, 1 to 1024; with many callers, 1
/// is fastest. After an error, `*model` is NULL.
COHORT_API int32_t cohort_open(char const* path, char const* backend, int32_t threads, cohort_model** model);
/// Closes a model; NULL is allowed. Returns at once; the memory is freed when all running calls with the
/// model have ended. The model's streams stay usable.
COHORT_API int32_t cohort_close(cohort_model* model);

/// Gets the name of the model's backend. It is valid until the model is closed.
COHORT_API int32_t cohort_backend(cohort_model const* model, char const** name);
/// Gets the number of inputs and the number of outputs.
COHORT_API int32_t cohort_count(cohort_model const* model, int32_t* inputs, int32_t* outputs);
/// Describes input or output `index`, from 0.
COHORT_API int32_t cohort_describe_input(cohort_model const* model, int32_t index, cohort_tensor_info* info);
COHORT_API int32_t cohort_describe_output(cohort_model const* model, int32_t index, cohort_tensor_info* info);

/// Gets the number of names of the classes that output `output` (from 0) distinguishes. 0: the model has no
/// names, because it was trained on data without them.
COHORT_API int32_t cohort_class_count(cohort_model const* model, int32_t output, int32_t* count);
/// Gets the name of class `index`, from 0. Class k is element k of an output with one extent, element k of
/// each step, and channel k of an image. The text is UTF-8 and valid until the model is closed.
/// cohort_data_error if the model has no names.
COHORT_API int32_t cohort_class_name(cohort_model const* model, int32_t output, int32_t index,
                                     char const** name);

/// Computes outputs for `count` examples.
///
/// Shapes    `inputs`: all inputs, each count × extents elements of its type, row-major. `masks`: NULL and 0
///           (no padding), or one for each masked input, in order: count × extents[0] bytes, 0 for a step of
///           padding. `outputs`: the first `output_count` outputs, each count × extents numbers.
/// Before    during the call, other threads do not write the inputs and do not access the outputs.
/// After     if the call fails, outputs may be partly written.
COHORT_API int32_t cohort_predict(cohort_model const* model, int32_t count, cohort_input const* inputs,
                                  size_t input_count, cohort_input const* masks, size_t mask_count,
                                  cohort_output const* outputs, size_t output_count);

/// Like cohort_predict, but computes any outputs: outputs[k] receives the model's output with the index
/// indices[k].
COHORT_API int32_t cohort_predict_outputs(cohort_model const* model, int32_t count,
                                          cohort_input const* inputs, size_t input_count,
                                          cohort_input const* masks, size_t mask_count,
                                          int32_t const* indices, cohort_output const* outputs,
                                          size_t output_count);

/// Opens a stream of `sequences` sequences, with separate states and a copy of the parameters. The stream
/// keeps the memory of its plans for the last 8 different numbers of steps.
///
/// If a layer needs all steps at once (attention, `reverse`, pools), returns an error that names the layer.
COHORT_API int32_t cohort_open_stream(cohort_model const* model, int32_t sequences, cohort_stream** stream);
/// Continues all sequences by `steps` steps, and gets the model's first output.
///
/// Shapes    `inputs` and `masks` as for cohort_predict, with `sequences` examples; `steps` replaces
///           extents[0] where has_steps is 1. `*output` has `*output_bytes` bytes: sequences × steps × …, or
///           sequences × … for a layer with `last_step`. It is valid until the stream is advanced or closed.
/// Errors    cohort_busy_error if another thread advances the stream. After cohort_argument_error,
///           cohort_shape_error and cohort_busy_error the states are unchanged.
COHORT_API int32_t cohort_advance(cohort_stream* stream, int32_t steps, cohort_input const* inputs,
                                  size_t input_count, cohort_input const* masks, size_t mask_count,
                                  float const** output, size_t* output_bytes);
/// Replaces sequence `sequence` (from 0; −1: every sequence) with a new one, which begins with initial
/// states.
COHORT_API int32_t cohort_reset(cohort_stream* stream, int32_t sequence);
/// Closes a stream; NULL is allowed. Returns at once; the memory is freed when all running calls with the
/// stream have ended. The output of these calls must not be read.
COHORT_API int32_t cohort_close_stream(cohort_stream* stream);

#ifdef __cplusplus
}
#endif
#endif
