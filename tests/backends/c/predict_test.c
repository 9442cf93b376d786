// SPDX-License-Identifier: Apache-2.0
// The C interface, called from C99. Outputs equal those of training::predict; a mistake returns an error code
// and a text.
#include <cohort/cohort.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "written_models.h"

enum { pixels = 36, most = 64 };

static int failures = 0;

static void expect_code(int line, int32_t got, int32_t wanted) {
  if (got == wanted) return;
  fprintf(stderr, "line %d: expected %s, got %s: %s\n", line, cohort_code_name(wanted), cohort_code_name(got),
          cohort_last_error());
  ++failures;
}
static void expect_text(int line, char const* got, char const* wanted) {
  if (strcmp(got, wanted) == 0) return;
  fprintf(stderr, "line %d: expected \"%s\", got \"%s\"\n", line, wanted, got);
  ++failures;
}
static void expect_true(int line, int holds, char const* what) {
  if (holds) return;
  fprintf(stderr, "line %d: %s is false\n", line, what);
  ++failures;
}
#define CODE(call, code) expect_code(__LINE__, call, code)
#define TEXT(got, wanted) expect_text(__LINE__, got, wanted)
#define TRUE(condition) expect_true(__LINE__, condition, #condition)
#define REFUSED(call, code, text)                     \
  do {                                                \
    expect_code(__LINE__, call, code);                \
    expect_text(__LINE__, cohort_last_error(), text); \
  } while (0)

static char const* folder;

static char const* path_of(char const* model) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s.safetensors", folder, model);
  return path;
}

static cohort_model* opened(char const* name, char const* backend) {
  cohort_model* model = NULL;
  CODE(cohort_open(path_of(name), backend, 1, &model), cohort_ok);
  TEXT(cohort_last_error(), "");
  if (!model) exit(1);
  return model;
}

static void test_versions_and_names(void) {
  TRUE(cohort_abi_version() == COHORT_ABI_VERSION);
  TRUE(strlen(cohort_version()) >= 5);
  TEXT(cohort_code_name(cohort_ok), "ok");
  TEXT(cohort_code_name(cohort_busy_error), "busy_error");
  TEXT(cohort_code_name(9), "unknown");
  TEXT(cohort_code_name(-1), "unknown");
}

static void test_describes_a_model(void) {
  cohort_model* model = opened("image", "reference");
  int32_t inputs = 0, outputs = 0;
  char const* backend = NULL;
  cohort_tensor_info info;
  CODE(cohort_count(model, &inputs, &outputs), cohort_ok);
  TRUE(inputs == 1 && outputs == 2);
  CODE(cohort_backend(model, &backend), cohort_ok);
  TEXT(backend, "reference<float>");
  CODE(cohort_describe_input(model, 0, &info), cohort_ok);
  TEXT(info.name, "pixels");
  TRUE(info.type == cohort_f32 && info.rank == 3 && info.masked == 0);
  TRUE(info.extents[0] == 1 && info.extents[1] == 6 && info.extents[2] == 6 && info.extents[3] == 0);
  CODE(cohort_describe_output(model, 1, &info), cohort_ok);
  TEXT(info.name, "even");
  TRUE(info.rank == 1 && info.extents[0] == 2);
  CODE(cohort_close(model), cohort_ok);

  model = opened("series", NULL);
  CODE(cohort_describe_input(model, 0, &info), cohort_ok);
  TRUE(info.type == cohort_f32 && info.masked == 1 && info.rank == 2 && info.extents[0] == 5
       && info.extents[1] == 2);
  TRUE(info.has_steps == 1);
  CODE(cohort_close(model), cohort_ok);
  model = opened("words", "auto");
  CODE(cohort_describe_input(model, 0, &info), cohort_ok);
  TRUE(info.type == cohort_i32 && info.masked == 0 && info.rank == 1 && info.extents[0] == 4);
  CODE(cohort_close(model), cohort_ok);
}

static void test_names_classes(void) {
  cohort_model* model = opened("image", "reference");
  int32_t count = -1;
  char const* name = NULL;
  CODE(cohort_class_count(model, 0, &count), cohort_ok);
  TRUE(count == 3);
  CODE(cohort_class_name(model, 0, 2, &name), cohort_ok);
  TEXT(name, "zw\xc3\xb6lf");
  CODE(cohort_class_count(model, 1, &count), cohort_ok);
  TRUE(count == 0);
  REFUSED(
      cohort_class_name(model, 1, 0, &name), cohort_data_error,
      "the model has no names of classes (output 1): expected a model that was trained on data with class "
      "names, got none; cohort_class_count is 0");
  REFUSED(cohort_class_name(model, 0, 3, &name), cohort_argument_error,
          "an argument is out of range (index): expected 0 to 2, got 3");
  REFUSED(cohort_class_name(model, 0, -1, &name), cohort_argument_error,
          "an argument is out of range (index): expected 0 to 2, got -1");
  REFUSED(cohort_class_count(model, 2, &count), cohort_argument_error,
          "an argument is out of range (output): expected 0 to 1, got 2");
  REFUSED(cohort_class_count(model, 0, NULL), cohort_argument_error,
          "an argument is a null pointer (count): expected an address, got NULL");
  REFUSED(cohort_class_name(model, 0, 0, NULL), cohort_argument_error,
          "an argument is a null pointer (name): expected an address, got NULL");
  CODE(cohort_close(model), cohort_ok);
}

/// Whether the processor computes in bf16. If it does not, the backend is an error of C as of C++.
static int has_bf16(void) {
  float expected[5];
  cohort_model* model = NULL;
  int32_t const code = cohort_open(path_of("image"), "onednn_bf16", 1, &model);
  int const computes = expected_outputs(folder, "image", "onednn_bf16", 1, 0, expected) == 0;
  expect_code(__LINE__, code, computes ? cohort_ok : cohort_backend_error);
  CODE(cohort_close(model), cohort_ok);
  return computes;
}

/// Predicts `count` examples of a model, and compares all bits with training::predict.
static void compare(char const* name, char const* backend, int count, int masked) {
  enum { example = 36, outputs_of_example = 20 };
  cohort_model* model = opened(name, backend);
  cohort_tensor_info info, one;
  int32_t inputs = 0, outputs = 0;
  size_t total = 0;
  float numbers[most * example], made[most * outputs_of_example], expected[most * outputs_of_example];
  int32_t indices[most * example];
  unsigned char mask[most * 5];
  cohort_input given[2];
  cohort_output to[2];
  for (int i = 0; i < most * example; ++i) {
    numbers[i] = input_number(i);
    indices[i] = input_index(i);
  }
  for (int i = 0; i < count * 5; ++i) mask[i] = i % 5 < 3;
  CODE(cohort_count(model, &inputs, &outputs), cohort_ok);
  TRUE(inputs <= 2 && outputs <= 2);
  for (int i = 0; i < inputs; ++i) {
    size_t elements = (size_t)count;
    CODE(cohort_describe_input(model, i, &info), cohort_ok);
    for (int axis = 0; axis < info.rank; ++axis) elements *= (size_t)info.extents[axis];
    given[i].data = info.type == cohort_i32 ? (void const*)indices : numbers;
    given[i].bytes = elements * 4;
  }
  cohort_input const steps = {mask, (size_t)count * 5};
  for (int i = 0; i < outputs; ++i) {
    size_t each = (size_t)count;
    CODE(cohort_describe_output(model, i, &one), cohort_ok);
    for (int axis = 0; axis < one.rank; ++axis) each *= (size_t)one.extents[axis];
    to[i].data = made + total;
    to[i].bytes = each * sizeof(float);
    total += each;
  }
  CODE(cohort_predict(model, count, given, (size_t)inputs, &steps, masked ? 1 : 0, to, (size_t)outputs),
       cohort_ok);
  TRUE(expected_outputs(folder, name, backend, count, masked, expected) == 0);
  TRUE(memcmp(made, expected, total * sizeof(float)) == 0);
  if (outputs == 2) {
    memset(made, 0, sizeof made);
    CODE(cohort_predict(model, count, given, (size_t)inputs, NULL, 0, to, 1), cohort_ok);
    TRUE(memcmp(made, expected, to[0].bytes) == 0);
    TRUE(made[to[0].bytes / sizeof(float)] == 0);
    int32_t const backward[] = {1, 0}, outside[] = {0, 2};
    cohort_output const turned[] = {to[1], to[0]};
    for (size_t selected = 1; selected <= 2; ++selected) {
      memset(made, 0, sizeof made);
      CODE(cohort_predict_outputs(model, count, given, (size_t)inputs, NULL, 0, backward, turned, selected),
           cohort_ok);
      TRUE(memcmp(to[1].data, expected + to[0].bytes / sizeof(float), to[1].bytes) == 0);
      TRUE((memcmp(made, expected, to[0].bytes) == 0) == (selected == 2));
    }
    CODE(cohort_predict_outputs(model, count, given, (size_t)inputs, NULL, 0, outside, turned, 2),
         cohort_shape_error);
    REFUSED(cohort_predict_outputs(model, count, given, (size_t)inputs, NULL, 0, outside, to, 2),
            cohort_argument_error, "an argument is out of range (indices): expected 0 to 1, got 2");
    REFUSED(cohort_predict_outputs(model, count, given, (size_t)inputs, NULL, 0, NULL, to, 2),
            cohort_argument_error, "an argument is a null pointer (indices): expected an address, got NULL");
  }
  CODE(cohort_close(model), cohort_ok);
}

static void test_predicts_as_the_library(void) {
  char const* backends[] = {"reference", "onednn", "onednn_bf16"};
  for (int b = 0; b < (has_bf16() ? 3 : 2); ++b) {
    compare("image", backends[b], 1, 0);
    compare("image", backends[b], 33, 0);
    compare("series", backends[b], 3, 0);
    compare("series", backends[b], 3, 1);
    compare("words", backends[b], 5, 0);
    compare("pair", backends[b], 5, 0);
    compare("last", backends[b], 3, 0);
  }
}

static void test_streams_continue_sequences(void) {
  enum { sequences = 2, steps = 5, features = 2, units = 4 };
  cohort_model* model = opened("series", "reference");
  cohort_stream* stream = NULL;
  float whole[sequences * steps * features], expected[sequences * steps * units];
  float part[sequences * 3 * features];
  float const* output = NULL;
  size_t bytes = 0;
  for (int i = 0; i < sequences * steps * features; ++i) whole[i] = input_number(i);
  TRUE(expected_outputs(folder, "series", "reference", sequences, 0, expected) == 0);
  CODE(cohort_open_stream(model, sequences, &stream), cohort_ok);
  CODE(cohort_close(model), cohort_ok);  // the stream stays usable
  for (int repeat = 0; repeat < 2; ++repeat) {
    int const lengths[] = {2, 3};
    for (int first = 0, k = 0; k < 2; first += lengths[k++]) {
      int const length = lengths[k];
      for (int s = 0; s < sequences; ++s)
        memcpy(part + s * length * features, whole + (s * steps + first) * features,
               (size_t)(length * features) * sizeof(float));
      cohort_input const input = {part, (size_t)(sequences * length * features) * sizeof(float)};
      CODE(cohort_advance(stream, length, &input, 1, NULL, 0, &output, &bytes), cohort_ok);
      TRUE(bytes == (size_t)(sequences * length * units) * sizeof(float));
      for (int s = 0; s < sequences; ++s)
        TRUE(memcmp(output + s * length * units, expected + (s * steps + first) * units,
                    (size_t)(length * units) * sizeof(float))
             == 0);
    }
    CODE(cohort_reset(stream, repeat == 0 ? -1 : 1), cohort_ok);
  }
  // Sequence 1 begins again, and sequence 0 continues.
  for (int s = 0; s < sequences; ++s)
    memcpy(part + s * features, whole + s * steps * features, features * sizeof(float));
  cohort_input const first_step = {part, sequences * features * sizeof(float)};
  CODE(cohort_advance(stream, 1, &first_step, 1, NULL, 0, &output, &bytes), cohort_ok);
  TRUE(memcmp(output + units, expected + steps * units, units * sizeof(float)) == 0);
  TRUE(memcmp(output, expected, units * sizeof(float)) != 0);
  cohort_input const too_large = {whole, 64};
  REFUSED(cohort_advance(stream, 2, &too_large, 1, NULL, 0, &output, &bytes), cohort_shape_error,
          "an input has the wrong size (input 0): expected 32 bytes for 2x2x2 f32, got 64");
  cohort_input const wrong = {part, 4};
  REFUSED(cohort_advance(stream, 2, &wrong, 1, NULL, 0, &output, &bytes), cohort_shape_error,
          "an input has the wrong size (input 0): expected 32 bytes for 2x2x2 f32, got 4");
  REFUSED(cohort_advance(stream, 0, &wrong, 1, NULL, 0, &output, &bytes), cohort_argument_error,
          "an argument is out of range (steps): expected 1 to 16777216, got 0");
  REFUSED(cohort_advance(stream, 2, NULL, 1, NULL, 0, &output, &bytes), cohort_argument_error,
          "an argument is a null pointer (inputs): expected an address, got NULL");
  REFUSED(cohort_advance(stream, 2, &wrong, 1, NULL, 0, NULL, &bytes), cohort_argument_error,
          "an argument is a null pointer (output): expected an address, got NULL");
  REFUSED(cohort_reset(stream, 2), cohort_argument_error,
          "an argument is out of range (sequence): expected -1 to 1, got 2");
  CODE(cohort_close_stream(stream), cohort_ok);
  REFUSED(cohort_reset(stream, 0), cohort_argument_error,
          "the handle does not refer to an open stream: expected a handle that was not closed, got another number; open the stream again");
  model = opened("series", "reference");
  REFUSED(cohort_open_stream(model, 0, &stream), cohort_argument_error,
          "an argument is out of range (sequences): expected 1 to 16777216, got 0");
  TRUE(stream == NULL);
  REFUSED(cohort_advance((cohort_stream*)model, 1, NULL, 0, NULL, 0, &output, &bytes), cohort_argument_error,
          "the handle does not refer to an open stream: expected a handle that was not closed, got another number; open the stream again");
  CODE(cohort_close(model), cohort_ok);
  model = opened("backward", "reference");
  CODE(cohort_open_stream(model, 1, &stream), cohort_argument_error);
  TRUE(stream == NULL && strstr(cohort_last_error(), "memory") != NULL);
  CODE(cohort_close(model), cohort_ok);
}

/// The handles of streams and of models are distinct numbers.
static void test_handles_of_streams_are_no_models(void) {
  enum { count = 64 };
  cohort_model* model = opened("series", "reference");
  cohort_stream* streams[count];
  char const* name = NULL;
  for (int i = 0; i < count; ++i) {
    CODE(cohort_open_stream(model, 1, &streams[i]), cohort_ok);
    REFUSED(cohort_backend((cohort_model*)streams[i], &name), cohort_argument_error,
            "the handle does not refer to an open model: expected a handle that was not closed, got another number; open the model again");
  }
  for (int i = 0; i < count; ++i) CODE(cohort_close_stream(streams[i]), cohort_ok);
  CODE(cohort_close(model), cohort_ok);
}

/// Indices, the output after the last step, and masks.
static void test_streams_of_other_models(void) {
  enum { sequences = 2, steps = 5, units = 4, outputs = 2 };
  char const* backends[] = {"reference", "onednn_bf16"};
  for (int b = 0; b < (has_bf16() ? 2 : 1); ++b) {
    cohort_model* model = opened("last", backends[b]);
    cohort_stream* stream = NULL;
    cohort_tensor_info info;
    int32_t part[sequences * 2];
    float expected[sequences * outputs];
    float const* output = NULL;
    size_t bytes = 0;
    CODE(cohort_describe_input(model, 0, &info), cohort_ok);
    TRUE(info.type == cohort_i32 && info.has_steps == 1);
    CODE(cohort_describe_output(model, 0, &info), cohort_ok);
    TRUE(info.has_steps == 0 && info.rank == 1 && info.extents[0] == outputs);
    CODE(cohort_open_stream(model, sequences, &stream), cohort_ok);
    for (int first = 0; first < steps;) {
      int const length = first == 0 ? 1 : 2;
      for (int s = 0; s < sequences; ++s)
        for (int t = 0; t < length; ++t) part[s * length + t] = input_index(s * steps + first + t);
      cohort_input const input = {part, (size_t)(sequences * length) * sizeof(int32_t)};
      CODE(cohort_advance(stream, length, &input, 1, NULL, 0, &output, &bytes), cohort_ok);
      TRUE(bytes == sizeof expected);
      first += length;
    }
    TRUE(expected_outputs(folder, "last", backends[b], sequences, 0, expected) == 0);
    if (b == 0) {
      TRUE(memcmp(output, expected, sizeof expected) == 0);
    } else {
      for (int i = 0; i < sequences * outputs; ++i)
        TRUE(output[i] - expected[i] < 0.02f && expected[i] - output[i] < 0.02f);
    }
    CODE(cohort_close_stream(stream), cohort_ok);
    CODE(cohort_close(model), cohort_ok);
  }

  cohort_model* model = opened("series", "reference");
  cohort_stream* stream = NULL;
  float numbers[sequences * steps * 2], expected[sequences * steps * units];
  unsigned char mask[sequences * steps];
  float const* output = NULL;
  size_t bytes = 0;
  for (int i = 0; i < sequences * steps * 2; ++i) numbers[i] = input_number(i);
  for (int i = 0; i < sequences * steps; ++i) mask[i] = i % steps < 3;
  cohort_input const input = {numbers, sizeof numbers}, mask_of_input = {mask, sizeof mask};
  CODE(cohort_open_stream(model, sequences, &stream), cohort_ok);
  CODE(cohort_advance(stream, steps, &input, 1, &mask_of_input, 1, &output, &bytes), cohort_ok);
  TRUE(expected_outputs(folder, "series", "reference", sequences, 1, expected) == 0);
  for (int s = 0; s < sequences; ++s)
    TRUE(memcmp(output + s * steps * units, expected + s * steps * units, 3 * units * sizeof(float)) == 0);
  cohort_input const short_mask = {mask, 4};
  REFUSED(cohort_advance(stream, steps, &input, 1, &short_mask, 1, &output, &bytes), cohort_shape_error,
          "a mask has the wrong size (mask 0): expected 10 bytes for 2x5 u8, got 4");
  cohort_input const no_mask = {NULL, sizeof mask};
  REFUSED(cohort_advance(stream, steps, &input, 1, &no_mask, 1, &output, &bytes), cohort_argument_error,
          "a mask is a null pointer (mask 0): expected an address, got NULL");
  CODE(cohort_close_stream(stream), cohort_ok);
  CODE(cohort_close(model), cohort_ok);
}

struct background {
  cohort_model* model;
  cohort_stream* stream;
  float const* expected;
  int calls, wrong, stop;
};

/// Predicts until the model is closed.
static void* predict_until_closed(void* argument) {
  struct background* const own = argument;
  float series[2 * 5 * 2], made[2 * 5 * 4];
  for (int i = 0; i < 2 * 5 * 2; ++i) series[i] = input_number(i);
  cohort_input const input = {series, sizeof series};
  cohort_output const output = {made, sizeof made};
  for (;;) {
    int32_t const code = cohort_predict(own->model, 2, &input, 1, NULL, 0, &output, 1);
    if (code == cohort_argument_error) break;
    own->wrong += code != cohort_ok || memcmp(made, own->expected, sizeof made) != 0;
    __atomic_add_fetch(&own->calls, 1, __ATOMIC_SEQ_CST);
  }
  own->wrong += strcmp(cohort_last_error(),
                       "the handle does not refer to an open model: expected a handle that was not closed, got another number; open the model again")
                != 0;
  return NULL;
}

static void test_models_are_closed_and_streams_opened_during_calls(void) {
  char const* backends[] = {"reference", "onednn"};
  for (int b = 0; b < 2; ++b) {
    pthread_t thread;
    float expected[2 * 5 * 4];
    struct background work = {opened("series", backends[b]), NULL, expected, 0, 0, 0};
    TRUE(expected_outputs(folder, "series", backends[b], 2, 0, expected) == 0);
    TRUE(pthread_create(&thread, NULL, predict_until_closed, &work) == 0);
    while (__atomic_load_n(&work.calls, __ATOMIC_SEQ_CST) < 10) sched_yield();
    for (int i = 0; i < 20; ++i) {
      cohort_stream* stream = NULL;
      CODE(cohort_open_stream(work.model, 1, &stream), cohort_ok);
      CODE(cohort_close_stream(stream), cohort_ok);
    }
    CODE(cohort_close(work.model), cohort_ok);
    pthread_join(thread, NULL);
    TRUE(work.wrong == 0);
  }
}

static void* advance_until_stopped(void* argument) {
  enum { steps = 2000 };
  struct background* const own = argument;
  static float numbers[steps * 2];
  cohort_input const input = {numbers, sizeof numbers};
  float const* output = NULL;
  size_t bytes = 0;
  while (!__atomic_load_n(&own->stop, __ATOMIC_SEQ_CST)) {
    int32_t const code = cohort_advance(own->stream, steps, &input, 1, NULL, 0, &output, &bytes);
    own->wrong += code != cohort_ok && code != cohort_busy_error;
  }
  return NULL;
}

static void test_a_stream_belongs_to_one_call(void) {
  pthread_t thread;
  cohort_model* model = opened("series", "reference");
  struct background work = {model, NULL, NULL, 0, 0, 0};
  int32_t code = cohort_ok;
  CODE(cohort_open_stream(model, 1, &work.stream), cohort_ok);
  TRUE(pthread_create(&thread, NULL, advance_until_stopped, &work) == 0);
  while (code == cohort_ok) code = cohort_reset(work.stream, -1);  // until the other call is running
  REFUSED(code, cohort_busy_error, "another thread advances this stream: expected one call at a time, got a second one; open a stream for each thread");
  __atomic_store_n(&work.stop, 1, __ATOMIC_SEQ_CST);
  pthread_join(thread, NULL);
  TRUE(work.wrong == 0);
  CODE(cohort_reset(work.stream, -1), cohort_ok);
  CODE(cohort_close_stream(work.stream), cohort_ok);
  CODE(cohort_close(model), cohort_ok);
}

static void test_refuses_wrong_arguments(void) {
  cohort_model* model = (cohort_model*)&failures;
  char const* name = NULL;
  int32_t count = 0;
  cohort_tensor_info info;
  REFUSED(cohort_open(NULL, "auto", 1, &model), cohort_argument_error,
          "an argument is a null pointer (path): expected an address, got NULL");
  TRUE(model == NULL);
  REFUSED(cohort_open(path_of("image"), "auto", 1, NULL), cohort_argument_error,
          "an argument is a null pointer (model): expected an address, got NULL");
  REFUSED(cohort_open(path_of("image"), "auto", 0, &model), cohort_argument_error,
          "an argument is out of range (threads): expected 1 to 1024, got 0");
  REFUSED(cohort_open(path_of("image"), "gpu", 1, &model), cohort_backend_error,
          "the backend is unknown: expected auto, onednn, onednn_bf16 or reference, got gpu");
  REFUSED(cohort_open("/no/such/file", NULL, 1, &model), cohort_file_error,
          "cannot open the file (/no/such/file): No such file or directory");
  REFUSED(cohort_backend(NULL, &name), cohort_argument_error,
          "the model is a null pointer: expected an open model, got NULL");
  REFUSED(cohort_backend((cohort_model const*)&info, &name), cohort_argument_error,
          "the handle does not refer to an open model: expected a handle that was not closed, got another number; open the model again");
  CODE(cohort_close(NULL), cohort_ok);
  CODE(cohort_close_stream(NULL), cohort_ok);

  model = opened("image", "reference");
  REFUSED(cohort_count(model, NULL, &count), cohort_argument_error,
          "an argument is a null pointer (inputs): expected an address, got NULL");
  REFUSED(cohort_describe_input(model, 1, &info), cohort_argument_error,
          "an argument is out of range (index): expected 0 to 0, got 1");
  REFUSED(cohort_describe_output(model, -1, &info), cohort_argument_error,
          "an argument is out of range (index): expected 0 to 1, got -1");
  REFUSED(cohort_describe_output(model, 0, NULL), cohort_argument_error,
          "an argument is a null pointer (info): expected an address, got NULL");

  float image[pixels] = {0}, classes[3];
  cohort_input input = {image, sizeof image};
  cohort_output output = {classes, sizeof classes};
  unsigned char mask[1] = {1};
  cohort_input const steps = {mask, 1};
  CODE(cohort_predict(model, 1, &input, 1, NULL, 0, &output, 1), cohort_ok);
  TEXT(cohort_last_error(), "");
  REFUSED(cohort_predict(model, 0, &input, 1, NULL, 0, &output, 1), cohort_argument_error,
          "an argument is out of range (count): expected 1 to 16777216, got 0");
  REFUSED(cohort_predict(model, INT32_MAX, &input, 1, NULL, 0, &output, 1), cohort_argument_error,
          "an argument is out of range (count): expected 1 to 16777216, got 2147483647");
  REFUSED(cohort_predict(model, 2, &input, 1, NULL, 0, &output, 1), cohort_shape_error,
          "an input has the wrong size (input 0): expected 288 bytes for 2x1x6x6 f32, got 144");
  REFUSED(cohort_predict(model, 1, NULL, 1, NULL, 0, &output, 1), cohort_argument_error,
          "an argument is a null pointer (inputs): expected an address, got NULL");
  REFUSED(cohort_predict(model, 1, &input, 2, NULL, 0, &output, 1), cohort_shape_error,
          "a call has the wrong number of inputs: expected 1, got 2");
  REFUSED(cohort_predict(model, 1, &input, 0, NULL, 0, &output, 1), cohort_shape_error,
          "a call has the wrong number of inputs: expected 1, got 0");
  REFUSED(cohort_predict(model, 1, &input, 1, &steps, 1, &output, 1), cohort_shape_error,
          "a call has the wrong number of masks: expected 0, one for each masked input, or none, got 1");
  REFUSED(cohort_predict(model, 1, &input, 1, NULL, 0, NULL, 1), cohort_argument_error,
          "an argument is a null pointer (outputs): expected an address, got NULL");
  REFUSED(cohort_predict(model, 1, &input, 1, NULL, 0, &output, 0), cohort_argument_error,
          "an argument is out of range (output_count): expected 1 to 2, got 0");
  REFUSED(cohort_predict(model, 1, &input, 1, NULL, 0, &output, 3), cohort_argument_error,
          "an argument is out of range (output_count): expected 1 to 2, got 3");
  output.bytes = 8;
  REFUSED(cohort_predict(model, 1, &input, 1, NULL, 0, &output, 1), cohort_shape_error,
          "an output has the wrong size (output 0): expected 12 bytes for 1x3 f32, got 8");
  output.bytes = sizeof classes;
  float behind[pixels + 1];
  input.data = (char const*)behind + 1;
  REFUSED(
      cohort_predict(model, 1, &input, 1, NULL, 0, &output, 1), cohort_argument_error,
      "an input is not aligned (input 0): expected an address that is a multiple of 4, got a remainder of 1");
  input.data = NULL;
  REFUSED(cohort_predict(model, 1, &input, 1, NULL, 0, &output, 1), cohort_argument_error,
          "an input is a null pointer (input 0): expected an address, got NULL");
  CODE(cohort_close(model), cohort_ok);
  REFUSED(cohort_close(model), cohort_argument_error,
          "the handle does not refer to an open model: expected a handle that was not closed, got another number; open the model again");

  model = opened("words", "reference");
  int32_t const words[4] = {0, 1, 7, 2};
  input.data = words;
  input.bytes = sizeof words;
  output.bytes = sizeof classes;
  CODE(cohort_predict(model, 1, &input, 1, NULL, 0, &output, 1), cohort_data_error);
  TRUE(strstr(cohort_last_error(), "7") != NULL);
  CODE(cohort_close(model), cohort_ok);
}

/// Changes each byte of a model file, and truncates the file. The result is an error, never a crash.
static void test_refuses_damaged_files(void) {
  static char bytes[1 << 16];
  char damaged[4096];
  FILE* file = fopen(path_of("words"), "rb");
  size_t const size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
  int refused = 0, texts = 0;
  if (file) fclose(file);
  TRUE(size > 500 && size < sizeof bytes);
  snprintf(damaged, sizeof damaged, "%s/damaged", folder);
  for (size_t at = 0; at < size; at += 7) {
    cohort_model* model = NULL;
    bytes[at] ^= 0x10;
    file = fopen(damaged, "wb");
    fwrite(bytes, 1, at % 2 == 0 ? size : at, file);
    fclose(file);
    bytes[at] ^= 0x10;
    int32_t const code = cohort_open(damaged, "reference", 1, &model);
    refused += code == cohort_data_error;
    texts += strstr(cohort_last_error(), damaged) != NULL;
    if (code == cohort_ok) {  // a change without a meaning, such as in the header's padding
      CODE(cohort_close(model), cohort_ok);
    } else {
      TRUE(model == NULL);
    }
  }
  TRUE(refused > (int)(size / 7) * 9 / 10);
  TRUE(texts == refused);
}

struct caller {
  cohort_model* model;
  float const* expected;
  int number, wrong;
};

static void* call(void* argument) {
  struct caller* const own = argument;
  float image[2 * pixels], classes[6];
  for (int i = 0; i < 2 * pixels; ++i) image[i] = input_number(i);
  cohort_input const input = {image, sizeof image};
  cohort_output const output = {classes, sizeof classes};
  for (int i = 0; i < 100; ++i) {
    if (own->number == 0 && i % 2 == 0) {  // another thread's error has no effect here
      own->wrong += cohort_predict(own->model, 3, &input, 1, NULL, 0, &output, 1) != cohort_shape_error;
      own->wrong += cohort_last_error()[0] == '\0';
      continue;
    }
    own->wrong += cohort_predict(own->model, 2, &input, 1, NULL, 0, &output, 1) != cohort_ok;
    own->wrong += cohort_last_error()[0] != '\0';
    own->wrong += memcmp(classes, own->expected, sizeof classes) != 0;
  }
  return NULL;
}

static void test_many_threads_use_one_model(void) {
  enum { callers = 4 };
  char const* backends[] = {"reference", "onednn"};
  for (int b = 0; b < 2; ++b) {
    pthread_t threads[callers];
    struct caller each[callers];
    float expected[10];
    cohort_model* model = opened("image", backends[b]);
    TRUE(expected_outputs(folder, "image", backends[b], 2, 0, expected) == 0);
    for (int i = 0; i < callers; ++i) {
      each[i] = (struct caller){model, expected, i, 0};
      TRUE(pthread_create(&threads[i], NULL, call, &each[i]) == 0);
    }
    for (int i = 0; i < callers; ++i) {
      pthread_join(threads[i], NULL);
      TRUE(each[i].wrong == 0);
    }
    CODE(cohort_close(model), cohort_ok);
  }
}

int main(int count, char** words) {
  if (count != 2) return 2;
  folder = words[1];
  TRUE(write_models(folder) == 0);
  test_versions_and_names();
  test_describes_a_model();
  test_names_classes();
  test_predicts_as_the_library();
  test_streams_continue_sequences();
  test_handles_of_streams_are_no_models();
  test_streams_of_other_models();
  test_models_are_closed_and_streams_opened_during_calls();
  test_a_stream_belongs_to_one_call();
  test_refuses_wrong_arguments();
  test_refuses_damaged_files();
  test_many_threads_use_one_model();
  if (failures > 0) fprintf(stderr, "%d failures\n", failures);
  return failures > 0;
}
