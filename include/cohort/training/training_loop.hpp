// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch_view.hpp>
#include <cohort/tensor/element.hpp>
#include <cohort/training/listener.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

class training;

namespace detail {
class step_in_parts;
}  // namespace detail

/// What a training_loop computes besides the gradients of the parameters.
///
/// `outputs`          names of layers whose outputs `outputs()` returns, and whose gradients backward gets.
///                    Layers on which these outputs do not depend are not computed. Name all losses of the
///                    network, too, to add their gradients, or none of them. Empty: the losses; in a network
///                    without losses, all its outputs.
/// `input_gradients`  whether backward computes the gradients of the network's inputs
struct loop_settings {
  std::vector<std::string> outputs{};
  bool input_gradients = false;
};

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
/// The gradients of outputs may come from the program instead of a loss, and those of inputs are available:
///
///     training_loop critic(critic_run, {.input_gradients = true});
///     training_loop actor(actor_run, {.outputs = {"action"}});
///     actor.forward({state});
///     critic.forward({actor.outputs()[0], wanted});
///     critic.backward();
///     actor.backward(critic.input_gradients()[0]);
///     critic.discard();
///     actor.step();
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
  /// Errors    setting_error for an unknown name, with the known names; for outputs that contain some of the
  ///           losses, but not all.
  explicit training_loop(training& run, loop_settings const& settings = {});
  training_loop(training_loop&&) noexcept;
  training_loop& operator=(training_loop&&) noexcept;
  ~training_loop();

  /// Runs forward in training mode on this rank's part of a batch, which the workers split. If the loop
  /// computes no loss, the batch needs no targets, and its targets are ignored.
  void forward(batch_view const& data);

  /// Mean loss of the last forward over this rank's examples; NaN if none has a weight, 0 if the loop
  /// computes no loss.
  double loss() const;

  /// Outputs of the last forward: of those layers of loop_settings::outputs that are not losses, in the same
  /// order. Without such layers the span is empty.
  ///
  /// Shapes    N × output of the layer, dense, of the parameters' type; N: this rank's examples
  /// Order     valid until the next forward.
  std::span<tensor_view const> outputs() const;

  /// Adds the gradients of the last forward. The sum is the gradient of the mean loss over the examples of
  /// all backward calls since the last step.
  ///
  /// `output_gradients`: one for each of outputs(), shaped as the output, f32 or the parameters' type: the
  /// gradient of the mean over the examples of the last forward. Divide the slope of one example's loss by N,
  /// as the mean of a loss does. Gradients of losses that the loop computes are added. Micro-batches and
  /// ranks count according to the weights of their examples, as for losses. A parameter on which no computed
  /// layer depends has the gradient 0; penalties, weight decay and momentum still change it.
  ///
  /// Errors    shape_error for another number of gradients, another shape or element type.
  /// Exact     the same bits as a loss that computes the same gradient.
  void backward(std::span<tensor_view const> output_gradients = {});
  void backward(tensor_view output_gradient) { backward(std::span<tensor_view const>(&output_gradient, 1)); }

  /// Gradients of the mean loss over the examples of the last forward with respect to the inputs, which the
  /// last backward computed. Inputs that the run rescales (training::normalise): with respect to the
  /// rescaled ones. Indices have the gradient 0.
  ///
  /// Shapes    one for each input of the network: N × input, dense, of the parameters' type
  /// Order     valid until the next backward. Without loop_settings::input_gradients the span is empty.
  std::span<tensor_view const> input_gradients() const;

  /// Ends the step without an update, and discards its gradients and the batch statistics of its forwards:
  /// running statistics do not change, unlike in PyTorch. Until the next step, training::last_gradient
  /// returns the discarded gradient.
  ///
  /// Errors    setting_error after the gradients were exchanged, see gradients().
  void discard();

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
  /// `loss`: mean over the examples of all backward calls; 0 if the loop computes no loss. Such a step counts
  /// neither in the epoch's loss nor for reduce_on_plateau.
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
