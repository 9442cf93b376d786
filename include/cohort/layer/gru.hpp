// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/recurrent_host.hpp>
#include <cohort/layer/detail/recurrent_program.hpp>
#include <cohort/layer/detail/recurrent_rules.hpp>
#include <cohort/layer/kind.hpp>

namespace cohort {

/// Gated recurrent unit.
///
///     z = gate(Wz·x + bz + Rz·h + qz)      r = gate(Wr·x + br + Rr·h + qr)      h' = z∘h + (1 − z)∘n
///     n = act(Wn·x + bn + r∘(Rn·h + qn))   if `reset_after`, else act(Wn·x + bn + Rn·(r∘h))
///
/// Shapes    input T×C and, optionally, an initial state U → output T×U, or U (the state after the last step)
///           if `last_step`. weights 3U×C, recurrent_weights 3U×U, bias 3U and, with `reset_after`,
///           recurrent_bias q 3U; the gates in the order z r n.
/// Units, After, Exact   as lstm.
/// Source    Cho et al., EMNLP 2014. `reset_after`: the variant of cuDNN, Keras and PyTorch.
struct gru {
  static constexpr std::string_view kind_name = "gru";
  static constexpr bool reads_scalars = true;
  static constexpr bool reads_mask = true;
  static constexpr bool carries_state = true;
  static constexpr int max_inputs = 2;

  required<int, "units"> units;
  bool last_step = false;
  bool reverse = false;
  bool reset_after = true;
  recurrent_activation activation = recurrent_activation::tanh;
  recurrent_activation gate_activation = recurrent_activation::sigmoid;
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
    return field_list{field{"units", &gru::units},
                      field{"last_step", &gru::last_step},
                      field{"reverse", &gru::reverse},
                      field{"reset_after", &gru::reset_after},
                      field{"activation", &gru::activation},
                      field{"gate_activation", &gru::gate_activation},
                      field{"resets_masked", &gru::resets_masked},
                      field{"dropout", &gru::dropout},
                      field{"recurrent_dropout", &gru::recurrent_dropout},
                      field{"bias", &gru::bias},
                      field{"returns_state", &gru::returns_state},
                      field{"stateful", &gru::stateful}};
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
    detail::recurrent_cell made = detail::cell_of(
        *this, reset_after ? detail::cell_kind::gru_after : detail::cell_kind::gru_before, inputs);
    made.gate_activation = gate_activation;
    made.recurrent_bias = bias && reset_after;
    return made;
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
inline constexpr bool is_on_demand_layer<gru> = true;
}  // namespace cohort::detail

extern template struct cohort::detail::host_kernels<cohort::gru>;
