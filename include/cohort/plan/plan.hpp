// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/plan/bucket.hpp>
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

enum class pass : std::uint8_t { forward, backward };

/// One kernel of a plan, for tables and traces. `seconds` and `calls` are zero until a profile is taken.
struct plan_row {
  std::string step;
  std::string implementation;
  pass direction = pass::forward;
  shape output{};  ///< with the batch
  std::string layout{};
  double flops = 0;    ///< of one call
  double bytes = 0;    ///< of its tensors, each once
  bool bf16 = false;   ///< of bf16, not f32
  double seconds = 0;  ///< of all calls
  std::int64_t calls = 0;
  bool frozen = false;  ///< the forward of a layer that is not trained
  bool again = false;   ///< forward once more, in backward
};

/// Memory that a plan needs, by kind.
///
/// Units     `activations` one context's arena: activations, gradients of activations, workspaces, scratchpads.
///           `accumulation`: what a context needs beside, once it has added gradients to earlier ones.
struct plan_memory {
  std::size_t parameters = 0;
  std::size_t gradients = 0;
  std::size_t working_copies = 0;
  std::size_t activations = 0;
  std::size_t accumulation = 0;
  std::size_t total() const { return parameters + gradients + working_copies + activations; }
};

/// Memory in which contexts of one thread take turns: as large as the largest of them needs.
///
/// Order     what a context has made is there until another one in the same memory is made or runs forward.
struct context_memory {
  reusable_buffer arena{};  ///< `activations` of plan_memory
  reusable_buffer sums{};   ///< `accumulation`
};

/// Who is told that a bucket's gradients are complete in a context's gradient arena.
using ready_function = std::function<void(bucket const&)>;

/// One part of a batch, as a context takes it.
///
/// Shapes    inputs: batch × shape each, dense; f32 or the backend's scalar. Training: as many examples as the plan's batch,
///           one target for each loss: i32 indices, or f32 or the backend's scalar. Inference: at most as many, no targets.
///           `weights` (none: 1 each) and `indices` (none: 0, 1, …), which key random masks: one an example.
struct forward_request {
  std::span<tensor_view const> inputs;
  std::span<tensor_view const> targets{};
  std::span<float const> weights{};
  std::span<std::int64_t const> indices{};
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  batch_sums* sums = nullptr;  ///< over the parts of the batch; it lives until backward has ended
  int late_from = 0;
  /// Called once on this thread, before the first kernel that reads parameters from `late_from` on.
  std::function<void()> const* late = nullptr;
};

/// What backward is to do beside the gradients.
///
/// `gradient_scale`  1 / weights of the whole batch of the rank (1 an example): the gradient is that of the mean loss.
/// `accumulate`      add to the gradients of the micro-batches before, instead of replacing them.
/// `ready`           called on this thread as buckets get complete; leave it empty but for the last micro-batch.
struct backward_request {
  double gradient_scale = 1;
  bool accumulate = false;
  ready_function const* ready = nullptr;
};

/// One thread's memory for running a plan: arena, gradients, bound kernels.
///
/// Order     forward, then backward with the same targets. Not for two threads at once; use it on a thread that
///           has the number of threads its plan was made for (`tensor_backend::threads`).
/// Moves     allocates nothing after its first forward and backward, unless its memory has grown for another context; on a device
///           the second ones are recorded.
class context {
 public:
  virtual ~context() = default;

  /// Before    what the request points to lives until backward has run.
  /// Errors    shape_error; data_error for a target out of range.
  virtual void forward(forward_request const& request) = 0;
  void forward(std::span<tensor_view const> inputs, std::span<tensor_view const> targets);
  void forward(tensor_view input, tensor_view target);
  void forward(tensor_view input) { forward({.inputs = {&input, 1}}); }

  /// Σ of the losses over the examples of the last forward, weighted.
  virtual double loss() const = 0;
  virtual void backward(backward_request const& request) = 0;

  /// Inference: the plan's outputs, dense, as many examples as forward was given.
  ///
  /// Errors    setting_error where there is no such output; a plan for training has none.
  virtual tensor_view output(int which = 0) const = 0;

  /// Runs the last forward again and names the first step that makes a number that is not finite: "the input", a
  /// step's name, or nothing.
  virtual std::string first_non_finite() = 0;

  /// This context's gradients, an arena in the master's layouts.
  virtual std::byte* gradients() const = 0;

  /// Takes the time of every kernel from now on, or stops to.
  virtual void profile(bool on) = 0;
  virtual std::vector<plan_row> profile() const = 0;
};

/// How many numbers each layer sums over the parts of a batch (`forward_request::sums`), in the order in which it is asked.
struct plan_sums {
  std::vector<int> forward{};
  std::vector<int> backward{};
};

/// A graph made executable on one backend for one batch size: immutable, shared by any number of threads.
class plan {
 public:
  virtual ~plan() = default;
  virtual int batch() const = 0;
  virtual bool training() const = 0;
  virtual plan_memory memory() const = 0;
  virtual plan_sums const& sums() const = 0;
  virtual recomputation_cost recomputed() const = 0;
  virtual std::vector<plan_row> rows() const = 0;
  /// Shapes of inputs and outputs without the batch.
  virtual std::span<shape const> inputs() const = 0;
  virtual std::span<shape const> outputs() const = 0;

  /// `gradients`: an arena of the parameter set's size that several contexts of one worker may share; null: its own.
  /// `memory`: for all else, likewise; both must outlive the context.
  virtual std::unique_ptr<context> make_context(std::byte* gradients = nullptr,
                                                context_memory* memory = nullptr) const = 0;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/plan/impl/plan.ipp>
#endif
