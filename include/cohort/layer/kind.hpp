// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/finding.hpp>
#include <cohort/layer/channel_map.hpp>
#include <cohort/layer/detail/encoded_fields.hpp>
#include <cohort/layer/detail/layer_traits.hpp>
#include <cohort/layer/field.hpp>
#include <cohort/layer/host_kernel.hpp>
#include <cohort/layer/layer.hpp>
#include <cohort/layer/mask_rule.hpp>
#include <cohort/layer/parameter.hpp>
#include <concepts>
#include <span>
#include <string_view>
#include <utility>

namespace cohort {

/// Type-erased description of a kind of layer, for graphs, plans, files and backends.
///
/// Shapes    `values` has `slots` elements: the encoded fields of one layer. `inputs`: shapes without the
///           batch extent.
/// Exact     two kinds are equal if their names are equal.
struct kind {
  std::string_view name;
  layer_role role = layer_role::ordinary;
  int max_inputs = 1;
  std::span<field_info const> fields;
  int slots = 0;
  double const* defaults = nullptr;  ///< `slots` encoded field values; 0 for a required field
  inference (*infer)(double const* values, std::span<shape const> inputs) = nullptr;
  parameter_list (*parameters)(double const* values, std::span<shape const> inputs) = nullptr;
  double (*flops)(double const* values, std::span<shape const> inputs) = nullptr;
  std::int64_t (*workspace)(double const* values, std::span<shape const> inputs, int batch) = nullptr;
  batch_sum_sizes (*sums)(double const* values, std::span<shape const> inputs) = nullptr;
  target_spec (*target)(double const* values, std::span<shape const> inputs) = nullptr;  ///< of a loss
  mask_rule (*masks)(double const* values,
                     std::span<shape const> inputs) =
      &detail::constant_mask_rule<mask_use::refuses>;  ///< not null
  bool reads_scalars = false;
  bool reads_indices = false;
  bool reads_mask = false;
  bool carries_state = false;
  bool in_place = false;
  detail::applied_kinds applies{"", ""};  ///< kind names of the activations that this loss contains
  channel_map (*at_inference)(double const* values, std::span<double const> parameters) = nullptr;
  bool takes_channel_maps = false;
  detail::composed_kernel (*compose)(double const* values, detail::composed_request const& request,
                                     detail::product_backend& backend) = nullptr;
  host_kernel<float> float_kernel{};
  host_kernel<double> double_kernel{};

  constexpr bool operator==(kind const& other) const { return name == other.name; }

  /// The CPU kernels for element type T: float or double. Null if the layer has none.
  template <class T>
  constexpr host_kernel<T> const& host() const {
    if constexpr (std::same_as<T, float>)
      return float_kernel;
    else
      return double_kernel;
  }
};

/// The description of layer type L, with static storage: graphs store its address.
template <layer L>
inline constexpr kind kind_of{
    .name = L::kind_name,
    .role = detail::role_of<L>(),
    .max_inputs = detail::max_inputs_of<L>(),
    .fields = detail::checked_fields<L>(),
    .slots = detail::slot_count<L>,
    .defaults = detail::default_values<L>.data(),
    .infer = [](double const* values,
                std::span<shape const> inputs) { return detail::decode<L>(values).infer(inputs); },
    .parameters =
        [](double const* values, std::span<shape const> inputs) {
          if constexpr (requires(L const& l) { l.parameters(inputs); })
            return detail::decode<L>(values).parameters(inputs);
          else
            return (void)values, (void)inputs, parameter_list{};
        },
    .flops =
        [](double const* values, std::span<shape const> inputs) {
          if constexpr (requires(L const& l) { l.flops(inputs); })
            return detail::decode<L>(values).flops(inputs);
          else
            return (void)values, (void)inputs, 0.0;
        },
    .workspace =
        [](double const* values, std::span<shape const> inputs, int batch) {
          if constexpr (requires(L const& l) { l.workspace(inputs, batch); })
            return static_cast<std::int64_t>(detail::decode<L>(values).workspace(inputs, batch));
          else
            return (void)values, (void)inputs, (void)batch, std::int64_t{0};
        },
    .sums =
        [](double const* values, std::span<shape const> inputs) {
          if constexpr (requires(L const& l) { l.sums(inputs); })
            return detail::decode<L>(values).sums(inputs);
          else
            return (void)values, (void)inputs, batch_sum_sizes{};
        },
    .target =
        [](double const* values, std::span<shape const> inputs) {
          if constexpr (requires(L const& l) { l.target(inputs); })
            return detail::decode<L>(values).target(inputs);
          else
            return (void)values, (void)inputs, target_spec{};
        },
    .masks = detail::mask_rule_of<L>(),
    .reads_scalars = detail::reads_scalars<L>(),
    .reads_indices = detail::reads_indices<L>(),
    .reads_mask = detail::reads_mask<L>(),
    .carries_state = detail::carries_state<L>(),
    .in_place = detail::works_in_place<L>(),
    .applies = detail::applied_by<L>(),
    .at_inference = detail::at_inference_of<L>(),
    .takes_channel_maps = detail::takes_channel_maps<L>(),
    .compose = detail::compose_of<L>(),
    .float_kernel = detail::float_kernel_of<L>(),
    .double_kernel = detail::double_kernel_of<L>(),
};

}  // namespace cohort
