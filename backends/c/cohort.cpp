// SPDX-License-Identifier: Apache-2.0
#include <cohort/cohort.h>
#include <algorithm>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/matching_layers.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/onednn.hpp>
#include <cohort/prediction/stateful_predictions.hpp>
#include <cohort/training/detail/stateful_layers.hpp>
#include <cohort/training/load.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/version.hpp>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using cohort::shape;
using cohort::tensor_view;

/// One input or output, as cohort_tensor_info describes it.
struct tensor_facts {
  std::string name;
  shape example;
  bool is_indices = false;
  bool is_masked = false;
  bool has_steps = false;              ///< a stream replaces the first extent with its number of steps
  std::vector<std::string> classes{};  ///< names of the classes of an output; empty if unknown
};

/// An opened model. It does not change after construction, so calls need no lock.
class opened_model {
 public:
  cohort::training run;
  std::vector<tensor_facts> inputs{}, outputs{};

  explicit opened_model(cohort::training made) : run(std::move(made)) {
    cohort::graph_view const net = run.network();
    for (int const id : net.with_role(cohort::layer_role::input))
      inputs.push_back({.name = net.name(id),
                        .example = net[id].output,
                        .is_indices = net.is_indices(id),
                        .is_masked = net[id].mask == id});
    for (int const id : net.outputs())
      outputs.push_back(
          {.name = net.name(id), .example = net[id].output, .classes = run.class_names(net.name(id))});
    find_steps(net);
  }

 private:
  void find_steps(cohort::graph_view net) try {
    auto const extents = cohort::detail::extents_with_steps(net, net.outputs()[0]);
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].has_steps = extents.inputs[i] != 0;
    outputs[0].has_steps = extents.output;
  } catch (cohort::error const&) {
    // The network cannot run step by step. cohort_open_stream reports this error.
  }
};

/// An opened stream. It has a separate training object, because it changes plans and working copies.
struct opened_stream {
  opened_model model;
  cohort::stateful_predictions states;
  std::mutex busy{};
  std::vector<float> output{};

  opened_stream(cohort::training made, int sequences)
      : model(std::move(made)), states(model.run, sequences) {}
};

/// Maps handles to objects. Handles are numbers that are never reused, so a closed handle is detected as an
/// error.
template <class Handle, class Object>
class registry {
 public:
  Handle* add(std::shared_ptr<Object> object) {
    std::unique_lock const lock(mutex_);
    std::uintptr_t const number = next_++ * 2 + parity;
    objects_.emplace(number, std::move(object));
    return reinterpret_cast<Handle*>(number);
  }
  std::shared_ptr<Object> find(Handle const* handle, char const* what) const {
    if (!handle)
      throw cohort::setting_error(
          {.what = {"the ", what, " is a null pointer"}, .expected = {"an open ", what}, .got = "NULL"});
    std::shared_lock const lock(mutex_);
    auto const found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == objects_.end())
      throw cohort::setting_error({.what = {"the handle does not refer to an open ", what},
                                   .expected = {"a handle that was not closed"},
                                   .got = {"another number; open the ", what, " again"}});
    return found->second;
  }
  void remove(Handle const* handle, char const* what) {
    std::shared_ptr<Object> last = find(handle, what);  // destroyed after the lock is released
    std::unique_lock const lock(mutex_);
    objects_.erase(reinterpret_cast<std::uintptr_t>(handle));
  }

 private:
  static constexpr std::uintptr_t parity =
      std::is_same_v<Handle, cohort_model> ? 1 : 0;  // distinguishes handles of models and streams
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects_;
  std::uintptr_t next_ = 1;
};

// Never destroyed, because other threads may still call functions while the process exits.
registry<cohort_model, opened_model>& models() {
  static auto* const all = new registry<cohort_model, opened_model>;
  return *all;
}
registry<cohort_stream, opened_stream>& streams() {
  static auto* const all = new registry<cohort_stream, opened_stream>;
  return *all;
}

struct busy_error : cohort::error {
  using error::error;
};

/// Text of a thread's last error; a string literal if there is no memory for the text.
struct error_text {
  std::string text{};
  char const* literal = "";
  char const* get() const { return literal ? literal : text.c_str(); }
};
thread_local error_text last;

std::int32_t fail(std::int32_t code, char const* text) noexcept {
  try {
    last.text = text;
    last.literal = nullptr;
  } catch (...) {
    last.literal = "an error whose text does not fit into memory";
  }
  return code;
}

/// Calls `body`, and converts exceptions to codes.
template <class Body>
std::int32_t guarded(Body const& body) noexcept {
  last.literal = "";
  try {
    body();
    return cohort_ok;
  } catch (busy_error const& problem) {
    return fail(cohort_busy_error, problem.what());
  } catch (cohort::file_error const& problem) {
    return fail(cohort_file_error, problem.what());
  } catch (cohort::data_error const& problem) {
    return fail(cohort_data_error, problem.what());
  } catch (cohort::graph_error const& problem) {
    return fail(cohort_data_error, problem.what());
  } catch (cohort::shape_error const& problem) {
    return fail(cohort_shape_error, problem.what());
  } catch (cohort::setting_error const& problem) {
    return fail(cohort_argument_error, problem.what());
  } catch (cohort::backend_error const& problem) {
    return fail(cohort_backend_error, problem.what());
  } catch (cohort::memory_error const& problem) {
    return fail(cohort_memory_error, problem.what());
  } catch (std::bad_alloc const&) {
    return fail(cohort_memory_error, "there is not enough memory");
  } catch (std::exception const& problem) {
    return fail(cohort_other_error, problem.what());
  } catch (...) {
    return fail(cohort_other_error, "an unknown exception");
  }
}

template <class T>
void demand(T const* pointer, char const* name) {
  if (!pointer)
    throw cohort::setting_error(
        {.what = "an argument is a null pointer", .where = name, .expected = "an address", .got = "NULL"});
}

void demand_range(std::int64_t value, std::int64_t lowest, std::int64_t highest, char const* name) {
  if (value < lowest || value > highest)
    throw cohort::setting_error({.what = "an argument is out of range",
                                 .where = name,
                                 .expected = {lowest, " to ", highest},
                                 .got = {value}});
}

cohort::training open_on(std::string const& path, std::string_view backend,
                         cohort::training_settings settings) {
  if (backend == "auto")
    return cohort::load_trained<cohort::priority<cohort::onednn, cohort::reference<float>>>(
        path, std::move(settings));
  if (backend == "onednn") return cohort::load_trained<cohort::onednn>(path, std::move(settings));
  if (backend == "onednn_bf16") return cohort::load_trained<cohort::onednn_bf16>(path, std::move(settings));
  if (backend == "reference")
    return cohort::load_trained<cohort::reference<float>>(path, std::move(settings));
  throw cohort::backend_error({.what = "the backend is unknown",
                               .expected = "auto, onednn, onednn_bf16 or reference",
                               .got = std::string(backend)});
}

/// Returns a second training object with a copy of the parameters.
cohort::training copy_of(opened_model const& model) {
  cohort::graph_view const net = model.run.network();
  cohort::graph same(net);
  cohort::training_settings settings;
  settings.threads = model.run.settings().threads;
  std::string_view const backend = model.run.backend();
  auto made = backend == "onednn" ? cohort::trainer<cohort::onednn>(std::move(same), settings)
              : backend == "onednn_bf16"
                  ? cohort::trainer<cohort::onednn_bf16>(std::move(same), settings)
                  : cohort::trainer<cohort::reference<float>>(std::move(same), settings);
  if (!made.parameters().table().empty()) made.load_matching(model.run);
  made.normalise(model.run.normalisation());
  return made;
}

/// Returns views of inputs or masks.
///
/// Errors    setting_error or shape_error if number, address, alignment or size of an array is wrong.
std::vector<tensor_view> views_of(std::vector<tensor_facts> const& facts, std::vector<shape> const& dims,
                                  cohort_input const* given, std::size_t count, char const* what,
                                  bool masks) {
  if (count != dims.size())
    throw cohort::shape_error({.what = {"a call has the wrong number of ", what, "s"},
                               .expected = {dims.size(), masks ? ", one for each masked input, or none" : ""},
                               .got = {count}});
  if (count > 0) demand(given, masks ? "masks" : "inputs");
  char const* const one_of = masks ? "a mask" : "an input";
  std::vector<tensor_view> views;
  for (std::size_t i = 0; i < count; ++i) {
    auto const type = masks                 ? cohort::element_type::u8
                      : facts[i].is_indices ? cohort::element_type::i32
                                            : cohort::element_type::f32;
    tensor_view const view(static_cast<std::byte const*>(given[i].data), type, dims[i]);
    if (!given[i].data)
      throw cohort::setting_error({.what = {one_of, " is a null pointer"},
                                   .where = {what, ' ', i},
                                   .expected = "an address",
                                   .got = "NULL"});
    if (std::size_t const past = reinterpret_cast<std::uintptr_t>(given[i].data) % bytes_of(type); past != 0)
      throw cohort::setting_error({.what = {one_of, " is not aligned"},
                                   .where = {what, ' ', i},
                                   .expected = {"an address that is a multiple of ", bytes_of(type)},
                                   .got = {"a remainder of ", past}});
    if (given[i].bytes != view.bytes())
      throw cohort::shape_error(
          {.what = {one_of, " has the wrong size"},
           .where = {what, ' ', i},
           .expected = {view.bytes(), " bytes for ", to_string(dims[i]), ' ', name_of(type)},
           .got = {given[i].bytes}});
    views.push_back(view);
  }
  return views;
}

/// Returns the shapes of the inputs for `count` examples; if `masks`, the shapes of their masks. `steps`:
/// number of steps in a stream's call; 0: as in the network.
std::vector<shape> shapes_of(std::vector<tensor_facts> const& facts, int count, int steps, bool masks) {
  std::vector<shape> dims;
  for (tensor_facts const& one : facts) {
    shape example = one.example;
    if (steps > 0 && one.has_steps) example[0] = steps;
    if (!masks)
      dims.push_back(example.batched(count));
    else if (one.is_masked)
      dims.push_back(shape(count, example[0]));
  }
  return dims;
}

/// Returns the batch of a call.
///
/// Errors    setting_error and shape_error.
cohort::batch_view batch_of(std::vector<tensor_facts> const& facts, int count, int steps,
                            cohort_input const* inputs, std::size_t input_count, cohort_input const* masks,
                            std::size_t mask_count) {
  cohort::batch_view call;
  call.count = count;
  call.inputs = views_of(facts, shapes_of(facts, count, steps, false), inputs, input_count, "input", false);
  if (mask_count > 0)
    call.masks = views_of(facts, shapes_of(facts, count, steps, true), masks, mask_count, "mask", true);
  return call;
}

void describe(tensor_facts const& one, cohort_tensor_info& info) {
  info = {};
  info.name = one.name.c_str();
  info.type = one.is_indices ? cohort_i32 : cohort_f32;
  info.rank = one.example.rank;
  for (int axis = 0; axis < one.example.rank; ++axis) info.extents[axis] = one.example[axis];
  info.masked = one.is_masked ? 1 : 0;
  info.has_steps = one.has_steps ? 1 : 0;
}

void describe(std::vector<tensor_facts> const& all, std::int32_t index, cohort_tensor_info* info) {
  demand(info, "info");
  demand_range(index, 0, static_cast<std::int64_t>(all.size()) - 1, "index");
  describe(all[static_cast<std::size_t>(index)], *info);
}

std::vector<std::string> const& classes_of(opened_model const& model, std::int32_t output) {
  demand_range(output, 0, static_cast<std::int64_t>(model.outputs.size()) - 1, "output");
  return model.outputs[static_cast<std::size_t>(output)].classes;
}

/// Largest number of examples, sequences or steps of a call, because a tensor's extents are of type int.
constexpr std::int64_t most_examples = std::int64_t{1} << 24;

/// Returns the batch of a call of predict.
cohort::batch_view batch_of(opened_model const& model, std::int32_t count, cohort_input const* inputs,
                            std::size_t input_count, cohort_input const* masks, std::size_t mask_count) {
  demand_range(count, 1, most_examples, "count");
  return batch_of(model.inputs, count, 0, inputs, input_count, masks, mask_count);
}

/// Computes `output_count` outputs. `indices`: indices of the outputs; null: the first outputs.
void predict(opened_model const& model, cohort::batch_view const& call, std::int32_t const* indices,
             cohort_output const* outputs, std::size_t output_count) {
  auto const known = static_cast<std::int64_t>(model.outputs.size());
  demand_range(static_cast<std::int64_t>(std::min<std::size_t>(output_count, 1 << 20)), 1, known,
               "output_count");
  demand(outputs, "outputs");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < output_count; ++i) {
    if (indices) demand_range(indices[i], 0, known - 1, "indices");
    tensor_facts const& one = model.outputs[indices ? static_cast<std::size_t>(indices[i]) : i];
    names.push_back(one.name);
    shape const dims = one.example.batched(static_cast<int>(call.count));
    demand(outputs[i].data, "outputs");
    if (std::size_t const bytes = static_cast<std::size_t>(dims.elements()) * sizeof(float);
        outputs[i].bytes != bytes)
      throw cohort::shape_error({.what = "an output has the wrong size",
                                 .where = {"output ", i},
                                 .expected = {bytes, " bytes for ", to_string(dims), " f32"},
                                 .got = {outputs[i].bytes}});
  }
  std::vector<cohort::predictions> made;
  if (names.size() == 1 && names[0] == model.outputs[0].name)
    made.push_back(model.run.predict(call));
  else
    made = model.run.outputs_of(names, call);
  for (std::size_t i = 0; i < output_count; ++i)
    std::memcpy(outputs[i].data, made[i].values.data(), outputs[i].bytes);
}

}  // namespace

std::int32_t cohort_abi_version(void) { return COHORT_ABI_VERSION; }

char const* cohort_version(void) {
  static_assert(cohort::library_version.data()[cohort::library_version.size()] == '\0');
  return cohort::library_version.data();
}

char const* cohort_code_name(std::int32_t code) {
  constexpr char const* names[]{"ok",           "argument_error", "file_error",
                                "data_error",   "shape_error",    "backend_error",
                                "memory_error", "other_error",    "busy_error"};
  return code >= 0 && code < static_cast<std::int32_t>(std::size(names)) ? names[code] : "unknown";
}

char const* cohort_last_error(void) { return last.get(); }

std::int32_t cohort_open(char const* path, char const* backend, std::int32_t threads, cohort_model** model) {
  if (model) *model = nullptr;
  return guarded([&] {
    demand(model, "model");
    demand(path, "path");
    demand_range(threads, 1, 1024, "threads");
    cohort::training_settings settings;
    settings.threads = threads;
    *model = models().add(
        std::make_shared<opened_model>(open_on(path, backend ? backend : "auto", std::move(settings))));
  });
}

std::int32_t cohort_close(cohort_model* model) {
  return guarded([&] {
    if (model) models().remove(model, "model");
  });
}

std::int32_t cohort_backend(cohort_model const* model, char const** name) {
  return guarded([&] {
    auto const opened = models().find(model, "model");
    demand(name, "name");
    *name = opened->run.backend().c_str();
  });
}

std::int32_t cohort_count(cohort_model const* model, std::int32_t* inputs, std::int32_t* outputs) {
  return guarded([&] {
    auto const opened = models().find(model, "model");
    demand(inputs, "inputs");
    demand(outputs, "outputs");
    *inputs = static_cast<std::int32_t>(opened->inputs.size());
    *outputs = static_cast<std::int32_t>(opened->outputs.size());
  });
}

std::int32_t cohort_describe_input(cohort_model const* model, std::int32_t index, cohort_tensor_info* info) {
  return guarded([&] { describe(models().find(model, "model")->inputs, index, info); });
}

std::int32_t cohort_describe_output(cohort_model const* model, std::int32_t index, cohort_tensor_info* info) {
  return guarded([&] { describe(models().find(model, "model")->outputs, index, info); });
}

std::int32_t cohort_class_count(cohort_model const* model, std::int32_t output, std::int32_t* count) {
  return guarded([&] {
    auto const opened = models().find(model, "model");
    demand(count, "count");
    *count = static_cast<std::int32_t>(classes_of(*opened, output).size());
  });
}

std::int32_t cohort_class_name(cohort_model const* model, std::int32_t output, std::int32_t index,
                               char const** name) {
  return guarded([&] {
    auto const opened = models().find(model, "model");
    demand(name, "name");
    std::vector<std::string> const& classes = classes_of(*opened, output);
    if (classes.empty())
      throw cohort::data_error({.what = "the model has no names of classes",
                                .where = {"output ", output},
                                .expected = "a model that was trained on data with class names",
                                .got = "none; cohort_class_count is 0"});
    demand_range(index, 0, static_cast<std::int64_t>(classes.size()) - 1, "index");
    *name = classes[static_cast<std::size_t>(index)].c_str();
  });
}

std::int32_t cohort_predict(cohort_model const* model, std::int32_t count, cohort_input const* inputs,
                            std::size_t input_count, cohort_input const* masks, std::size_t mask_count,
                            cohort_output const* outputs, std::size_t output_count) {
  return guarded([&] {
    auto const opened = models().find(model, "model");
    predict(*opened, batch_of(*opened, count, inputs, input_count, masks, mask_count), nullptr, outputs,
            output_count);
  });
}

std::int32_t cohort_predict_outputs(cohort_model const* model, std::int32_t count, cohort_input const* inputs,
                                    std::size_t input_count, cohort_input const* masks,
                                    std::size_t mask_count, std::int32_t const* indices,
                                    cohort_output const* outputs, std::size_t output_count) {
  return guarded([&] {
    auto const opened = models().find(model, "model");
    cohort::batch_view const call = batch_of(*opened, count, inputs, input_count, masks, mask_count);
    if (output_count > 0) demand(indices, "indices");
    predict(*opened, call, indices, outputs, output_count);
  });
}

std::int32_t cohort_open_stream(cohort_model const* model, std::int32_t sequences, cohort_stream** stream) {
  if (stream) *stream = nullptr;
  return guarded([&] {
    auto const opened = models().find(model, "model");
    demand(stream, "stream");
    demand_range(sequences, 1, most_examples, "sequences");
    *stream = streams().add(std::make_shared<opened_stream>(copy_of(*opened), sequences));
  });
}

std::int32_t cohort_advance(cohort_stream* stream, std::int32_t steps, cohort_input const* inputs,
                            std::size_t input_count, cohort_input const* masks, std::size_t mask_count,
                            float const** output, std::size_t* output_bytes) {
  return guarded([&] {
    auto const opened = streams().find(stream, "stream");
    demand(output, "output");
    demand(output_bytes, "output_bytes");
    demand_range(steps, 1, most_examples, "steps");
    std::unique_lock const lock(opened->busy, std::try_to_lock);
    if (!lock)
      throw busy_error({.what = "another thread advances this stream",
                        .expected = "one call at a time",
                        .got = "a second one; open a stream for each thread"});
    cohort::batch_view const call = batch_of(opened->model.inputs, opened->states.sequences(), steps, inputs,
                                             input_count, masks, mask_count);
    opened->output = opened->states.advance(call).values;
    *output = opened->output.data();
    *output_bytes = opened->output.size() * sizeof(float);
  });
}

std::int32_t cohort_reset(cohort_stream* stream, std::int32_t sequence) {
  return guarded([&] {
    auto const opened = streams().find(stream, "stream");
    demand_range(sequence, -1, opened->states.sequences() - 1, "sequence");
    std::unique_lock const lock(opened->busy, std::try_to_lock);
    if (!lock)
      throw busy_error({.what = "another thread advances this stream",
                        .expected = "one call at a time",
                        .got = "a second one; open a stream for each thread"});
    sequence < 0 ? opened->states.reset() : opened->states.reset(sequence);
  });
}

std::int32_t cohort_close_stream(cohort_stream* stream) {
  return guarded([&] {
    if (stream) streams().remove(stream, "stream");
  });
}
