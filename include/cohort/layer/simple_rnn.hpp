// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/recurrent_host.hpp>
#include <cohort/layer/detail/recurrent_program.hpp>
#include <cohort/layer/detail/recurrent_rules.hpp>
#include <cohort/layer/kind.hpp>

namespace cohort {

/// Simple recurrent layer: h' = act(W·x + R·h + b).
///
/// Shapes    input T×C and, optionally, an initial state U → output T×U, or U (the state after the last step)
///           if `last_step`. weights U×C, recurrent_weights U×U, bias U.
/// Units, After, Exact   as lstm.
/// Source    Elman, Cognitive Science 1990.
struct simple_rnn {
  static constexpr std::string_view kind_name = "simple_rnn";
  static constexpr bool reads_scalars = true;
  static constexpr bool reads_mask = true;
  static constexpr bool carries_state = true;
  static constexpr int max_inputs = 2;

  required<int, "units"> units;
  bool last_step = false;
  bool reverse = false;
  recurrent_activation activation = recurrent_activation::tanh;
  bool resets_masked = false;
  double dropout = 0;
  double recurrent_dropout = 0;
  bool bias = true;
  bool returns_state = false;  ///< set by with_state
  bool stateful = false;       ///< in training, carries the state from batch to batch
  layer_settings settings = {};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"units", &simple_rnn::units},
                      field{"last_step", &simple_rnn::last_step},
                      field{"reverse", &simple_rnn::reverse},
                      field{"activation", &simple_rnn::activation},
                      field{"resets_masked", &simple_rnn::resets_masked},
                      field{"dropout", &simple_rnn::dropout},
                      field{"recurrent_dropout", &simple_rnn::recurrent_dropout},
                      field{"bias", &simple_rnn::bias},
                      field{"returns_state", &simple_rnn::returns_state},
                      field{"stateful", &simple_rnn::stateful}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::infer_recurrent(*this, inputs);
  }
  constexpr mask_rule masks(std::span<shape const>) const { return detail::recurrent_masks(*this); }
  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    return detail::recurrent_parameters(cell(inputs));
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return detail::recurrent_flops(cell(inputs), inputs);
  }
  std::int64_t workspace(std::span<shape const> inputs, int batch) const {
    return detail::recurrent_workspace(cell(inputs), inputs[0][0], batch);
  }
  constexpr detail::recurrent_cell cell(std::span<shape const> inputs) const {
    return detail::cell_of(*this, detail::cell_kind::simple, inputs);
  }

  detail::composed_kernel compose(detail::composed_request const& request,
                                  detail::product_backend& backend) const {
    return detail::compose_recurrent(cell(request.inputs), request, backend);
  }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::recurrent_forward(cell(a.input_shapes), a);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::recurrent_backward(cell(a.input_shapes), a);
  }
};

}  // namespace cohort

namespace cohort::detail {
template <>
inline constexpr bool is_on_demand_layer<simple_rnn> = true;
}  // namespace cohort::detail

extern template struct cohort::detail::host_kernels<cohort::simple_rnn>;
