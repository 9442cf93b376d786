// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/layer/channel_map.hpp>
#include <cohort/layer/detail/encoded_fields.hpp>
#include <cohort/layer/host_kernel.hpp>
#include <cohort/layer/mask_rule.hpp>
#include <cohort/layer/parameter.hpp>
#include <concepts>
#include <span>
#include <string_view>

/// Optional members of a layer type, or their defaults where the type lacks them: see concept `layer`.
namespace cohort::detail {

/// Whether L is a layer on demand (see kinds_on_demand). The headers of these layers specialise the variable.
template <class L>
inline constexpr bool is_on_demand_layer = false;

struct composed_kernel;
struct composed_request;
class product_backend;

/// Fails to compile. The error names the first member that a layer needs and T lacks.
template <class T>
constexpr void explain_missing_member() {
  if constexpr (!requires { T::kind_name; })
    static_assert(!sizeof(T*),
                  "cohort: this is neither a block nor a layer: a layer has static constexpr "
                  "std::string_view kind_name = \"my_layer\"");
  else if constexpr (!requires { T::fields(); })
    static_assert(!sizeof(T*),
                  "cohort: a layer has static constexpr auto fields(), which lists its fields: "
                  "field_list{field{\"units\", &my_layer::units}}");
  else if constexpr (!requires(T const& l, std::span<shape const> inputs) {
                       { l.infer(inputs) } -> std::same_as<inference>;
                     })
    static_assert(!sizeof(T*),
                  "cohort: a layer has constexpr cohort::inference "
                  "infer(std::span<cohort::shape const> inputs) const");
  else
    static_assert(!sizeof(T*),
                  "cohort: the last members of a layer are std::string_view name{}; "
                  "cohort::source_line at = cohort::source_line::here();");
}

template <layer L>
constexpr layer_role role_of() {
  if constexpr (requires { L::role; })
    return L::role;
  else
    return layer_role::ordinary;
}

template <layer L>
constexpr int max_inputs_of() {
  if constexpr (requires { L::max_inputs; })
    return L::max_inputs;
  else
    return role_of<L>() == layer_role::input ? 0 : 1;
}

template <layer L>
constexpr bool reads_scalars() {
  if constexpr (requires { L::reads_scalars; })
    return L::reads_scalars;
  else
    return role_of<L>() == layer_role::loss;
}

template <layer L>
constexpr bool works_in_place() {
  if constexpr (requires { L::in_place; })
    return L::in_place;
  else
    return false;
}

/// Kind names of the activations that a loss contains, then empty names.
using applied_kinds = std::array<std::string_view, 2>;

template <layer L>
constexpr applied_kinds applied_by() {
  if constexpr (requires { applied_kinds(L::applies); })
    return L::applies;
  else if constexpr (requires { L::applies; })
    return {L::applies, ""};
  else
    return {"", ""};  // not {}: GCC 12 refuses default elements in a constant
}

template <layer L>
constexpr bool takes_channel_maps() {
  if constexpr (requires { L::takes_channel_maps; }) {
    static_assert(
        requires(L const& l) { l.bias; }, "cohort: a layer with takes_channel_maps needs a field `bias`");
    return L::takes_channel_maps;
  } else {
    return false;
  }
}

template <layer L>
constexpr bool reads_indices() {
  if constexpr (requires { L::reads_indices; })
    return L::reads_indices;
  else
    return false;
}

template <layer L>
constexpr bool reads_mask() {
  if constexpr (requires { L::reads_mask; })
    return L::reads_mask;
  else
    return false;
}

template <layer L>
constexpr bool carries_state() {
  if constexpr (requires { L::carries_state; })
    return L::carries_state;
  else
    return false;
}

using mask_rule_function = mask_rule (*)(double const* values, std::span<shape const> inputs);

/// The rule of layers whose effect on masks is constant.
template <mask_use Use>
constexpr mask_rule constant_mask_rule(double const*, std::span<shape const>) {
  return Use;
}

template <layer L>
constexpr mask_rule_function mask_rule_of() {
  if constexpr (requires(L const& l, std::span<shape const> inputs) { l.masks(inputs); })
    return [](double const* values, std::span<shape const> inputs) -> mask_rule {
      return decode<L>(values).masks(inputs);
    };
  else if constexpr (requires { mask_use(L::masks); })
    return &constant_mask_rule<L::masks>;
  else
    return &constant_mask_rule<mask_use::refuses>;
}

using inference_map = channel_map (*)(double const* values, std::span<double const> parameters);

template <layer L>
constexpr inference_map at_inference_of() {
  if constexpr (requires(L const& l, std::span<double const> parameters) { l.at_inference(parameters); })
    return [](double const* values, std::span<double const> parameters) {
      return decode<L>(values).at_inference(parameters);
    };
  else
    return nullptr;
}

using compose_function = composed_kernel (*)(double const* values, composed_request const& request,
                                             product_backend& backend);

template <layer L>
constexpr compose_function compose_of() {
  if constexpr (requires(L const& l, composed_request const& request, product_backend& backend) {
                  l.compose(request, backend);
                })
    return [](double const* values, composed_request const& request, product_backend& backend) {
      return decode<L>(values).compose(request, backend);
    };
  else
    return nullptr;
}

template <layer L>
constexpr layer_settings settings_of(L const& l) {
  if constexpr (requires { l.settings; })
    return l.settings;
  else
    return {};
}

/// Kernels of layer type L as functions of its encoded fields. Not inline, because the implementation
/// contains the kernels of the built-in layers.
template <layer L>
struct host_kernels {
  static void forward_f32(double const* values, host_arguments<float> const& a);
  static void backward_f32(double const* values, host_arguments<float> const& a);
  static void forward_f64(double const* values, host_arguments<double> const& a);
  static void backward_f64(double const* values, host_arguments<double> const& a);
};

template <layer L>
void host_kernels<L>::forward_f32(double const* values, host_arguments<float> const& a) {
  decode<L>(values).forward(a);
}
template <layer L>
void host_kernels<L>::backward_f32(double const* values, host_arguments<float> const& a) {
  decode<L>(values).backward(a);
}
template <layer L>
void host_kernels<L>::forward_f64(double const* values, host_arguments<double> const& a) {
  decode<L>(values).forward(a);
}
template <layer L>
void host_kernels<L>::backward_f64(double const* values, host_arguments<double> const& a) {
  decode<L>(values).backward(a);
}

template <layer L>
constexpr host_kernel<float> float_kernel_of() {
  static_assert(
      requires(L const& l, host_arguments<float> const& a) { l.forward(a); }
          == requires(L const& l, host_arguments<float> const& a) { l.backward(a); },
      "cohort: a layer with one of the kernels forward and backward needs the other too, both const "
      "members that accept host_arguments<T> const&");
  if constexpr (has_host_kernels<L, float>)
    return {&host_kernels<L>::forward_f32, &host_kernels<L>::backward_f32};
  else
    return {};
}

template <layer L>
constexpr host_kernel<double> double_kernel_of() {
  if constexpr (has_host_kernels<L, double>)
    return {&host_kernels<L>::forward_f64, &host_kernels<L>::backward_f64};
  else
    return {};
}

}  // namespace cohort::detail
