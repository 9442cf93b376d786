// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cohort/cudnn/detail/cudnn_functions.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "fake_convolution.hpp"
#include "fake_numbers.hpp"

/// Behaviour of a simulated cuDNN: the engines that its heuristics list, and their behaviour.
struct fake_choices {
  std::vector<fake_engine> best{
      {1, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}},
      {2, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}},
      {3, {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_TENSOR_CORE}},
      {4, {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}},
      {5, {}, false},
      {6, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, true, 1000},
      {7, {}}};
  std::vector<fake_engine> second{};  ///< engines of mode B
  std::vector<fake_engine> fallback{{20, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}}, {21, {}}};
  std::set<std::int64_t> failing_modes{};  ///< modes of the heuristics that fail
  int capability = 90;                     ///< compute capability of the GPU
  /// Whether engines with tensor cores require a multiple of 4 (f32) or 8 channels, and Winograd engines
  /// require 3×3 kernels with stride 1.
  bool varies_with_shape = true;
  bool pads_each_side = true;  ///< false: no engines for paddings that differ per side
  bool takes_narrow = true;
  bool takes_channels_first = true, takes_channels_last = true;
  bool computes = true;    ///< false: all results are zero
  std::int64_t fails = 0;  ///< number of an engine that fails
};

/// cuDNN's graph API by plain loops, on the processor's memory: graphs of one convolution in f32 or bf16, or
/// in TF32 by engines that use tensor cores, channels first or channels last. It rejects uses that the real
/// library might interpret differently: other types and strides, sizes that do not match, missing attributes,
/// descriptors used before they are finalized or after they are destroyed, and operands in another layout
/// than described.
///
/// Order     all machines share this state. A test that changes the state first creates a `settings` object,
///           which restores the state.
struct fake_dnn {
  using engine = fake_engine;
  static inline fake_choices now{};
  static inline std::map<std::int64_t, int> runs{};  ///< per engine
  static inline std::atomic<int> handles = 0;        ///< handles created and not destroyed
  static int descriptions() { return static_cast<int>(alive().size()); }

  struct settings {
    settings() {
      now = {};
      runs.clear();
    }
    settings(settings const&) = delete;
    settings& operator=(settings const&) = delete;
    ~settings() { now = {}; }
  };

  using stream_put = void (*)(void* stream, std::function<void()> work);

  /// `current`: returns whether the calling thread has the GPU's context. `into_stream`: enqueues
  /// convolutions.
  static cohort::detail::cudnn_functions functions(bool (*current)(), stream_put into_stream) {
    context_is_current = current;
    put_into = into_stream;
    cohort::detail::cudnn_functions made;
    made.error_text = [](cudnnStatus_t status) {
      return status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
             : status == CUDNN_STATUS_BAD_PARAM   ? "CUDNN_STATUS_BAD_PARAM"
                                                  : "CUDNN_STATUS_OTHER";
    };
    made.create = [](cudnnHandle_t* handle) {
      if (!context_is_current()) return CUDNN_STATUS_NOT_INITIALIZED;
      *handle = reinterpret_cast<cudnnHandle_t>(new void*(nullptr));  // its stream
      ++handles;
      return CUDNN_STATUS_SUCCESS;
    };
    made.destroy = [](cudnnHandle_t handle) {
      delete reinterpret_cast<void**>(handle);
      --handles;
      return CUDNN_STATUS_SUCCESS;
    };
    made.set_stream = [](cudnnHandle_t handle, cudaStream_t stream) {
      if (!handle || !stream) return CUDNN_STATUS_BAD_PARAM;
      *reinterpret_cast<void**>(handle) = stream;
      return CUDNN_STATUS_SUCCESS;
    };
    made.create_descriptor = [](cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* made_one) {
      std::lock_guard const in_turn(working);
      auto* const one = new description{.type = type};
      alive().insert(one);
      *made_one = one;
      return CUDNN_STATUS_SUCCESS;
    };
    made.destroy_descriptor = [](cudnnBackendDescriptor_t one) {
      std::lock_guard const in_turn(working);
      if (alive().erase(one) == 0) return CUDNN_STATUS_BAD_PARAM;
      delete static_cast<description*>(one);
      return CUDNN_STATUS_SUCCESS;
    };
    made.set_attribute = [](cudnnBackendDescriptor_t one, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, std::int64_t count, void const* values) {
      std::lock_guard const in_turn(working);
      return alive().contains(one) ? static_cast<description*>(one)->set(name, type, count, values)
                                   : CUDNN_STATUS_BAD_PARAM;
    };
    made.get_attribute = [](cudnnBackendDescriptor_t one, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, std::int64_t wanted, std::int64_t* count,
                            void* values) {
      std::lock_guard const in_turn(working);
      return alive().contains(one) ? get(*static_cast<description*>(one), name, type, wanted, count, values)
                                   : CUDNN_STATUS_BAD_PARAM;
    };
    made.finalize = [](cudnnBackendDescriptor_t one) {
      std::lock_guard const in_turn(working);
      if (!alive().contains(one)) return CUDNN_STATUS_BAD_PARAM;
      cudnnStatus_t const status = finalize(*static_cast<description*>(one));
      static_cast<description*>(one)->finalized = status == CUDNN_STATUS_SUCCESS;
      return status;
    };
    made.execute = [](cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
      std::lock_guard const in_turn(working);
      if (!handle || !context_is_current() || !alive().contains(plan) || !alive().contains(pack))
        return CUDNN_STATUS_BAD_PARAM;
      return execute(*static_cast<description*>(plan), *static_cast<description*>(pack),
                     *reinterpret_cast<void**>(handle));
    };
    return made;
  }

 private:
  static inline std::mutex working;
  static inline bool (*context_is_current)() = nullptr;
  static inline stream_put put_into = nullptr;

  using description = fake_description;
  using convolution = fake_convolution;
  static std::set<void*>& alive() { return description::alive(); }

  static bool suits(engine const& one, convolution const& its) {
    auto const has = [&](cudnnBackendNumericalNote_t note) {
      return std::find(one.notes.begin(), one.notes.end(), note) != one.notes.end();
    };
    std::int64_t const multiple = its.has_narrow() ? 8 : 4;
    bool const is_aligned = convolution::extent(its.weights, 0) % multiple == 0
                            && convolution::extent(its.weights, 1) % multiple == 0;
    bool const is_3x3 = convolution::extent(its.weights, 2) == 3 && convolution::extent(its.weights, 3) == 3
                        && its.step(0) == 1 && its.step(1) == 1;
    return (is_aligned || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE))
           && (is_3x3 || !has(CUDNN_NUMERICAL_NOTE_WINOGRAD));
  }
  static cudnnStatus_t finalize(description& of);
  static cudnnStatus_t get(description& of, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t as,
                           std::int64_t wanted, std::int64_t* count, void* values);
  static cudnnStatus_t execute(description& plan, description& pack, void* stream);
};

inline cudnnStatus_t fake_dnn::finalize(description& of) {
  for (fake_attribute const& one : fake_attributes_of(of.type))
    if (!of.numbers.contains(one.name) && !of.pointers.contains(one.name) && !of.scalars.contains(one.name))
      return CUDNN_STATUS_BAD_PARAM;
  switch (of.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: {
      bool const last =
          of.at(CUDNN_ATTR_TENSOR_STRIDES, 1) == 1 && of.at(CUDNN_ATTR_TENSOR_DIMENSIONS, 1) > 1;
      std::int64_t stride = 1;
      for (std::size_t const axis : last ? std::array{1, 3, 2, 0} : std::array{3, 2, 1, 0}) {
        if (of.at(CUDNN_ATTR_TENSOR_DIMENSIONS, axis) < 1
            || (of.at(CUDNN_ATTR_TENSOR_STRIDES, axis) != stride
                && of.at(CUDNN_ATTR_TENSOR_DIMENSIONS, axis) > 1))
          return CUDNN_STATUS_NOT_SUPPORTED;
        stride *= of.at(CUDNN_ATTR_TENSOR_DIMENSIONS, axis);
      }
      std::int64_t const type = of.at(CUDNN_ATTR_TENSOR_DATA_TYPE);
      return (type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_BFLOAT16)
                     && of.at(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) % 4 == 0
                 ? CUDNN_STATUS_SUCCESS
                 : CUDNN_STATUS_NOT_SUPPORTED;
    }
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      for (std::size_t axis = 0; axis < 2; ++axis)
        if (of.at(CUDNN_ATTR_CONVOLUTION_DILATIONS, axis) < 1
            || of.at(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, axis) < 1
            || of.at(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, axis) < 0
            || of.at(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, axis) < 0)
          return CUDNN_STATUS_BAD_PARAM;
      return of.at(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) == CUDNN_DATA_FLOAT
                     && of.at(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION
                     && of.at(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) == 2
                 ? CUDNN_STATUS_SUCCESS
                 : CUDNN_STATUS_NOT_SUPPORTED;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR: {
      convolution const its(of);
      return its.fits() && its.alpha == 1 && its.beta == 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
    }
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: {
      void* const operation = of.pointers.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)[0];
      if (!alive().contains(operation) || !static_cast<description*>(operation)->finalized)
        return CUDNN_STATUS_BAD_PARAM;
      of.graph = static_cast<description*>(operation);
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      of.graph = of.other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
      if (!of.graph) return CUDNN_STATUS_BAD_PARAM;
      return now.failing_modes.contains(of.at(CUDNN_ATTR_ENGINEHEUR_MODE)) ? CUDNN_STATUS_NOT_SUPPORTED
                                                                           : CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
      description* const configuration =
          of.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      if (!configuration) return CUDNN_STATUS_BAD_PARAM;
      of.chosen = configuration->chosen;
      of.graph = configuration->graph;
      return of.chosen.can_plan ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
    }
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return CUDNN_STATUS_SUCCESS;
    default:
      return CUDNN_STATUS_BAD_PARAM;
  }
}

inline cudnnStatus_t fake_dnn::get(description& of, cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t as, std::int64_t wanted, std::int64_t* count,
                                   void* values) {
  auto const give = [&](auto const& from, cudnnBackendAttributeType_t type) {
    if (as != type) return CUDNN_STATUS_BAD_PARAM;
    *count = static_cast<std::int64_t>(from.size());
    for (std::size_t i = 0; i < from.size() && static_cast<std::int64_t>(i) < wanted; ++i)
      std::memcpy(static_cast<std::byte*>(values) + i * sizeof from[0], &from[i], sizeof from[0]);
    return CUDNN_STATUS_SUCCESS;
  };
  // fills another descriptor that the caller has created
  auto const fill = [&](void* given, cudnnBackendDescriptorType_t type, engine const& by,
                        description* graph) {
    if (!alive().contains(given)) return CUDNN_STATUS_BAD_PARAM;
    auto* const one = static_cast<description*>(given);
    if (one->type != type || one->finalized) return CUDNN_STATUS_BAD_PARAM;
    one->chosen = by;
    one->graph = graph;
    one->finalized = true;
    return CUDNN_STATUS_SUCCESS;
  };
  if (!of.finalized) return CUDNN_STATUS_BAD_PARAM;
  if (of.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR && name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    convolution const its(*of.graph->graph);
    bool const names_any = (now.takes_narrow || !its.has_narrow())
                           && (now.pads_each_side || its.is_symmetric()) && !its.mixes_types()
                           && (its.is_channels_last() ? now.takes_channels_last
                                                      : now.takes_channels_first || !its.has_an_order());
    std::vector<engine> named = !names_any ? std::vector<engine>()
                                : of.at(CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_A ? now.best
                                : of.at(CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_B ? now.second
                                                                                         : now.fallback;
    std::erase_if(named, [](engine const& one) { return one.from_capability > now.capability; });
    if (now.varies_with_shape) std::erase_if(named, [&](engine const& one) { return !suits(one, its); });
    *count = static_cast<std::int64_t>(named.size());
    for (std::size_t i = 0; i < named.size() && static_cast<std::int64_t>(i) < wanted; ++i)
      if (cudnnStatus_t const status = fill(static_cast<void**>(values)[i],
                                            CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, named[i], of.graph->graph);
          status != CUDNN_STATUS_SUCCESS || as != CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return CUDNN_STATUS_BAD_PARAM;
    return CUDNN_STATUS_SUCCESS;
  }
  if (of.type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR && name == CUDNN_ATTR_ENGINECFG_ENGINE && wanted == 1) {
    *count = 1;
    return fill(*static_cast<void**>(values), CUDNN_BACKEND_ENGINE_DESCRIPTOR, of.chosen, of.graph);
  }
  if (of.type == CUDNN_BACKEND_ENGINE_DESCRIPTOR && name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE)
    return give(of.chosen.notes, CUDNN_TYPE_NUMERICAL_NOTE);
  if (of.type == CUDNN_BACKEND_ENGINE_DESCRIPTOR && name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX)
    return give(std::vector{of.chosen.number}, CUDNN_TYPE_INT64);
  if (of.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
    return give(std::vector{of.chosen.workspace}, CUDNN_TYPE_INT64);
  return CUDNN_STATUS_BAD_PARAM;
}

inline cudnnStatus_t fake_dnn::execute(description& plan, description& pack, void* stream) {
  if (!plan.finalized || !pack.finalized || plan.type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR
      || pack.type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR || !alive().contains(plan.graph))
    return CUDNN_STATUS_BAD_PARAM;
  convolution const its(*plan.graph);
  if (!its.fits()) return CUDNN_STATUS_BAD_PARAM;
  struct piece {
    std::byte *begin, *end;
  };
  std::vector<piece> pieces;
  auto const operand = [&](description const& tensor) -> fake_tensor {
    for (std::size_t i = 0; i < 3; ++i)
      if (pack.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, i) == tensor.at(CUDNN_ATTR_TENSOR_UNIQUE_ID)) {
        void* const found = pack.pointers.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)[i];
        auto* const begin = static_cast<std::byte*>(found);
        bool const aligned = reinterpret_cast<std::uintptr_t>(found)
                                 % static_cast<std::uintptr_t>(tensor.at(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT))
                             == 0;
        bool const is_narrow = tensor.at(CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_BFLOAT16;
        pieces.push_back({begin, begin + convolution::elements(tensor) * (is_narrow ? 2 : 4)});
        return {aligned ? found : nullptr, is_narrow};
      }
    return {};
  };
  fake_tensor const x = operand(*its.input), w = operand(*its.weights), y = operand(*its.output);
  auto* const workspace = static_cast<std::byte*>(pack.pointers.at(CUDNN_ATTR_VARIANT_PACK_WORKSPACE)[0]);
  if (!x.at || !w.at || !y.at || (plan.chosen.workspace > 0) != (workspace != nullptr)
      || reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0)
    return CUDNN_STATUS_BAD_PARAM;
  if (workspace) pieces.push_back({workspace, workspace + plan.chosen.workspace});
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (pieces[i].begin < pieces[j].end && pieces[j].begin < pieces[i].end) return CUDNN_STATUS_BAD_PARAM;
  if (plan.chosen.number == now.fails) return CUDNN_STATUS_NOT_SUPPORTED;
  ++runs[plan.chosen.number];
  auto const& notes = plan.chosen.notes;
  bool const in_tf32 = std::find(notes.begin(), notes.end(), CUDNN_NUMERICAL_NOTE_TENSOR_CORE) != notes.end();
  auto const product = [in_tf32](float a, float b) { return in_tf32 ? to_tf32(a) * to_tf32(b) : a * b; };
  fake_tensor const to = its.written == its.input ? x : its.written == its.weights ? w : y;
  auto const written = static_cast<std::size_t>(convolution::elements(*its.written));
  put_into(stream, [=, bytes = static_cast<std::size_t>(plan.chosen.workspace), computes = now.computes,
                    loops = its.loops()] {
    if (workspace) std::memset(workspace, 0xff, bytes);
    std::vector<float> sums(written);
    if (computes)
      loops.each_product([&](std::int64_t i, std::int64_t k, std::int64_t o) {
        if (to.at == y.at)
          sums[static_cast<std::size_t>(o)] += product(w[k], x[i]);
        else if (to.at == x.at)
          sums[static_cast<std::size_t>(i)] += product(w[k], y[o]);
        else
          sums[static_cast<std::size_t>(k)] += product(x[i], y[o]);
      });
    for (std::size_t i = 0; i < written; ++i) to.put(static_cast<std::int64_t>(i), sums[i]);
  });
  return CUDNN_STATUS_SUCCESS;
}
