// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/keras/detail/keras_translation.hpp>
#include <cohort/layer/gru.hpp>
#include <cohort/layer/layers.hpp>
#include <cohort/layer/lstm.hpp>
#include <cohort/layer/recurrent_output.hpp>
#include <cohort/layer/simple_rnn.hpp>

namespace cohort::detail {

namespace keras_cells {

inline std::optional<recurrent_activation> find_activation(std::string const& name, int version) {
  if (name == "tanh") return recurrent_activation::tanh;
  if (name == "sigmoid") return recurrent_activation::sigmoid;
  if (name == "hard_sigmoid" && version < 3) return recurrent_activation::hard_sigmoid;
  if (name == "hard_tanh") return recurrent_activation::hard_tanh;
  if (name == "relu") return recurrent_activation::relu;
  if (name == "linear") return recurrent_activation::identity;
  return {};
}

}  // namespace keras_cells

/// Records a recurrent layer and those parts of its output that are used: sequence and states.
template <class L>
keras_translation::recurrent_result keras_translation::record_recurrent(L layer, keras_fields const& fields,
                                                                        keras_value const& x,
                                                                        values const& initial,
                                                                        std::set<std::size_t> const& wanted,
                                                                        std::string_view suffix, int states) {
  recurrent_result made;
  made.returns_sequences = fields.flag({"return_sequences"}, false);
  made.returns_state = fields.flag({"return_state"}, false);
  int const units = layer.units;
  layer.last_step = !made.returns_sequences;
  bool const needs_states =
      made.returns_state && std::ranges::any_of(wanted, [](std::size_t n) { return n > 0; });
  layer.returns_state = needs_states;
  std::vector<int> ids{id_of(x)};
  for (keras_value const& state : initial) {
    if (state.dims != std::vector<int>{units})
      refuse("an initial state must have as many elements as units", std::to_string(units),
             keras_text(state.dims));
    expect_plain_order(state);
    ids.push_back(id_of(state));
  }
  std::string const name(suffix);
  int const id = record(layer, ids, suffix);
  recurrent_node_ = id;
  std::vector<int> const dims =
      made.returns_sequences ? std::vector<int>{x.dims[0], units} : std::vector<int>{units};
  auto const part = [&](recurrent_part which, std::string_view called) {
    return record(recurrent_output{.states = states, .part = which}, {id},
                  name.empty() ? std::string(called) : name + '/' + std::string(called));
  };
  bool const is_masked = net_.view()[id].mask >= 0 || net_.view().input_mask(id) >= 0;
  made.outputs.resize(made.returns_state ? static_cast<std::size_t>(states) + 1 : 1);
  if (!needs_states) {
    made.outputs[0] = value(id, dims);
  } else {
    if (wanted.contains(0))
      made.outputs[0] =
          value(part(made.returns_sequences ? recurrent_part::steps : recurrent_part::state, "output"), dims);
    if (wanted.contains(1)) made.outputs[1] = value(part(recurrent_part::state, "state"), {units});
    if (states > 1 && wanted.contains(2))
      made.outputs[2] = value(part(recurrent_part::cells, "cells"), {units});
  }
  if (fields.flag({"zero_output_for_mask"}, false) && is_masked && made.returns_sequences
      && made.outputs[0].slot) {
    made.outputs[0] = value(
        record(zero_masked{}, {id_of(made.outputs[0])}, name.empty() ? "zeroed" : name + "/zeroed"), dims);
    made.outputs[0].has_zero_padding = true;
  }
  return made;
}

keras_translation::recurrent_result keras_translation::make_recurrent(
    call const& c, std::string const& class_name, keras_fields const& fields, keras_fields const& cell,
    keras_value const& x, values const& initial, std::set<std::size_t> const& wanted, std::string_view suffix,
    std::string const& part, bool reverse) {
  if (x.dims.size() != 2)
    refuse("a recurrent layer reads a sequence", "steps and features", keras_text(x.dims));
  int const units = cell.integer({"units", "output_dim"}), channels = x.dims[1];
  bool const bias = cell.flag({"use_bias"}, true);
  auto const function = [&](keras_fields::names names, std::string otherwise) {
    auto const found = cell.object(names);
    std::string const name = found              ? found->class_name
                             : cell.find(names) ? std::string("linear")
                                                : std::move(otherwise);
    auto const known = keras_cells::find_activation(name, version_);
    if (!known)
      refuse(name == "hard_sigmoid"
                 ? "Keras 3's hard_sigmoid of a recurrent layer is x/6 + 0.5, Cohort's 0.2·x + 0.5"
                 : "a recurrent layer has no such activation",
             "tanh, sigmoid, hard_tanh, relu or linear", name);
    return *known;
  };
  std::string const gates = version_ == 1 || (version_ == 2 && keras_minor_ < 3) ? "hard_sigmoid" : "sigmoid";
  double const dropout = how_.training && !c.inference ? cell.number({"dropout", "dropout_W"}, 0) : 0;
  double const recurrent_dropout =
      how_.training && !c.inference ? cell.number({"recurrent_dropout", "dropout_U"}, 0) : 0;
  bool const stateful = fields.flag({"stateful"}, false);
  auto const activation = function({"activation"}, "tanh");
  if (class_name == "LSTM" || class_name == "GRU")
    (void)function({"recurrent_activation", "inner_activation"}, gates);

  recurrent_result made;
  int const rows = class_name == "LSTM" ? 4 : class_name == "GRU" ? 3 : 1;
  bool reset_after = false;
  if (class_name == "LSTM") {
    made = record_recurrent(
        lstm{.units = units,
             .reverse = reverse,
             .activation = activation,
             .gate_activation = function({"recurrent_activation", "inner_activation"}, gates),
             .dropout = dropout,
             .recurrent_dropout = recurrent_dropout,
             .bias = bias,
             .forget_bias = cell.flag({"unit_forget_bias"}, true) ? 1.0 : 0.0,
             .stateful = stateful},
        fields, x, initial, wanted, suffix, 2);
  } else if (class_name == "GRU") {
    reset_after = cell.flag({"reset_after"}, version_ == 3);
    made =
        record_recurrent(gru{.units = units,
                             .reverse = reverse,
                             .reset_after = reset_after,
                             .activation = activation,
                             .gate_activation = function({"recurrent_activation", "inner_activation"}, gates),
                             .dropout = dropout,
                             .recurrent_dropout = recurrent_dropout,
                             .bias = bias,
                             .stateful = stateful},
                         fields, x, initial, wanted, suffix, 1);
  } else if (class_name == "SimpleRNN") {
    made = record_recurrent(simple_rnn{.units = units,
                                       .reverse = reverse,
                                       .activation = activation,
                                       .dropout = dropout,
                                       .recurrent_dropout = recurrent_dropout,
                                       .bias = bias,
                                       .stateful = stateful},
                            fields, x, initial, wanted, suffix, 1);
  } else {
    refuse("the recurrent layer " + class_name + " is not imported", "LSTM, GRU or SimpleRNN", class_name);
  }
  int const id = recurrent_node_;
  override_recurrent(id, cell);
  std::size_t const u = static_cast<std::size_t>(units);
  if (version_ == 1 && rows > 1) {
    // Keras 1 has three arrays per gate. An LSTM has the gates i c f o, a GRU z r h.
    std::vector<std::size_t> const gate_of =
        rows == 4 ? std::vector<std::size_t>{0, 2, 1, 3} : std::vector<std::size_t>{0, 1, 2};
    for (std::size_t k = 0; k < gate_of.size(); ++k) {
      int const at = 3 * static_cast<int>(k);
      weigh(id, "weights", {part, at}, {channels, units}, {1, 0}, {},
            gate_of[k] * u * static_cast<std::size_t>(channels));
      weigh(id, "recurrent_weights", {part, at + 1}, {units, units}, {1, 0}, {}, gate_of[k] * u * u);
      weigh(id, "bias", {part, at + 2}, {units}, {}, {}, gate_of[k] * u);
    }
    return made;
  }
  weigh(id, "weights", {part, 0}, {channels, rows * units}, {1, 0});
  weigh(id, "recurrent_weights", {part, 1}, {units, rows * units}, {1, 0});
  if (!bias) return made;
  if (!reset_after) {
    weigh(id, "bias", {part, 2}, {rows * units});
    return made;
  }
  // Keras stores the biases of the input and of the state in one array.
  has_other_groups_ = true;
  for (std::size_t which = 0; which < 2; ++which)
    weigh(id, which == 0 ? "bias" : "recurrent_bias", {part, 2}, {2, rows * units},
          [which](std::vector<float> const& from) {
            auto const half = static_cast<std::ptrdiff_t>(from.size() / 2);
            return which == 0 ? std::vector<float>(from.begin(), from.begin() + half)
                              : std::vector<float>(from.begin() + half, from.end());
          });
  return made;
}

void keras_translation::override_recurrent(int node, keras_fields const& fields) {
  fields.expect_unset({"activity_regularizer"}, "Cohort has no penalty of activations");
  if (!is_first_call() || !how_.training) return;
  for (std::string_view const field : {"W_regularizer", "U_regularizer", "b_regularizer"})
    fields.expect_unset({field}, "penalties of Keras 1 are not imported");
  layer_override row, other;
  add_penalties(row, fields.object({"kernel_regularizer"}), false);
  add_penalties(other, fields.object({"recurrent_regularizer"}), false);
  if (row != other)
    refuse("Cohort has one penalty for the weights and the recurrent weights of a layer",
           "the same kernel_regularizer and recurrent_regularizer", "different ones");
  add_penalties(row, fields.object({"bias_regularizer"}), true);
  for (std::string_view const field : {"kernel_constraint", "recurrent_constraint", "bias_constraint"})
    if (fields.has(field))
      refuse("constraints of recurrent layers are not imported", "None", std::string(field));
  if (row != layer_override()) overrides_.emplace_back(node, std::move(row));
}

namespace keras_cells {

/// Returns the layer class that equals RNN with this cell; "" if there is none.
inline std::string layer_of_cell(std::string const& cell) {
  return cell == "LSTMCell" ? "LSTM" : cell == "GRUCell" ? "GRU" : cell == "SimpleRNNCell" ? "SimpleRNN" : "";
}

}  // namespace keras_cells

keras_translation::values keras_translation::recurrent(call const& c) {
  keras_fields const& f = c.fields;
  values inputs = c.inputs;
  keras_value const x = inputs.front();
  values initial(inputs.begin() + 1, inputs.end());
  for (auto const& [name, given] : c.named_inputs) {
    if (name != "initial_state")
      refuse("the call of the layer has an argument that is not imported", "initial_state", name);
    initial = given;
  }
  f.expect_unset({"time_major"}, "sequences are batch first in Cohort");
  std::string class_name = c.class_name;
  keras_fields cell = f;
  // Files of Keras 3 store the arrays under the cell.
  std::string const part = "cell";
  if (class_name == "RNN") {
    auto const inner = f.object({"cell"});
    class_name = inner ? keras_cells::layer_of_cell(inner->class_name) : "";
    if (class_name.empty())
      refuse("the cell of RNN is not imported", "LSTMCell, GRUCell or SimpleRNNCell",
             inner ? inner->class_name : "none");
    cell = keras_fields(inner->config, f.where(), version_);
  }
  bool const reverse = f.flag({"go_backwards"}, false);
  if (reverse && f.flag({"return_sequences"}, false))
    refuse("Keras returns the outputs of go_backwards in reversed order, Cohort at their steps",
           "Bidirectional, or return_sequences False", "go_backwards and return_sequences");
  recurrent_result made = make_recurrent(c, class_name, f, cell, x, initial, c.wanted, {}, part, reverse);
  if (is_first_call()) cell.expect_read(!how_.training || c.inference);
  return made.outputs;
}

keras_translation::values keras_translation::bidirectional(call const& c) {
  keras_fields const& f = c.fields;
  auto const inner = f.object({"layer"});
  if (!inner || !inner->config) refuse("Bidirectional has no layer", "a recurrent layer", "none");
  auto const backward = f.object({"backward_layer"});
  std::string const mode = merges_none(f) ? "none" : f.text({"merge_mode"}, "concat");
  keras_fields const fields(inner->config, f.where(), version_);
  keras_fields const back(backward && backward->config ? backward->config : inner->config, f.where(),
                          version_);
  (void)back.find({"go_backwards"});  // Bidirectional sets the direction itself
  if (fields.flag({"go_backwards"}, false))
    refuse("the layer inside Bidirectional already has go_backwards", "go_backwards False", "True");
  bool const sequences = fields.flag({"return_sequences"}, false),
             states = fields.flag({"return_state"}, false);
  if (back.flag({"return_sequences"}, false) != sequences || back.flag({"return_state"}, false) != states)
    refuse("the layers of Bidirectional return different outputs", "equal return_sequences and return_state",
           "different ones");
  auto const class_of = [&](keras_object const& object, keras_fields const& of, keras_fields& cell) {
    if (object.class_name != "RNN") return object.class_name;
    auto const found = of.object({"cell"});
    if (!found) refuse("RNN has no cell", "a cell", "none");
    cell = keras_fields(found->config, of.where(), version_);
    return keras_cells::layer_of_cell(found->class_name);
  };
  keras_fields forward_cell = fields, backward_cell = back;
  std::string const forward_class = class_of(*inner, fields, forward_cell);
  std::string const backward_class = class_of(backward ? *backward : *inner, back, backward_cell);

  values inputs = c.inputs;
  keras_value const x = inputs.front();
  values initial(inputs.begin() + 1, inputs.end());
  for (auto const& [name, given] : c.named_inputs) {
    if (name != "initial_state")
      refuse("the call of the layer has an argument that is not imported", "initial_state", name);
    initial = given;
  }
  if (initial.size() % 2 != 0)
    refuse("Bidirectional has initial states for both directions", "an even number of states",
           std::to_string(initial.size()));
  auto const half = static_cast<std::ptrdiff_t>(initial.size() / 2);
  std::size_t const count = forward_class == "LSTM" ? 2 : 1;
  // Bidirectional returns the merged output (or both outputs), then the states of each direction.
  std::size_t const first_state = mode == "none" ? 2 : 1;
  std::set<std::size_t> wanted_forward, wanted_backward;
  for (std::size_t const n : c.wanted) {
    if (n < first_state) {
      if (mode != "none" || n == 0) wanted_forward.insert(0);
      if (mode != "none" || n == 1) wanted_backward.insert(0);
    } else if (n < first_state + count) {
      wanted_forward.insert(n - first_state + 1);
    } else {
      wanted_backward.insert(n - first_state - count + 1);
    }
  }
  bool const is_masked = has_mask(x);
  auto const direction = [&](keras_fields const& of, keras_fields const& cell, std::string const& class_name,
                             values const& start, std::set<std::size_t> const& wanted, char const* name,
                             bool reverse) {
    std::string const part = std::string(reverse ? "backward_layer" : "forward_layer") + "/cell";
    recurrent_result made = make_recurrent(c, class_name, of, cell, x, start, wanted, name, part, reverse);
    if (is_first_call())
      for (keras_fields const* const read : {&of, &cell}) read->expect_read(!how_.training || c.inference);
    // In Bidirectional, Keras sets the outputs of masked steps to 0.
    if (is_masked && sequences && made.outputs[0].slot && !made.outputs[0].has_zero_padding) {
      made.outputs[0] = value(record(zero_masked{}, {id_of(made.outputs[0])}, std::string(name) + "/zeroed"),
                              made.outputs[0].dims);
      made.outputs[0].has_zero_padding = true;
    }
    return made;
  };
  recurrent_result const forward =
      direction(fields, forward_cell, forward_class, values(initial.begin(), initial.begin() + half),
                wanted_forward, "forward", false);
  recurrent_result const behind =
      direction(back, backward_cell, backward_class, values(initial.begin() + half, initial.end()),
                wanted_backward, "backward", true);
  values outputs;
  if (mode == "none") {
    outputs = {forward.outputs[0], behind.outputs[0]};
  } else {
    keras_value merged;
    if (c.wanted.contains(0) || c.wanted.empty()) {
      keras_value const &a = forward.outputs[0], &b = behind.outputs[0];
      std::vector<int> dims = a.dims;
      std::vector<int> const ids{id_of(a), id_of(b)};
      if (mode == "concat") {
        dims.back() += b.dims.back();
        merged = value(record(concatenate{}, ids), dims);
      } else if (mode == "sum") {
        merged = value(record(add{}, ids), dims);
      } else if (mode == "mul") {
        merged = value(record(multiply{}, ids), dims);
      } else if (mode == "ave") {
        merged = value(record(average{}, ids), dims);
      } else {
        refuse("the merge_mode is unknown", "concat, sum, mul, ave or None", mode);
      }
      merged.has_zero_padding = a.has_zero_padding && b.has_zero_padding;
    }
    outputs = {merged};
  }
  if (states)
    for (auto const* const side : {&forward, &behind})
      for (std::size_t k = 1; k < side->outputs.size(); ++k) outputs.push_back(side->outputs[k]);
  return outputs;
}

/// Returns whether merge_mode is null, so that the layer returns both outputs.
bool keras_translation::merges_none(keras_fields const& of) const { return of.has_null("merge_mode"); }

/// Translates TimeDistributed, which changes nothing for layers that compute each step independently.
keras_translation::values keras_translation::time_distributed(call const& c) {
  auto const inner = c.fields.object({"layer"});
  if (!inner || !inner->config) refuse("TimeDistributed has no layer", "a layer", "none");
  expect_rank(c, 2);
  static constexpr std::string_view each_step[]{"Dense",
                                                "Activation",
                                                "ReLU",
                                                "LeakyReLU",
                                                "ELU",
                                                "Softmax",
                                                "Dropout",
                                                "LayerNormalization",
                                                "RMSNormalization",
                                                "GaussianNoise",
                                                "Identity"};
  if (inner->class_name == "Flatten") return {only(c)};
  if (inner->class_name == "Softmax") expect_no_mask(only(c));  // an error in Keras
  if (std::ranges::find(each_step, inner->class_name) == std::end(each_step))
    refuse("TimeDistributed(" + inner->class_name + ") is not imported",
           "Dense, an activation, Dropout or LayerNormalization", inner->class_name);
  auto* const state = state_;
  std::string const object = std::exchange(state->object_path, state->object_path + "/layer");
  call made = c;
  made.class_name = inner->class_name;
  made.fields = keras_fields(inner->config, c.fields.where(), version_);
  values outputs = dispatch(made);
  state->object_path = object;
  return outputs;
}

}  // namespace cohort::detail
