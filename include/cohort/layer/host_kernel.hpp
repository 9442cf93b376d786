// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/batch_sums.hpp>
#include <cohort/layer/step_mask.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/shape.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohort {

/// Result of a loss layer: the weighted sum over the examples, not the mean.
struct loss_sum {
  double sum = 0;
};

namespace detail {
class layer_states;
}  // namespace detail

/// The scalars of a step in device memory.
struct step_constants {
  double gradient_scale = 1;  ///< as in step_scalars
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
};

/// Inputs of a step besides tensors.
///
/// Shapes    `weights`, `indices`, `steps`: one per example; null: weights 1, indices 0, 1, …, steps 1. All
///           three are in the memory space of the arenas.
/// Units     `gradient_scale` is 1 / Σ weight·steps of the rank's whole batch: the factor that converts
///           gradients of sums to gradients of the mean. `steps`: if losses are means over steps or targets,
///           the number of unmasked steps, or of targets that the loss does not ignore. `states`: states of
///           stateful layers; row `first_row` belongs to example 0; null: each batch begins with zeros.
struct step_scalars {
  double gradient_scale = 1;
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  float const* weights = nullptr;
  std::int64_t const* indices = nullptr;
  std::int32_t const* steps = nullptr;
  detail::layer_states* states = nullptr;
  int first_row = 0;
  batch_sums* sums = nullptr;  ///< sums over the parts of the batch; null: the batch has one part
  step_constants const* on_device =
      nullptr;  ///< the same scalars in device memory; null if arenas are in host memory

  /// The weight of an example.
  double weight(int example) const { return weights ? static_cast<double>(weights[example]) : 1.0; }
  /// Sum of weight·count over `batch` examples. `counts`: one per example; null: 1.
  double weight_of(int batch, std::int32_t const* counts) const {
    double sum = 0;
    for (int example = 0; example < batch; ++example) sum += weight(example) * (counts ? counts[example] : 1);
    return sum;
  }
  /// Returns the index in the data set of an example of the batch.
  std::uint64_t index(int example) const {
    return static_cast<std::uint64_t>(indices ? indices[example] : example);
  }
};

/// Targets that a loss accepts for an example: class indices, numeric values, or both kinds.
///
/// Shapes    class indices: one per example, or one per step of a sequence.
struct target_spec {
  static constexpr double unbounded = 1e300;
  static constexpr int no_index = -(1 << 24);  ///< no class index; files can store it

  int classes = 0;       ///< class indices (i32) 0 … classes − 1; 0: no indices
  bool numbers = false;  ///< numbers of shape `values` in [lowest, highest]
  shape values{};        ///< without the batch extent
  double lowest = -unbounded;
  double highest = unbounded;
  int steps = 0;            ///< number of steps that have a target each; 0: not a sequence
  bool sums_steps = false;  ///< the loss is a mean over examples of sums over steps, not a mean over steps
  int ignored = no_index;   ///< class index of targets that the loss ignores; no_index: it ignores none

  /// Returns whether the loss ignores targets. The loss is then a mean over the other targets.
  constexpr bool ignores() const { return ignored != no_index; }
  /// Returns whether the loss accepts a class index.
  constexpr bool accepts(int index) const { return (index >= 0 && index < classes) || is_ignored(index); }
  constexpr bool is_ignored(int index) const { return ignores() && index == ignored; }
  /// Shape of the class indices of an example.
  constexpr shape index_shape() const { return steps > 0 ? shape(steps) : shape(); }
  /// Returns whether class indices of this type and shape are valid targets of `count` examples.
  constexpr bool takes_indices(element_type type, shape const& dims, int count) const {
    return classes > 0 && type == element_type::i32
           && dims.elements() == static_cast<std::int64_t>(count) * (steps > 0 ? steps : 1);
  }
  /// Returns whether numbers of this type and shape are valid targets of `count` examples in a network that
  /// computes in `compute`. If an example has one number, `dims` may be {count}.
  constexpr bool takes_numbers(element_type type, shape const& dims, int count, element_type compute) const {
    bool const scalars = values == shape(1) && dims == shape(count);
    return numbers && (type == element_type::f32 || type == compute)
           && (scalars || dims == values.batched(count));
  }
  /// Returns whether numeric targets have no bounds.
  constexpr bool takes_any_number() const { return lowest == -unbounded && highest == unbounded; }
  /// Maps a fraction in [0, 1] to a valid numeric target. If only one bound exists, the range has length 2.
  /// Without bounds, the range is [−1, 1].
  constexpr double between(double fraction) const {
    double const least = lowest > -unbounded ? lowest : highest < unbounded ? highest - 2 : -1;
    return least + fraction * ((highest < unbounded ? highest : least + 2) - least);
  }
  constexpr bool operator==(target_spec const&) const = default;
};

namespace detail {

/// Throws the setting_error of host_arguments::random. Kernels may use random numbers only in training, and
/// only if their layer has `reads_scalars`.
[[noreturn, gnu::cold]] void refuse_random_numbers(bool training);

}  // namespace detail

/// Arguments of a layer's kernels on the CPU: packed row-major tensors of `batch` examples; parameters in
/// canonical layout.
///
/// Shapes    inputs[i] batch × input_shapes[i]; output batch × output_shape; diff_x as x. `workspace`: the
///           number of elements that the layer requested; passes data from forward to backward (null at
///           inference).
/// Units     diff_parameters are sums over the batch, because the loss gradient already contains the factor
///           of the mean. For running statistics, they are not gradients, but the mean and the biased
///           variance of the batch (see `batch_statistics`).
/// Before    forward: inputs and parameters are set. forward writes output.
///           backward: diff_output is set, too; output and inputs are unchanged since forward. backward
///           overwrites diff_inputs[i] (null if not needed) and every diff_parameters[p]. For an `in_place`
///           layer, inputs[0] is null.
///           `scalars`: set in training, for a loss and for a layer with `reads_scalars`; at inference, for a
///           layer with `carries_state`.
///           loss layer: no diff_output; `target` has element type i32 or T, and forward writes `loss`. Both
///           are null at inference.
///           frozen layer: `training` is false in both passes, which compute as at inference.
///           `mask`: for a layer with `reads_mask`, the mask of its inputs; null if they have none. With
///           mask_rule::queries, the mask of the inputs after the queries. Elements at padding are undefined,
///           but finite; diff_output is 0 there. A layer whose step t depends on other steps does not read
///           padding, and writes 0 to diff_inputs there.
template <class T>
struct host_arguments {
  int batch = 0;
  bool training = true;
  std::uint64_t layer = 0;  ///< hash of the layer's name: the purpose of its random streams
  std::span<shape const> input_shapes{};
  shape output_shape{};
  T const* const* inputs = nullptr;
  T* output = nullptr;
  T const* const* parameters = nullptr;
  T* workspace = nullptr;
  step_scalars const* scalars = nullptr;
  tensor_view const* target = nullptr;
  loss_sum* loss = nullptr;
  step_mask const* mask = nullptr;
  T const* diff_output = nullptr;
  T* const* diff_inputs = nullptr;
  T* const* diff_parameters = nullptr;

  /// Returns the number of elements of input i, for the whole batch.
  std::size_t elements_of_input(std::size_t i = 0) const {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(input_shapes[i].elements());
  }
  /// Returns the number of elements of the output, for the whole batch.
  std::size_t elements_of_output() const {
    return static_cast<std::size_t>(batch) * static_cast<std::size_t>(output_shape.elements());
  }
  /// Random numbers for example `n` of this layer in this step; independent of the number of ranks and
  /// threads.
  ///
  /// Errors    setting_error if `scalars` is null.
  random_stream random(int n) const {
    if (!scalars) detail::refuse_random_numbers(training);
    return {scalars->seed, layer, static_cast<std::uint64_t>(scalars->step), scalars->index(n)};
  }
};

/// A layer type that contains its kernels, as templates on float and double. Every CPU backend can run it.
template <class L, class T>
concept has_host_kernels = requires(L const& layer, host_arguments<T> const& arguments) {
  layer.forward(arguments);
  layer.backward(arguments);
};

/// Kernels of one kind, as functions of its encoded field values.
template <class T>
struct host_kernel {
  void (*forward)(double const* values, host_arguments<T> const&) = nullptr;
  void (*backward)(double const* values, host_arguments<T> const&) = nullptr;
};

}  // namespace cohort
