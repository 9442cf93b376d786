// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/detail/attention_host.hpp>
#include <cohort/layer/detail/attention_program.hpp>
#include <cohort/layer/kind.hpp>

namespace cohort {

/// Scaled dot-product attention with several heads. For each head, with d = C / heads columns of queries and
/// keys:
///
///     y_i = Σ_j p_ij·v_j      p_i = softmax_j(q_i·k_j / √d)
///
/// Shapes    one input T×3C: the queries, keys and values of a sequence side by side, as one dense layer
///           writes them → output T×C. Three inputs: queries S×C, keys T×C and values T×V → output S×V. The
///           columns of each tensor are divided into `heads` equal blocks, and head h uses block h of each.
///           Block h of queries and keys has the columns h·d … (h + 1)·d − 1.
/// Units     `causal`: step i only attends to steps 0 … i. `rotary`: base of the rotary position embedding
///           (10000 as in the source; 0: none). At step t, it rotates columns k and k + d/2 of each
///           head's queries and keys by the angle t / base^(2k / d).
/// After     no query attends to a masked key. If all keys that a query could attend to are masked, its
///           output is 0. With three inputs, keys and values have the same mask, or one of them has none. The
///           queries may have a different mask; the output has the queries' mask.
/// Cost      memory for training: `heads` elements per query. No S×T matrix is stored.
/// Source    Vaswani et al., NeurIPS 2017; without an S×T matrix: Rabe and Staats, 2021, and Dao et al.,
///           NeurIPS 2022; rotary positions: Su et al., "RoFormer", 2021, where the pairs are columns 2k and
///           2k + 1.
struct attention {
  static constexpr std::string_view kind_name = "attention";
  static constexpr int max_inputs = 3;
  static constexpr bool reads_mask = true;

  required<int, "heads"> heads;
  bool causal = false;
  double rotary = 0;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"heads", &attention::heads}, field{"causal", &attention::causal},
                      field{"rotary", &attention::rotary}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (inputs.size() == 2)
      return {"attention needs one input (queries, keys and values side by side) or three",
              {"first", inputs[0]},
              {"second", inputs[1]}};
    for (shape const& one : inputs)
      if (one.rank != 2) return {"attention needs sequences: inputs of steps x columns", {"input", one}};
    if (heads < 1) return {"attention needs at least one head", labelled_number("heads", heads)};
    if (!(rotary >= 0)) return {"the base of rotary positions must be at least 0"};
    if (inputs.size() == 1 && inputs[0][1] % 3 != 0)
      return {"the columns of attention's input must be queries, keys and values of equal width",
              {"input", inputs[0]}};
    if (inputs.size() == 3 && inputs[0][1] != inputs[1][1])
      return {"queries and keys must have equally many columns", {"queries", inputs[0]}, {"keys", inputs[1]}};
    if (inputs.size() == 3 && inputs[1][0] != inputs[2][0])
      return {"keys and values must have equally many steps", {"keys", inputs[1]}, {"values", inputs[2]}};
    if (inputs.size() == 3 && causal && inputs[0][0] != inputs[1][0])
      return {"causal attention needs as many queries as keys", {"queries", inputs[0]}, {"keys", inputs[1]}};
    detail::attention_sizes const s = sizes(inputs);
    if (s.columns % heads != 0 || s.value_columns % heads != 0)
      return {"the columns of queries and values must be multiples of the number of heads",
              {"input", inputs[0]},
              labelled_number("heads", heads)};
    if (rotary > 0 && s.columns / heads % 2 != 0)
      return {"rotary positions need an even number of columns for each head",
              {"input", inputs[0]},
              labelled_number("heads", heads)};
    return shape{s.queries, s.value_columns};
  }
  constexpr mask_rule masks(std::span<shape const> inputs) const {
    mask_rule rule = mask_use::passes;
    rule.queries = inputs.size() == 3 ? 1 : 0;
    return rule;
  }
  constexpr double flops(std::span<shape const> inputs) const {
    detail::attention_sizes const s = sizes(inputs);
    return 2.0 * s.queries * s.keys * (s.columns + s.value_columns) * (causal ? 0.5 : 1.0);
  }
  /// Workspace: the log-sum-exp of the scores of each query and head.
  constexpr std::int64_t workspace(std::span<shape const> inputs, int batch) const {
    return std::int64_t{batch} * heads * inputs[0][0];
  }

  constexpr detail::attention_sizes sizes(std::span<shape const> inputs) const {
    bool const packed = inputs.size() == 1;
    return {.queries = inputs[0][0],
            .keys = inputs[packed ? 0 : 1][0],
            .columns = packed ? inputs[0][1] / 3 : inputs[0][1],
            .value_columns = packed ? inputs[0][1] / 3 : inputs[2][1],
            .heads = heads,
            .packed = packed,
            .causal = causal,
            .rotary = rotary};
  }

  detail::composed_kernel compose(detail::composed_request const& request,
                                  detail::product_backend& backend) const {
    return detail::compose_attention(sizes(request.inputs), request, backend);
  }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    detail::attention_forward(sizes(a.input_shapes), a);
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    detail::attention_backward(sizes(a.input_shapes), a);
  }
};

}  // namespace cohort

namespace cohort::detail {
template <>
inline constexpr bool is_on_demand_layer<attention> = true;
}  // namespace cohort::detail

extern template struct cohort::detail::host_kernels<cohort::attention>;
