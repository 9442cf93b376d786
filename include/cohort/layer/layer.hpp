// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/finding.hpp>
#include <cohort/tensor/shape.hpp>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

namespace cohort {

/// Result of a layer's shape inference: the shape of its output, or the reason why it rejects its inputs.
///
/// Before    `sentence` and labels are string literals.
struct inference {
  shape output{};
  finding problem{};

  constexpr inference(shape made) : output(made) {}
  constexpr inference(char const* sentence, labelled_shape first = {}, labelled_shape second = {}) {
    problem.sentence = sentence;
    problem.shapes = {first, second};
  }
};

/// Position of a layer in a network: an input has no predecessor, a loss has no successor.
enum class layer_role : std::uint8_t { input, ordinary, loss };

/// A layer: an aggregate with a kind name, fields and a shape inference.
///
/// Required
///   `kind_name`                 constexpr std::string_view, unique among the kinds of a program
///   `fields()`                  field_list of field{"name", &L::member}: the leading members, in their order
///   `infer(inputs)`             constexpr; shapes without the batch extent → inference
///   `name` and `at`             the last members:
///                               std::string_view name{}; source_line at = source_line::here();
///
/// Optional (default)
///   `max_inputs`                the largest number of inputs (1)
///   `parameters(inputs)`        parameter_list (none)
///   `settings`                  member layer_settings, for a layer with parameters
///   `flops(inputs)`             operations of one example's forward pass (0)
///   `role`                      layer_role (ordinary)
///   `forward`, `backward`       kernels on the CPU, both with (host_arguments<T> const&) (none)
///   `workspace(inputs, batch)`  elements of host_arguments::workspace (0)
///   `reads_scalars`             true: the kernels get host_arguments::scalars in training (true for a loss)
///   `carries_state`             true: the kernels get host_arguments::scalars at inference too (false)
///   `masks`                     mask_use, or a function masks(inputs) that returns a mask_rule: the effect
///                               on the mask of a sequence (refuses)
///   `reads_mask`                true: the kernels get host_arguments::mask if the input has a mask (false)
///   `reads_indices`             true: the input contains indices. Batches may provide it as i32, and
///                               normalisations leave it unchanged (false).
///   `sums(inputs)`              batch_sum_sizes: sums over all workers' parts of a batch in training,
///                               computed through `scalars->sums` (none)
///   `in_place`                  true: each element of the output depends only on the input element at the
///                               same position, and each element of diff_input only on the elements of
///                               diff_output and output at that position; backward does not read the input.
///                               The output may then share the input's memory, and diff_input that of
///                               diff_output (false).
///   `at_inference(parameters)`  channel_map that equals the whole forward pass at inference, computed from
///                               the channel's element of each parameter (none)
///   `takes_channel_maps`        true: a following channel map can be folded into the parameters. The
///                               parameters are weights K×… and, if field `bias` is true, a bias K; output
///                               channel k is linear in both (false).
///   `target(inputs)`            target_spec of a loss
///   `applies`                   kind name of the activation that a loss contains, or an array of two names;
///                               no layer of these kinds may precede the loss ("")
template <class L>
concept layer = requires(L const& l, std::span<shape const> inputs) {
  { L::kind_name } -> std::convertible_to<std::string_view>;
  L::fields();
  { l.infer(inputs) } -> std::same_as<inference>;
  { l.name } -> std::convertible_to<std::string_view>;
  { l.at } -> std::convertible_to<source_line>;
};

}  // namespace cohort
