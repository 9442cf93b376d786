// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/detail/json_string.hpp>
#include <cohort/interchange/detail/onnx_importer.hpp>
#include <cohort/io/detail/permutation.hpp>

namespace cohort::detail {

/// Returns the activations of one direction as fields.
onnx_importer::fields onnx_importer::recurrent_functions(std::size_t direction, std::size_t directions) {
  std::size_t const each = node_->op == "LSTM" ? 3 : node_->op == "GRU" ? 2 : 1;
  std::vector<std::string> names;
  onnx_attribute const* const given = attribute("activations", onnx_attribute::texts);
  onnx_attribute const* const alphas = attribute("activation_alpha", onnx_attribute::reals);
  onnx_attribute const* const betas = attribute("activation_beta", onnx_attribute::reals);
  if (given) names = given->strings;
  if (names.empty())
    for (std::size_t d = 0; d < directions; ++d) {
      if (each > 1) names.push_back("Sigmoid");
      for (std::size_t i = each == 1 ? 0 : 1; i < each; ++i) names.push_back("Tanh");
    }
  if (names.size() != each * directions)
    refuse("activations has another length than the functions of all directions", {each * directions},
           {names.size()}, onnx_remedy::check);
  std::size_t alpha = 0, beta = 0;
  std::vector<double> kinds;
  for (std::string const& one : names) {
    std::string lower = one;
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    auto const parameter = [&](onnx_attribute const* list, std::size_t& next, double otherwise) {
      return list && next < list->floats.size() ? static_cast<double>(list->floats[next++]) : otherwise;
    };
    if (lower == "tanh")
      kinds.push_back(0);
    else if (lower == "sigmoid")
      kinds.push_back(1);
    else if (lower == "relu")
      kinds.push_back(4);
    else if (lower == "hardsigmoid" && std::abs(parameter(alphas, alpha, 0.2) - 0.2) < 1e-7
             && std::abs(parameter(betas, beta, 0.5) - 0.5) < 1e-7)
      kinds.push_back(2);
    else if (lower == "affine" && parameter(alphas, alpha, 1) == 1 && parameter(betas, beta, 0) == 0)
      kinds.push_back(5);
    else
      refuse("no cell has this function with these parameters",
             "Tanh, Sigmoid, Relu, HardSigmoid of 0.2 and 0.5, or Affine of 1 and 0", quote_for_error(one),
             onnx_remedy::replace);
  }
  auto const first = kinds.begin() + static_cast<std::ptrdiff_t>(direction * each);
  fields made{{"activation", {first[each == 1 ? 0 : 1]}}};
  if (each == 3 && first[1] != first[2])
    refuse(
        "the functions of cells and outputs differ", "equal functions",
        {quote_for_error(names[direction * each + 1]), " and ", quote_for_error(names[direction * each + 2])},
        onnx_remedy::replace);
  if (each > 1) made.push_back({"gate_activation", {first[0]}});
  return made;
}

int onnx_importer::recurrent_layer(onnx_value const& x, std::size_t direction, std::size_t directions,
                                   bool last_step, bool returns_state) {
  std::string const& op = node_->op;
  bool const is_lstm = op == "LSTM", is_gru = op == "GRU";
  std::size_t const gates = is_lstm ? 4 : is_gru ? 3 : 1;
  std::int64_t const layout = integer("layout", 0);
  tensor_float const weights = numbers(1), recurrent = numbers(2);
  if (weights.dims.size() != 3 || recurrent.dims.size() != 3)
    refuse("the weights do not have three axes", "directions x columns x width",
           {input_text(1), " and ", input_text(2)}, onnx_remedy::check);
  checked_shape(weights.dims), checked_shape(recurrent.dims);
  std::int64_t const units = recurrent.dims[2], width = weights.dims[2];
  std::int64_t const columns = units * static_cast<std::int64_t>(gates);
  if (integer("hidden_size", units) != units || weights.dims[1] != columns || recurrent.dims[1] != columns
      || weights.dims[0] != static_cast<std::int64_t>(directions) || recurrent.dims[0] != weights.dims[0])
    refuse("the weights do not fit hidden_size and direction",
           {directions, " x ", columns, " x C and ", directions, " x ", columns, " x ", units},
           {input_text(1), " and ", input_text(2)}, onnx_remedy::check);
  std::string const towards = text("direction", "forward");
  bool const reset_after = is_gru && integer("linear_before_reset", 0) != 0;
  bool const peepholes = is_lstm && has_input(7);
  if (is_lstm && integer("input_forget", 0) != 0)
    refuse("input and forget gates are coupled", "input_forget 0", {integer("input_forget", 0)},
           onnx_remedy::replace);
  integer("output_sequence", 0);
  if (attribute("clip", onnx_attribute::real))
    refuse("the cells are clipped", "no attribute clip", {"clip ", real("clip", 0)}, onnx_remedy::replace);

  std::vector<int> from;
  onnx_value turned = x;
  if (layout == 0) std::swap(turned.dims[0], turned.dims[1]), std::swap(turned.axes[0], turned.axes[1]);
  if (turned.axes[0] != onnx_value::batch)
    refuse("the batch of the input is not the axis that layout names",
           {layout == 0 ? "T x N x C" : "N x T x C"}, input_text(0), onnx_remedy::batch_first);
  from.push_back(reshaped(turned, checked_shape({turned.dims[1], turned.dims[2]})));
  if (fused())
    check_mask(turned);
  else if (net_.view()[turned.id].mask >= 0 && !has_input(4))
    refuse("the cells read the padding of sequences of different lengths", "sequence_lens", "none",
           onnx_remedy::replace);
  if (turned.dims[2] != width)
    refuse("the weights do not fit the input", {turned.dims[2], " columns"}, {width}, onnx_remedy::check);
  if (has_input(4) && !lengths_.contains(node_->inputs[4])) {  // constants: see find_lengths
    std::optional<extents> const given = list(4, nullptr);
    for (std::int64_t const one : *given)
      if (one != turned.dims[1])
        refuse("constant sequence_lens differ from the number of steps", {turned.dims[1]}, {one},
               "make sequence_lens an input of the graph, or remove it");
  }
  for (std::size_t const which : {std::size_t{5}, std::size_t{6}}) {
    if (!has_input(which) || (which == 6 && !is_lstm)) continue;
    if (any(which).fill == 0.0) continue;
    if (is_constant(which)) {
      tensor_float const given = numbers(which);
      for (float const one : given.values)
        if (one != 0)
          refuse("the initial state is a constant", "zeros, or a value that depends on an input",
                 {one, " in ", input_text(which)}, "make the state an input of the graph");
      continue;
    }
    onnx_value state = data(which);
    if (state.dims.size() != 3)
      refuse("the initial state does not have three axes", {layout == 0 ? "D x N x U" : "N x D x U"},
             input_text(which), onnx_remedy::check);
    if (layout == 0) std::swap(state.dims[0], state.dims[1]), std::swap(state.axes[0], state.axes[1]);
    if (state.axes[0] != onnx_value::batch)
      refuse("the batch of the initial state is not the axis that layout names",
             {layout == 0 ? "D x N x U" : "N x D x U"}, input_text(which), onnx_remedy::batch_first);
    onnx_value const own =
        sliced(state, 1, static_cast<std::int64_t>(direction), static_cast<std::int64_t>(direction) + 1);
    from.push_back(reshaped(own, checked_shape({units})));
  }
  if (from.size() > 1 && from.size() != (is_lstm ? 3U : 2U))
    refuse("only a part of the initial state is given", "initial_h and initial_c, or none",
           {from.size() - 1, " of 2"}, "make both states inputs of the graph");

  auto const part = [&](tensor_float const& all) {
    std::size_t const size = all.values.size() / directions;
    return std::span<float const>(all.values).subspan(direction * size, size);
  };
  std::vector<std::size_t> const order = is_lstm  ? std::vector<std::size_t>{0, 2, 3, 1}
                                         : is_gru ? std::vector<std::size_t>{0, 1, 2}
                                                  : std::vector<std::size_t>{0};
  fields with = recurrent_functions(direction, directions);
  with.push_back({"units", {static_cast<double>(units)}});
  with.push_back({"last_step", {last_step ? 1.0 : 0.0}});
  with.push_back({"returns_state", {returns_state ? 1.0 : 0.0}});
  with.push_back({"reverse", {direction == 1 || towards == "reverse" ? 1.0 : 0.0}});
  if (is_gru) with.push_back({"reset_after", {reset_after ? 1.0 : 0.0}});
  if (is_lstm) with.push_back({"peepholes", {peepholes ? 1.0 : 0.0}});
  bool const bias = has_input(3);
  with.push_back({"bias", {bias ? 1.0 : 0.0}});
  int const made = append(is_lstm ? "lstm" : is_gru ? "gru" : "simple_rnn", from, with);
  int const c = static_cast<int>(columns), u = static_cast<int>(units), w = static_cast<int>(width);
  store("weights", {c, w}, reorder_blocks(part(weights), order));
  store("recurrent_weights", {c, u}, reorder_blocks(part(recurrent), order));
  if (bias) {
    tensor_float const both = numbers(3);
    if (static_cast<std::int64_t>(both.values.size()) != 2 * columns * static_cast<std::int64_t>(directions))
      refuse("the bias does not fit the weights",
             {2 * columns * static_cast<std::int64_t>(directions), " elements"}, input_text(3),
             onnx_remedy::check);
    std::span<float const> const own = part(both);
    std::vector<float> first = reorder_blocks(own.first(own.size() / 2), order);
    std::vector<float> const second = reorder_blocks(own.last(own.size() / 2), order);
    if (!reset_after)
      for (std::size_t i = 0; i < first.size(); ++i) first[i] += second[i];
    store("bias", {c}, first);
    if (reset_after) store("recurrent_bias", {c}, second);
  }
  if (peepholes) {
    tensor_float const three = numbers(7);
    if (static_cast<std::int64_t>(three.values.size()) != 3 * units * static_cast<std::int64_t>(directions))
      refuse("the peepholes do not fit the weights",
             {3 * units * static_cast<std::int64_t>(directions), " elements"}, input_text(7),
             onnx_remedy::check);
    store("peepholes", {3 * u}, reorder_blocks(part(three), {0, 2, 1}));  // i o f become i f o
  }
  return made;
}

void onnx_importer::recurrent() {
  onnx_value const& x = data(0);
  if (x.dims.size() != 3)
    refuse("the input does not have three axes", "T x N x C, or N x T x C with layout 1", input_text(0),
           onnx_remedy::check);
  std::string const towards = text("direction", "forward");
  if (towards != "forward" && towards != "reverse" && towards != "bidirectional")
    refuse("direction is unknown", "forward, reverse or bidirectional", quote_for_error(towards),
           onnx_remedy::check);
  std::int64_t const layout = integer("layout", 0);
  std::size_t const directions = towards == "bidirectional" ? 2 : 1;
  bool const steps = is_used(0), state = is_used(1), cells = is_used(2);
  bool const last_step = !steps, returns_state = cells || (steps && state);
  std::vector<int> all[3];
  for (std::size_t d = 0; d < directions; ++d) {
    int const made = recurrent_layer(x, d, directions, last_step, returns_state);
    for (int output = 0; output < 3; ++output) {
      if (!(output == 0 ? steps : output == 1 ? state : cells)) continue;
      int part = made;
      if (returns_state)
        part =
            append("recurrent_output", {made},
                   {{"states", {node_->op == "LSTM" ? 2.0 : 1.0}}, {"part", {static_cast<double>(output)}}});
      all[output].push_back(part);
    }
  }
  std::int64_t const length = x.dims[layout == 0 ? 0 : 1], batch = x.dims[layout == 0 ? 1 : 0];
  std::int64_t const units = numbers(2).dims[2], d = static_cast<std::int64_t>(directions);
  constexpr int of_batch = onnx_value::batch, unit = onnx_value::unit;
  for (std::size_t output = 0; output < 3; ++output) {
    if (all[output].empty()) continue;
    int id = all[output][0];
    bool const is_steps = output == 0;
    onnx_value value;
    if (directions == 2) {
      id = append("concatenate", all[output]);
      id = reshaped(id, is_steps ? checked_shape({length, 2, units}) : checked_shape({2, units}));
    }
    value.id = id;
    bool const two = directions == 2;
    if (is_steps) {
      value.dims = layout == 0 ? extents{length, d, batch, units} : extents{batch, length, d, units};
      value.axes = layout == 0 ? std::vector<int>{0, two ? 1 : unit, of_batch, two ? 2 : 1}
                               : std::vector<int>{of_batch, 0, two ? 1 : unit, two ? 2 : 1};
    } else {
      value.dims = layout == 0 ? extents{d, batch, units} : extents{batch, d, units};
      value.axes = layout == 0 ? std::vector<int>{two ? 0 : unit, of_batch, two ? 1 : 0}
                               : std::vector<int>{of_batch, two ? 0 : unit, two ? 1 : 0};
    }
    set(value, output);
  }
}

/// Checks the shapes, which are unknown in fuse_attention. Splitting and joining the heads must keep batch
/// and steps, the heads must have all columns, and the causal mask must have the extents of the scores.
void onnx_importer::check_heads(fusion const& of) {
  auto const keeps = [](extents const& target, onnx_value const& x) {
    bool kept[2]{}, inferred[2]{};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      kept[axis] = target[axis] == 0 || (x.dims[axis] > 0 && target[axis] == x.dims[axis]);
      inferred[axis] = target[axis] == -1;
    }
    return (kept[0] || (inferred[0] && kept[1])) && (kept[1] || (inferred[1] && kept[0]));
  };
  std::int64_t const heads = of.heads[0][2], parts = of.is_packed ? 3 : 1;
  for (std::size_t which = 0; which < 3; ++which) {
    onnx_value const& x = data(of.is_packed ? 0 : which);
    extents const& target = of.heads[which];
    if (x.dims.size() != 3)
      refuse("an input of the attention is not a sequence", "N x T x C", extents_text(x.dims),
             onnx_remedy::replace);
    if (!keeps(target, x))
      refuse("the heads are split across examples or steps", "a Reshape that keeps N and T",
             {extents_text(x.dims), " to ", extents_text(target)},
             "replace windowed attention before the export");
    if (parts * heads * target[3] != x.dims[2])
      refuse("the heads do not have all columns of an input", {x.dims[2], " columns"},
             {parts * heads * target[3]}, onnx_remedy::check);
  }
  std::int64_t const width = heads * of.heads[2][3];
  bool const infers_width = of.joined[2] == -1 && of.joined[0] != -1 && of.joined[1] != -1;
  if (!keeps(of.joined, data(0)) || (of.joined[2] != width && !infers_width))
    refuse("the heads are joined across examples or steps", {"a Reshape to N x T x ", width},
           extents_text(of.joined), "replace windowed attention before the export");
  extents const steps{data(0).dims[1], data(of.is_packed ? 0 : 1).dims[1]};
  if (!of.mask.empty() && of.mask != steps)
    refuse("the mask does not have the extents of the scores", extents_text(steps), extents_text(of.mask),
           onnx_remedy::replace);
  if (of.rotary > 0 && of.rotated != steps)
    refuse("the rotary positions do not have the steps of queries and keys", extents_text(steps),
           extents_text(of.rotated), onnx_remedy::replace);
}

void onnx_importer::attention() {
  std::int64_t const heads = integer("q_num_heads", 0), others = integer("kv_num_heads", 0);
  bool const causal = integer("is_causal", 0) != 0;
  onnx_attribute const* const scale = attribute("scale", onnx_attribute::real);
  if (real("softcap", 0) != 0)
    refuse("the scores are limited", "softcap 0", {real("softcap", 0)}, onnx_remedy::replace);
  integer("softmax_precision", 1), integer("qk_matmul_output_mode", 0);
  for (std::size_t input = 3; input < node_->inputs.size(); ++input)
    if (has_input(input))
      refuse("the node has a mask or earlier keys", "three inputs",
             {"input ", input, ": ", quote_for_error(node_->inputs[input])}, onnx_remedy::replace);
  for (std::size_t output = 1; output < node_->outputs.size(); ++output)
    if (is_used(output))
      refuse("keys, values or products are read", "no reader",
             {"readers of ", quote_for_error(node_->outputs[output])}, onnx_remedy::replace);
  if (heads < 1 || heads != others || heads > max_onnx_extent)
    refuse("queries and keys have different numbers of heads, or none is given",
           {"equal q_num_heads and kv_num_heads of 1 to ", max_onnx_extent}, {heads, " and ", others},
           onnx_remedy::replace);
  std::vector<int> from;
  fusion const* const of = fused();
  if (of) check_heads(*of);
  bool const packed = of && of->is_packed;
  for (std::size_t x = 0; x < (packed ? 1 : 3); ++x) {
    if (data(x).dims.size() != 3 || data(x).axes[0] != onnx_value::batch
        || data(x).dims[0] != data(0).dims[0])
      refuse("an input of the attention is not a sequence", "N x T x C with the batch of the first input",
             input_text(x), onnx_remedy::replace);
    from.push_back(reshaped(data(x), checked_shape(behind_batch_of(data(x)))));
  }
  if (of && !of->masked_by.empty()) check_mask(data(packed ? 0 : 1));
  int const columns = shape_of(from[0])[1] / (packed ? 3 : 1), width = columns / static_cast<int>(heads);
  double const usual = 1 / std::sqrt(static_cast<double>(width));
  if (scale && std::abs(static_cast<double>(scale->f) - usual) > 1e-6 * usual)
    refuse("the scale is not that of the width of a head", {usual}, {scale->f}, onnx_remedy::replace);
  int const made = append("attention", from,
                          {{"heads", {static_cast<double>(heads)}},
                           {"causal", {causal ? 1.0 : 0.0}},
                           {"rotary", {of ? of->rotary : 0}}});
  ::cohort::shape const out = shape_of(made);
  set(row_major(made, {out[0], out[1]}, data(0).dims[0]));
}

}  // namespace cohort::detail
