// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch_view.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/training/listener.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace cohort {

class training;

namespace detail {
class step_in_parts;
}  // namespace detail

/// The parts of a training step, for a user-written loop:
///
///     training_loop loop(run);
///     while (batch const* next = batches.next()) {
///       loop.forward(*next);
///       loop.backward();
///       loop.clip_norm(1);
///       loop.step();
///     }
///     run.end_epoch();
///
/// Several pairs of forward and backward before a step accumulate gradients over micro-batches. The
/// strategy's begin then gets the number of examples of the first micro-batch; later hooks get the number of
/// the whole step.
///
/// Order     collective: all ranks make the same calls in the same order. Between forward and step, the run
///           must not be used for other steps or for evaluations; predict is allowed.
/// Before    the run outlives the loop. A batch's memory does not change from forward to backward.
/// Errors    setting_error for a call out of order; otherwise those of training::train_on. After an exception
///           the step has not been made; call forward again.
/// Exact     the same bits as fit for the same batches, for all numbers of workers and ranks and all
///           strategies.
class training_loop {
 public:
  explicit training_loop(training& run);
  training_loop(training_loop&&) noexcept;
  training_loop& operator=(training_loop&&) noexcept;
  ~training_loop();

  /// Runs forward in training mode on this rank's part of a batch, which the workers split.
  void forward(batch_view const& data);

  /// Mean loss of the last forward over this rank's examples; NaN if none has a weight.
  double loss() const;

  /// Adds the gradients of the last forward. The sum is the gradient of the mean loss over the examples of
  /// all backward calls since the last step.
  void backward();

  /// The gradient of the step as one flat span in canonical order: all parameters in the order of the layers,
  /// without padding. Changes of elements take effect in step(). With a strategy that exchanges gradients,
  /// the span holds the exchanged gradient, and all ranks must make the same changes.
  ///
  /// Shapes    run.parameters().elements() elements. Running statistics and frozen layers have elements too,
  ///           which are not gradients and must not be changed.
  /// Order     the first of the calls gradients, gradient, clip_norm and step after backward exchanges the
  ///           gradients. The span is valid until step; later calls return the same elements.
  /// Errors    setting_error if T is not the type of the parameters (training::parameters().type()).
  template <class T = float>
  std::span<T> gradients() {
    std::span<std::byte> const all = bytes_of_gradients(element_of<T>);
    return {reinterpret_cast<T*>(all.data()), all.size() / sizeof(T)};
  }

  /// Returns the gradient of one parameter, such as "dense_1.weights", or of all parameters of a layer, such
  /// as "dense_1". Shapes, order and effect as for gradients().
  ///
  /// Errors    setting_error for an unknown name, with the known names.
  template <class T = float>
  std::span<T> gradient(std::string_view name) {
    std::span<std::byte> const one = bytes_of_gradient(element_of<T>, name);
    return {reinterpret_cast<T*>(one.data()), one.size() / sizeof(T)};
  }

  /// Scales the gradient of all trained parameters to norm `max` if its norm is larger. Returns the norm
  /// before scaling: the same on every rank if the strategy exchanges gradients.
  ///
  /// Errors    setting_error unless `max` is finite and above 0.
  double clip_norm(double max);

  /// Updates the parameters, as a step of fit does, with the settings of the run. Returns the step's report;
  /// `loss`: mean over the examples of all backward calls.
  ///
  /// Errors    numeric_error on all ranks if a loss or gradient is not finite, unless the settings skip these
  ///           steps.
  step_report step();

 private:
  std::span<std::byte> bytes_of_gradients(element_type type);
  std::span<std::byte> bytes_of_gradient(element_type type, std::string_view name);

  std::unique_ptr<detail::step_in_parts> now_;
};

}  // namespace cohort
