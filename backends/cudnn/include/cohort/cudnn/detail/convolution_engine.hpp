// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/dnn_on_gpu.hpp>
#include <cohort/cudnn/detail/gpu_layout.hpp>
#include <cohort/cudnn/detail/product_precision.hpp>
#include <cohort/layer/detail/sliding_window.hpp>
#include <cohort/plan/tuning.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// The tensor that a pass computes from the other two: output, gradient of the input, or gradient of the
/// weights.
enum class convolution_pass { output, input, weights };

/// Sizes of a convolution on packed tensors. All tensors have the same order of axes, and are f32 or, if
/// `narrow`, bf16: cuDNN has no engines for mixed types, such as f32 gradients of weights from bf16 images.
///
/// Shapes    input N×C×H×W, weights K×(C/groups)×R×S, output N×K×H'×W'. cuDNN infers the groups from these
///           shapes.
struct convolution_extents {
  shape input, weights, output;
  extent2 stride, dilation;
  border rows, columns;
  bool channels_last = false, narrow = false;

  std::size_t bytes(shape const& of) const { return elements_of(of) * (narrow ? 2 : 4); }
  bool is_symmetric() const { return rows.before == rows.after && columns.before == columns.after; }
};

/// Thrown if cuDNN has no engine that meets the requirements.
struct no_convolution_engine : backend_error {
  using backend_error::backend_error;
};

/// One pass of a convolution by cuDNN. Uses the first engine that keeps the precision and is deterministic,
/// in the order of cuDNN's heuristics: mode A, then mode B, then the fallback mode. With `by`, up to eight
/// such engines are timed, and the fastest is used. The candidates are from all modes, because mode A often
/// lists a single engine.
///
/// Before    run requires found(); operands aligned to 16 bytes; the workspace aligned to
///           workspace_alignment.
/// Exact     engines that round inputs or sums to less than the requested precision are excluded, and so are
///           non-deterministic engines. In f32, engines that use tensor cores are excluded too, because they
///           round to TF32.
/// Errors    backend_error with cuDNN's message if the description is invalid.
class convolution_engine {
 public:
  static constexpr std::size_t workspace_alignment = 256;  // the alignment of CUDA's allocations

  /// Returns `at`, rounded up to workspace_alignment.
  static void* aligned(std::byte* at);

  convolution_engine(std::shared_ptr<dnn_on_gpu const> dnn, convolution_pass pass,
                     convolution_extents const& extents, product_precision products = product_precision::f32,
                     tuning* by = nullptr);

  bool found() const { return !plans_.empty(); }
  /// Throws no_convolution_engine with the reason and the name `where`.
  [[noreturn]] void refuse(std::string const& where) const;

  /// Returns the engine's number, as used in cuDNN's release notes.
  std::int64_t number() const { return plans_[0].number; }
  /// Returns the workspace bytes that a run needs. Consecutive runs may share a workspace.
  std::size_t workspace_bytes() const { return plans_[0].workspace_bytes; }

  /// Enqueues the pass.
  void run(void* input, void* weights, void* output, void* workspace) const;

 private:
  static constexpr std::int64_t input_id = 1, weights_id = 2, output_id = 3;
  static constexpr std::size_t max_timed = 8;

  /// A usable engine in one configuration.
  struct usable {
    dnn_description configuration, plan;
    std::int64_t number = -1;
    std::size_t workspace_bytes = 0;
  };

  void find_engines(convolution_pass pass, convolution_extents const& extents);

  void run(usable const& engine, void* input, void* weights, void* output, void* workspace) const;

  void choose_fastest(tuning& by, convolution_pass pass, convolution_extents const& extents);

  dnn_description tensor(std::int64_t id, shape const& dims, bool channels_last, bool is_narrow) const;

  dnn_description convolution(convolution_extents const& extents) const;

  /// Descriptor type of the operation and names of its attributes.
  struct names {
    cudnnBackendDescriptorType_t operation;
    cudnnBackendAttributeName_t alpha, beta, convolution, input, weights, output;
  };
  static names names_of(convolution_pass pass);

  /// Describes the graph to cuDNN.
  void describe(convolution_pass pass, convolution_extents const& extents);
  /// Finalizes a description. On failure stores cuDNN's status in refusal_ and returns false.
  bool accepts(dnn_description& one);

  /// Adds plans for the usable engines of a heuristic mode that earlier modes have not listed, in order,
  /// until there are max_plans_ plans.
  void choose(cudnnBackendHeurMode_t mode);

  /// Adds a plan for an engine configuration, if the engine is not among `known`, keeps the precision, and
  /// cuDNN can build the plan.
  void add_plan(dnn_description configuration, std::span<std::int64_t const> known);

  std::string describe_text(convolution_pass pass, convolution_extents const& extents) const;

  /// Returns whether the engine keeps the precision and is deterministic. False if the engine has more
  /// numerical notes than this cuDNN header defines: an unknown note may state a lower precision.
  bool keeps_precision(dnn_description const& engine) const;

  std::shared_ptr<dnn_on_gpu const> dnn_;
  product_precision products_;
  std::vector<dnn_description> parts_;  // tensors, convolution, operation, graph
  std::size_t max_plans_;               // plans to build
  std::vector<usable> plans_;           // plans_[0] is used
  int engines_ = 0, rejected_ = 0;
  std::string refusal_;
};

}  // namespace cohort::detail
