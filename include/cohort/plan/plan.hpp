// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/bucket.hpp>
#include <cohort/plan/detail/batch_moments.hpp>
#include <cohort/plan/recomputation.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohort {

/// Direction of a kernel.
enum class plan_pass : std::uint8_t { forward, backward };

/// Kernel of a plan, for tables and traces. `seconds` and `calls` are zero until a profile is taken.
struct plan_row {
  std::string step;
  std::string implementation;
  plan_pass direction = plan_pass::forward;
  shape output{};  ///< shape with the batch
  std::string layout{};
  double flops = 0;    ///< per call
  double bytes = 0;    ///< bytes of its tensors, each once; a gradient updated in place counts twice
  bool bf16 = false;   ///< output in bf16, not f32
  double seconds = 0;  ///< total of all calls
  std::int64_t calls = 0;
  bool frozen = false;      ///< forward of a frozen layer
  bool recomputed = false;  ///< forward that runs again in backward
};

/// Memory that a plan needs, by kind.
///
/// Units     bytes. `activations`: one context's arena, with activations, their gradients, workspaces and
///           scratchpads. `accumulation`: additional memory of a context for gradient accumulation.
struct plan_memory {
  std::size_t parameters = 0;
  std::size_t gradients = 0;
  std::size_t working_copies = 0;
  std::size_t activations = 0;
  std::size_t accumulation = 0;
  std::size_t total() const { return parameters + gradients + working_copies + activations; }
};

/// Memory shared by contexts of one thread that run in turn. Its size is determined by the context that needs
/// most memory.
///
/// Order     results of a context are valid until another context in the same memory is created or runs
///           forward.
struct context_memory {
  reusable_buffer arena{};  ///< `activations` of plan_memory
  reusable_buffer sums{};   ///< `accumulation`
};

/// Function called when the gradients of a bucket are complete in a context's gradient arena.
using ready_function = std::function<void(bucket const&)>;

/// Part of a batch: the arguments of a context's forward.
///
/// Shapes    inputs: batch × shape each, dense; f32, the backend's scalar, or i32 indices. In training, the
///           number of examples is the plan's batch size, and each loss has one target: i32 indices, or
///           numbers in f32 or the backend's scalar type. In inference, there are at most as many examples
///           as the plan's batch size, and no targets. `masks`: u8, batch × T, one per masked input; if
///           empty, only padded inputs have masked steps. `weights` and `indices` (keys of random masks): one
///           per example; if empty, each weight is 1, and the indices are 0, 1, ….
struct forward_request {
  std::span<tensor_view const> inputs;
  std::span<tensor_view const> targets{};
  std::span<tensor_view const> masks{};
  std::span<float const> weights{};
  std::span<std::int64_t const> indices{};
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  batch_sums* sums = nullptr;              ///< sums over the parts of the batch; must outlive backward
  detail::layer_states* states = nullptr;  ///< states of stateful layers; must outlive backward
  int first_row = 0;                       ///< row of `states` that belongs to example 0
  /// Index of the first late parameter: kernels may read this and later parameters only after `finish_late`.
  int first_late = 0;
  /// Called once on this thread, before the first kernel that reads a late parameter; null: none is late.
  std::function<void()> const* finish_late = nullptr;
};

/// Options of backward.
///
/// `gradient_scale`  1 / divisor of the mean loss of the rank's whole batch (by default, the number of
///                   examples): the result is then the gradient of the mean loss.
/// `accumulate`      adds to the gradients of earlier micro-batches instead of replacing them.
/// `ready`           called on this thread when a bucket is complete; set only for the last micro-batch.
/// `statistics`      a worker's part of batch_statistics, into which the statistics of these examples are
///                   merged; null: they are discarded.
/// `output_gradients`  of a plan with output_gradients: the gradients of its outputs, dense; f32 or the
///                   backend's scalar. They are multiplied by `output_scale`, not by `gradient_scale`.
struct backward_request {
  double gradient_scale = 1;
  bool accumulate = false;
  ready_function const* ready = nullptr;
  detail::batch_moments* statistics = nullptr;
  std::span<tensor_view const> output_gradients{};
  double output_scale = 1;
};

/// One thread's memory to run a plan: arena, gradients, bound kernels.
///
/// Order     forward, then backward with the same targets. Not thread-safe. The calling thread must have the
///           number of threads (`tensor_backend::threads`) for which the plan was made.
/// Cost      allocates nothing after its first forward and backward, unless another context has enlarged the
///           shared memory. On a device, the second forward and backward are recorded for replay.
class plan_context {
 public:
  virtual ~plan_context() = default;

  /// Runs forward on a part of a batch.
  /// Before    data that the request points to stays valid until backward has run.
  /// Errors    shape_error; data_error if a target is out of range.
  virtual void forward(forward_request const& request) = 0;
  void forward(std::span<tensor_view const> inputs, std::span<tensor_view const> targets);
  void forward(tensor_view input, tensor_view target);
  void forward(tensor_view input) { forward({.inputs = {&input, 1}}); }

  /// Weighted sum of the losses over the examples of the last forward.
  virtual double loss() const = 0;
  /// Computes the gradients of the last forward.
  virtual void backward(backward_request const& request) = 0;

  /// Output `which` of the plan, dense, for the examples of the last forward.
  ///
  /// Order     in training: valid until backward.
  /// Errors    setting_error if the plan has no such output; a plan for training has outputs only with
  ///           output_gradients.
  virtual tensor_view output(int which = 0) const = 0;
  /// Gradient of input `which` after backward, dense. Zeros for an input of indices, and for an input on
  /// which no loss or output depends.
  ///
  /// Order     valid until the next forward.
  /// Errors    setting_error unless the plan has input_gradients.
  virtual tensor_view input_gradient(int which = 0) const = 0;

  /// Runs the last forward again. Returns the name of the first step whose result is not finite, "the input"
  /// if an input is not finite, or "" if everything is finite.
  virtual std::string first_non_finite() = 0;

  /// Gradients of this context: an arena in the master's layouts.
  virtual std::byte* gradients() const = 0;

  /// Starts or stops the timing of every kernel.
  virtual void profile(bool on) = 0;
  /// The plan's rows with the times so far.
  virtual std::vector<plan_row> profile() const = 0;
};

/// Number of values that each layer sums over the parts of a batch (`forward_request::sums`), in execution
/// order.
struct plan_sums {
  std::vector<int> forward{};
  std::vector<int> backward{};
  bool operator==(plan_sums const&) const = default;
};

/// Graph compiled for one backend and one batch size. Immutable; any number of threads can share it.
class plan {
 public:
  virtual ~plan() = default;
  virtual int batch() const = 0;
  virtual bool training() const = 0;
  virtual plan_memory memory() const = 0;
  /// Numbers of values that forward and backward sum over the parts of a batch.
  virtual plan_sums const& sums() const = 0;
  /// Memory saved by recomputation, and its cost.
  virtual recomputation_cost recomputed() const = 0;
  /// Kernels in execution order, forward first.
  virtual std::vector<plan_row> rows() const = 0;
  /// Shapes of inputs and outputs without the batch. Of a plan with output_gradients: of those outputs that
  /// are not losses.
  virtual std::span<shape const> inputs() const = 0;
  virtual std::span<shape const> outputs() const = 0;

  /// Creates a context.
  /// `gradients`  arena of the parameter set's size that several contexts of one worker may share; null: a
  ///              separate one
  /// `memory`     for activations and accumulation; several contexts of one worker may share it, too; null:
  ///              separate memory. `gradients` and `memory` must outlive the context.
  virtual std::unique_ptr<plan_context> make_context(std::byte* gradients = nullptr,
                                                     context_memory* memory = nullptr) const = 0;
};

}  // namespace cohort
