// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/dnn_on_gpu.hpp>
#include <cohort/cudnn/detail/gpu_layout.hpp>
#include <cohort/cudnn/detail/product_precision.hpp>
#include <cohort/layer/window.hpp>
#include <cohort/plan/tuning.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cohort::detail {

/// What a convolution makes of the other two: its output, the gradient of its input, that of its weights.
enum class convolution_pass { output, input, weights };

/// A convolution on dense tensors, all in one order; f32, but `narrow` ones are bf16.
///
/// Shapes    input N×C×H×W, weights K×(C/groups)×R×S, output N×K×H'×W'; what cuDNN takes groups from.
struct convolution_extents {
  shape input, weights, output;
  extent2 stride, dilation;
  border rows, columns;
  bool channels_last = false, narrow_images = false, narrow_weights = false;

  static std::size_t bytes(shape const& of, bool is_narrow) { return elements_of(of) * (is_narrow ? 2 : 4); }
  bool is_symmetric() const { return rows.before == rows.after && columns.before == columns.after; }
};

/// cuDNN has no engine that is fit.
struct no_convolution_engine : backend_error {
  using backend_error::backend_error;
};

/// One pass of a convolution by cuDNN: the first engine of those that its heuristics name, best first, that keeps to the precision
/// and gives the same bits each time; where a tuning is given, the fastest of the first eight such.
///
/// Before    run: found(); operands lie on 16 bytes, the workspace on workspace_alignment.
/// Exact     engines that round inputs or sums to less than was asked for are left out, and those that are not deterministic: in f32
///           also those that use tensor cores, which round to TF32.
/// Errors    backend_error with what cuDNN says of the description; but a mix of types that it does not know is not found().
class convolution_engine {
 public:
  static constexpr std::size_t workspace_alignment = 256;  // what CUDA's own allocations have

  /// The first place for a workspace in memory that has workspace_alignment more.
  static void* aligned(std::byte* at);

  /// Asks what is best, or what may do where nothing is.
  enum class search { best, fallback, both };

  convolution_engine(std::shared_ptr<dnn_on_gpu const> dnn, convolution_pass pass,
                     convolution_extents const& its, product_precision products = product_precision::f32,
                     search among = search::both, tuning* by = nullptr);

  bool found() const { return !plans_.empty(); }
  /// What stood against it, naming `where`.
  [[noreturn]] void refuse(std::string const& where) const;

  /// The engine's number, by which cuDNN's release notes name it.
  std::int64_t number() const { return plans_[0].number; }
  /// Of memory that a run may use, and another after it.
  std::size_t workspace_bytes() const { return plans_[0].workspace_bytes; }

  /// Puts it into the stream.
  void run(void* input, void* weights, void* output, void* workspace) const;

 private:
  static constexpr std::int64_t input_id = 1, weights_id = 2, output_id = 3;
  static constexpr std::size_t most_to_time = 8;

  /// An engine that can be used, as it is configured.
  struct usable {
    dnn_description configuration, plan;
    std::int64_t number = -1;
    std::size_t workspace_bytes = 0;
  };

  void look(convolution_pass pass, convolution_extents const& its, search among);

  void run(usable const& engine, void* input, void* weights, void* output, void* workspace) const;

  void take_fastest(tuning& by, convolution_pass pass, convolution_extents const& its);

  dnn_description tensor(std::int64_t id, shape const& dims, bool channels_last, bool is_narrow) const;

  dnn_description moving(convolution_extents const& its) const;

  /// The operation's type and the names of its attributes.
  struct names {
    cudnnBackendDescriptorType_t operation;
    cudnnBackendAttributeName_t alpha, beta, moving, input, weights, output;
  };
  static names names_of(convolution_pass pass);

  /// Whether cuDNN knows such a graph: tensors of two types it may not know, all others it has to.
  bool describe(convolution_pass pass, convolution_extents const& its);
  bool accepts(dnn_description& one);

  /// Whether one of these engines can be used; the first ones that can are plans.
  bool choose(cudnnBackendHeurMode_t mode);

  /// Makes a plan by an engine as it is configured, if it keeps to the precision and cuDNN can.
  void take(dnn_description configuration);

  std::string describe_text(convolution_pass pass, convolution_extents const& its) const;

  /// An engine with more notes than there were when this was written does not: one may say so.
  bool keeps_precision(dnn_description const& engine) const;

  std::shared_ptr<dnn_on_gpu const> dnn_;
  product_precision products_;
  std::vector<dnn_description> parts_;  // tensors, the window, the operation, the graph
  std::size_t most_;                    // plans that are made
  std::vector<usable> plans_;           // the first one is used
  int engines_ = 0, left_out_ = 0;
  std::string refusal_;
};

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/convolution_engine.ipp>
#endif
