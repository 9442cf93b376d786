// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/cudnn/detail/autotuned_choice.hpp>
#include <cohort/cudnn/detail/convolution_engine.hpp>
#include <span>
#include <utility>

namespace cohort::detail {

void* convolution_engine::aligned(std::byte* at) {
  return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(at) + workspace_alignment - 1)
                                 / workspace_alignment * workspace_alignment);
}

convolution_engine::convolution_engine(std::shared_ptr<dnn_on_gpu const> dnn, convolution_pass pass,
                                       convolution_extents const& extents, product_precision products,
                                       tuning* by)
    : dnn_(std::move(dnn)), products_(products), max_plans_(by ? max_timed : 1) {
  find_engines(pass, extents);
  if (by && plans_.size() > 1) choose_fastest(*by, pass, extents);
}

void convolution_engine::refuse(std::string const& where) const {
  throw no_convolution_engine({.what = "cuDNN has no engine for this convolution",
                               .where = where,
                               .expected = {"a deterministic engine in ", name_of(products_),
                                            products_ == product_precision::f32 ? "" : " or f32"},
                               .got = {engines_, " engines, ", rejected_, " of them rejected",
                                       refusal_.empty() ? "" : ", status " + refusal_}});
}

void convolution_engine::run(void* input, void* weights, void* output, void* workspace) const {
  run(plans_[0], input, weights, output, workspace);
}

void convolution_engine::find_engines(convolution_pass pass, convolution_extents const& extents) {
  auto const held = dnn_->lock_handle();
  describe(pass, extents);
  for (auto const mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK})
    if (plans_.size() < max_plans_) choose(mode);
}

void convolution_engine::run(usable const& engine, void* input, void* weights, void* output,
                             void* workspace) const {
  dnn_description operands(*dnn_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  operands.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
               std::array<std::int64_t, 3>{input_id, weights_id, output_id});
  operands.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::array<void*, 3>{input, weights, output});
  operands.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, engine.workspace_bytes > 0 ? workspace : nullptr);
  operands.finalize();
  dnn_->execute(engine.plan.handle(), operands.handle());
}

void convolution_engine::choose_fastest(tuning& by, convolution_pass pass,
                                        convolution_extents const& extents) {
  std::vector<std::string> names;
  std::vector<std::int64_t> numbers;
  for (usable const& one : plans_) {
    auto const before = std::count(numbers.begin(), numbers.end(), one.number);
    names.push_back("engine " + std::to_string(one.number)
                    + (before > 0 ? ", configuration " + std::to_string(before + 1) : ""));
    numbers.push_back(one.number);
  }
  std::vector<buffer> memory;
  auto const enqueue = [&](std::size_t candidate) {
    if (memory.empty()) {
      std::size_t room = 0;
      for (usable const& one : plans_) room = std::max(room, one.workspace_bytes);
      for (std::size_t const bytes : {extents.bytes(extents.input), extents.bytes(extents.weights),
                                      extents.bytes(extents.output), room + workspace_alignment})
        memory.push_back(timing_buffer(dnn_->shared_stream(), bytes));
    }
    run(plans_[candidate], memory[0].data(), memory[1].data(), memory[2].data(), aligned(memory[3].data()));
  };
  std::size_t const chosen = autotuned_choice(
      by, dnn_->stream(),
      text_of({"cuDNN ", dnn_->functions().version(), ", ", describe_text(pass, extents)}), names, enqueue);
  std::swap(plans_[0], plans_[chosen]);
  plans_.erase(plans_.begin() + 1, plans_.end());
}

dnn_description convolution_engine::tensor(std::int64_t id, shape const& dims, bool channels_last,
                                           bool is_narrow) const {
  dnn_description made(*dnn_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  std::array<std::int64_t, 4> extents{}, strides{};
  std::int64_t stride = 1;
  for (int const axis : channels_last ? std::array{1, 3, 2, 0} : std::array{3, 2, 1, 0}) {
    auto const at = static_cast<std::size_t>(axis);
    extents[at] = dims[axis];
    strides[at] = stride;
    stride *= extents[at];
  }
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, is_narrow ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16});
  made.finalize();
  return made;
}

dnn_description convolution_engine::convolution(convolution_extents const& extents) const {
  using pair = std::array<std::int64_t, 2>;
  dnn_description made(*dnn_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
  made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, pair{extents.dilation.height, extents.dilation.width});
  made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, pair{extents.stride.height, extents.stride.width});
  made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, pair{extents.rows.before, extents.columns.before});
  made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, pair{extents.rows.after, extents.columns.after});
  made.finalize();
  return made;
}

convolution_engine::names convolution_engine::names_of(convolution_pass pass) {
  switch (pass) {
    case convolution_pass::input:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
    case convolution_pass::weights:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
  }
}

void convolution_engine::describe(convolution_pass pass, convolution_extents const& extents) {
  names const of = names_of(pass);
  parts_.push_back(tensor(input_id, extents.input, extents.channels_last, extents.narrow));
  parts_.push_back(tensor(weights_id, extents.weights, extents.channels_last, extents.narrow));
  parts_.push_back(tensor(output_id, extents.output, extents.channels_last, extents.narrow));
  parts_.push_back(convolution(extents));
  dnn_description operation(*dnn_, of.operation);
  operation.set(of.alpha, 1.0F);
  operation.set(of.beta, 0.0F);
  operation.set(of.input, parts_[0]);
  operation.set(of.weights, parts_[1]);
  operation.set(of.output, parts_[2]);
  operation.set(of.convolution, parts_[3]);
  operation.finalize();
  parts_.push_back(std::move(operation));
  dnn_description graph(*dnn_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, dnn_->handle());
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, parts_[4]);
  graph.finalize();
  parts_.push_back(std::move(graph));
}

bool convolution_engine::accepts(dnn_description& one) {
  cudnnStatus_t const status = one.try_finalize();
  if (status != CUDNN_STATUS_SUCCESS) refusal_ = dnn_->functions().error_text(status);
  return status == CUDNN_STATUS_SUCCESS;
}

void convolution_engine::choose(cudnnBackendHeurMode_t mode) {
  dnn_description wanted(*dnn_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  wanted.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, parts_.back());
  wanted.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (!accepts(wanted)) return;
  std::vector<dnn_description> found;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::size_t i = wanted.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::span<cudnnBackendDescriptor_t>());
       i > 0; --i)
    handles.push_back(found.emplace_back(*dnn_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).handle());
  std::size_t const count =
      std::min(wanted.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::span(handles)), handles.size());
  std::vector<std::int64_t> known;
  for (usable const& one : plans_) known.push_back(one.number);
  for (std::size_t i = 0; i < count && plans_.size() < max_plans_; ++i) {
    ++engines_;
    add_plan(std::move(found[i]), known);
  }
}

void convolution_engine::add_plan(dnn_description configuration, std::span<std::int64_t const> known) {
  dnn_description engine(*dnn_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.handle();
  configuration.get(CUDNN_ATTR_ENGINECFG_ENGINE, std::span(&handle, 1));
  std::int64_t number = -1, bytes = 0;
  engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, std::span(&number, 1));
  if (std::find(known.begin(), known.end(), number) != known.end()) return;
  if (!keeps_precision(engine)) {
    ++rejected_;
    return;
  }
  dnn_description plan(*dnn_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, dnn_->handle());
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (!accepts(plan)) return;
  plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, std::span(&bytes, 1));
  plans_.push_back({std::move(configuration), std::move(plan), number, static_cast<std::size_t>(bytes)});
}

std::string convolution_engine::describe_text(convolution_pass pass,
                                              convolution_extents const& extents) const {
  auto const sides = [](border const& one) { return text_of({one.before, '+', one.after}); };
  return text_of({"convolution's ",
                  pass == convolution_pass::output  ? "output"
                  : pass == convolution_pass::input ? "input"
                                                    : "weights",
                  ", input ",
                  to_string(extents.input),
                  ", weights ",
                  to_string(extents.weights),
                  ", output ",
                  to_string(extents.output),
                  ", stride ",
                  extents.stride.height,
                  'x',
                  extents.stride.width,
                  ", dilation ",
                  extents.dilation.height,
                  'x',
                  extents.dilation.width,
                  ", padding ",
                  sides(extents.rows),
                  ' ',
                  sides(extents.columns),
                  extents.channels_last ? ", channels last" : "",
                  extents.narrow ? ", bf16" : "",
                  ", by ",
                  name_of(products_)});
}

bool convolution_engine::keeps_precision(dnn_description const& engine) const {
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  std::size_t const count =
      engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, std::span<cudnnBackendNumericalNote_t>(notes));
  if (count > notes.size()) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE && products_ == product_precision::f32) return false;
    for (cudnnBackendNumericalNote_t const unwanted :
         {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
          CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC})
      if (notes[i] == unwanted) return false;
  }
  return true;
}

}  // namespace cohort::detail
