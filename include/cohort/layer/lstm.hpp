// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/recurrent_host.hpp>
#include <cohort/layer/detail/recurrent_program.hpp>
#include <cohort/layer/detail/recurrent_rules.hpp>
#include <cohort/layer/kind.hpp>

namespace cohort {

/// Long short-term memory.
///
///     i = gate(Wi·x + Ri·h + bi [+ pi∘c])      c' = f∘c + i∘act(Wc·x + Rc·h + bc)
///     f = gate(Wf·x + Rf·h + bf [+ pf∘c])      o  = gate(Wo·x + Ro·h + bo [+ po∘c'])      h' = o∘act(c')
///
/// Shapes    input T×C and, optionally, an initial state h and c, U each: join(lstm{…}, x, h, c) → output
///           T×U, or U (the state h after the last step) if `last_step`. weights 4U×C, recurrent_weights 4U×U
///           and bias 4U, with the gates in the order i f c o; peepholes 3U, in the order i f o.
/// Units     `dropout`, `recurrent_dropout`: probabilities of dropping an element of x and of h. An example
///           has one mask for all of its steps.
/// After     a masked step keeps the state and repeats the previous output; before the first unmasked step,
///           the output is zero (Keras). With `resets_masked`, a masked step sets state and output to zero
///           (Deeplearning4j). `reverse`: from the last step to the first; output t still belongs to input
///           step t. The final state (see with_state) is the state after the last unmasked step.
/// Exact     results equal a loop over the steps: masked steps influence neither the outputs of other steps
///           nor any gradient.
/// Source    Hochreiter and Schmidhuber, Neural Computation 1997; peepholes: Gers, Schraudolph and
///           Schmidhuber, JMLR 2002; one dropout mask per sequence: Gal and Ghahramani, NIPS 2016.
struct lstm {
  static constexpr std::string_view kind_name = "lstm";
  static constexpr bool reads_scalars = true;
  static constexpr bool reads_mask = true;
  static constexpr bool carries_state = true;
  static constexpr int max_inputs = 3;

  required<int, "units"> units;
  bool last_step = false;
  bool reverse = false;
  bool peepholes = false;
  recurrent_activation activation = recurrent_activation::tanh;
  recurrent_activation gate_activation = recurrent_activation::sigmoid;
  bool resets_masked = false;
  double dropout = 0;
  double recurrent_dropout = 0;
  bool bias = true;
  double forget_bias = 1;      ///< initial value of the forget gate's bias
  bool returns_state = false;  ///< set by with_state
  bool stateful = false;       ///< in training, carries the state from batch to batch
  layer_settings settings = {};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"units", &lstm::units},
                      field{"last_step", &lstm::last_step},
                      field{"reverse", &lstm::reverse},
                      field{"peepholes", &lstm::peepholes},
                      field{"activation", &lstm::activation},
                      field{"gate_activation", &lstm::gate_activation},
                      field{"resets_masked", &lstm::resets_masked},
                      field{"dropout", &lstm::dropout},
                      field{"recurrent_dropout", &lstm::recurrent_dropout},
                      field{"bias", &lstm::bias},
                      field{"forget_bias", &lstm::forget_bias},
                      field{"returns_state", &lstm::returns_state},
                      field{"stateful", &lstm::stateful}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    return detail::infer_recurrent(*this, inputs);
  }
  constexpr mask_rule masks(std::span<shape const>) const { return detail::recurrent_masks(*this); }
  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    parameter_list list = detail::recurrent_parameters(cell(inputs));
    if (bias) list.specs[2].part = {units, units, forget_bias};
    return list;
  }
  constexpr double flops(std::span<shape const> inputs) const {
    return detail::recurrent_flops(cell(inputs), inputs);
  }
  std::int64_t workspace(std::span<shape const> inputs, int batch) const {
    return detail::recurrent_workspace(cell(inputs), inputs[0][0], batch);
  }
  constexpr detail::recurrent_cell cell(std::span<shape const> inputs) const {
    detail::recurrent_cell made = detail::cell_of(*this, detail::cell_kind::lstm, inputs);
    made.gate_activation = gate_activation;
    made.peepholes = peepholes;
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
inline constexpr bool is_on_demand_layer<lstm> = true;
}  // namespace cohort::detail

extern template struct cohort::detail::host_kernels<cohort::lstm>;
