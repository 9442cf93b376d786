// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cohort/cudnn/dnn_on_gpu.hpp>
#include <cohort/layer/window.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// What a convolution makes of the other two: its output, the gradient of its input, that of its weights.
enum class convolution_pass { output, input, weights };

/// A convolution on dense tensors.
///
/// Shapes    input N×C×H×W, weights K×(C/groups)×R×S, output N×K×H'×W'; what cuDNN takes groups from.
struct convolution_extents {
  shape input, weights, output;
  extent2 stride, dilation;
  border rows, columns;
};

/// One pass of a convolution by cuDNN: the first engine of those that its heuristics name, best first, that keeps to f32 and
/// gives the same bits each time.
///
/// Exact     in f32: engines that round inputs, or use tensor cores (TF32), are left out, and those that are not deterministic.
/// Errors    backend_error naming `where`, if no engine is left.
class convolution_engine {
 public:
  convolution_engine(std::shared_ptr<dnn_on_gpu const> dnn, convolution_pass pass,
                     convolution_extents const& its, std::string const& where)
      : dnn_(std::move(dnn)) {
    dnn_->stream().device().use();
    describe(pass, its);
    if (!choose(CUDNN_HEUR_MODE_A) && !choose(CUDNN_HEUR_MODE_FALLBACK))
      throw backend_error(
          {.what = "cuDNN has no engine for this convolution",
           .where = where,
           .expected = "one in f32 that gives the same bits each time",
           .got = {engines_, " engines, of which ", left_out_, " are not that", refusal_.empty() ? "" : ", the last: ",
                   refusal_}});
    std::int64_t bytes = 0;
    plan_->get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, std::span(&bytes, 1));
    workspace_bytes_ = static_cast<std::size_t>(bytes);
  }

  /// Of memory that a run may use, and another after it.
  std::size_t workspace_bytes() const { return workspace_bytes_; }

  /// Puts it into the stream.
  void run(void* input, void* weights, void* output, void* workspace) const {
    dnn_description operands(*dnn_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    operands.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                 std::array<std::int64_t, 3>{input_id, weights_id, output_id});
    operands.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::array<void*, 3>{input, weights, output});
    operands.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
    operands.finalize();
    dnn_->execute(plan_->handle(), operands.handle());
  }

 private:
  static constexpr std::int64_t input_id = 1, weights_id = 2, output_id = 3;

  dnn_description& add(cudnnBackendDescriptorType_t type) { return parts_.emplace_back(*dnn_, type); }

  dnn_description tensor(std::int64_t id, shape const& dims) const {
    dnn_description made(*dnn_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    std::array<std::int64_t, 4> extents{}, strides{};
    std::int64_t stride = 1;
    for (std::size_t axis = 4; axis-- > 0; stride *= extents[axis]) {
      extents[axis] = dims[static_cast<int>(axis)];
      strides[axis] = stride;
    }
    made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
    made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
    made.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
    made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16});
    made.finalize();
    return made;
  }

  dnn_description moving(convolution_extents const& its) const {
    using pair = std::array<std::int64_t, 2>;
    dnn_description made(*dnn_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
    made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
    made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, pair{its.dilation.height, its.dilation.width});
    made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, pair{its.stride.height, its.stride.width});
    made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, pair{its.rows.before, its.columns.before});
    made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, pair{its.rows.after, its.columns.after});
    made.finalize();
    return made;
  }

  /// The operation's type and the names of its attributes.
  struct names {
    cudnnBackendDescriptorType_t operation;
    cudnnBackendAttributeName_t alpha, beta, moving, input, weights, output;
  };
  static names names_of(convolution_pass pass) {
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

  void describe(convolution_pass pass, convolution_extents const& its) {
    names const of = names_of(pass);
    parts_.reserve(6);  // the operation and the graph keep no copies of what they name
    parts_.push_back(tensor(input_id, its.input));
    parts_.push_back(tensor(weights_id, its.weights));
    parts_.push_back(tensor(output_id, its.output));
    parts_.push_back(moving(its));
    dnn_description& operation = add(of.operation);
    operation.set(of.alpha, 1.0F);
    operation.set(of.beta, 0.0F);
    operation.set(of.input, parts_[0]);
    operation.set(of.weights, parts_[1]);
    operation.set(of.output, parts_[2]);
    operation.set(of.moving, parts_[3]);
    operation.finalize();
    dnn_description& graph = add(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, dnn_->handle());
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    graph.finalize();
  }

  /// Whether one of these engines can be used: then it is the plan.
  bool choose(cudnnBackendHeurMode_t mode) {
    dnn_description wanted(*dnn_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    wanted.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, parts_.back());
    wanted.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
    if (cudnnStatus_t const status = wanted.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
      refusal_ = dnn_->functions().error_text(status);
      return false;
    }
    std::vector<dnn_description> found;
    std::vector<cudnnBackendDescriptor_t> handles;
    for (std::size_t i = wanted.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::span<cudnnBackendDescriptor_t>());
         i > 0; --i)
      handles.push_back(found.emplace_back(*dnn_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).handle());
    std::size_t const count =
        std::min(wanted.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, std::span(handles)), handles.size());
    for (std::size_t i = 0; i < count; ++i) {
      ++engines_;
      if (!is_exact(found[i])) {
        ++left_out_;
        continue;
      }
      dnn_description plan(*dnn_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, dnn_->handle());
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, found[i]);
      if (cudnnStatus_t const status = plan.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
        refusal_ = dnn_->functions().error_text(status);
        continue;
      }
      engine_.emplace(std::move(found[i]));
      plan_.emplace(std::move(plan));
      return true;
    }
    return false;
  }

  bool is_exact(dnn_description const& configuration) const {
    dnn_description engine(*dnn_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t handle = engine.handle();
    configuration.get(CUDNN_ATTR_ENGINECFG_ENGINE, std::span(&handle, 1));
    std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
    std::size_t const count =
        engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, std::span<cudnnBackendNumericalNote_t>(notes));
    for (std::size_t i = 0; i < std::min(count, notes.size()); ++i)
      for (cudnnBackendNumericalNote_t const unwanted :
           {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
            CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC})
        if (notes[i] == unwanted) return false;
    return true;
  }

  std::shared_ptr<dnn_on_gpu const> dnn_;
  std::vector<dnn_description> parts_;  // tensors, the window, the operation, the graph
  std::optional<dnn_description> engine_;
  std::optional<dnn_description> plan_;
  std::size_t workspace_bytes_ = 0;
  int engines_ = 0, left_out_ = 0;
  std::string refusal_;
};

}  // namespace cohort::detail
