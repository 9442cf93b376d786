// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/interchange/detail/deeplearning4j_translation.hpp>
#include <cohort/interchange/detail/tensor_operation.hpp>
#include <cohort/layer/layers.hpp>
#include <cohort/layer/recurrent.hpp>

namespace cohort::detail {

namespace deeplearning4j_cells {

inline gate_orders const& orders() {
  return *std::ranges::find(known_gate_orders, std::string_view("deeplearning4j"), &gate_orders::library);
}

inline recurrent_activation function_of(deeplearning4j_object const& activation) {
  static constexpr std::pair<std::string_view, recurrent_activation> known[]{
      {"ActivationTanH", recurrent_activation::tanh},
      {"ActivationSigmoid", recurrent_activation::sigmoid},
      {"ActivationHardSigmoid", recurrent_activation::hard_sigmoid},
      {"ActivationHardTanH", recurrent_activation::hard_tanh},
      {"ActivationReLU", recurrent_activation::relu},
      {"ActivationIdentity", recurrent_activation::identity}};
  activation.expect_read(false);
  for (auto const& [name, function] : known)
    if (name == activation.class_name()) return function;
  activation.refuse("a recurrent layer has no such activation",
                    "TanH, Sigmoid, HardSigmoid, HardTanH, ReLU or Identity", activation.class_name());
}

/// Returns the four blocks of the gates in Cohort's order.
inline std::vector<float> sorted_gates(std::span<float const> from) {
  std::vector<std::size_t> order;
  for (int const block : orders().lstm) order.push_back(static_cast<std::size_t>(block));
  return reorder_blocks(from, order);
}

}  // namespace deeplearning4j_cells

/// Records one direction of a recurrent layer, and its arrays: the input weights C×G·U, the recurrent weights
/// U×G·U, in a GravesLSTM followed by three columns of peepholes, both column-major, and the bias G·U.
int deeplearning4j_translation::cell(object const& of, int x, bool last, bool reverse,
                                     std::string_view suffix) {
  using namespace deeplearning4j_cells;
  std::string const& kind = of.class_name();
  bool const is_simple = kind == "SimpleRnn", has_peepholes = kind.starts_with("Graves");
  int const width = of.count("nin"), units = of.count("nout"), gates = is_simple ? 1 : 4;
  expect_rank(x, 2, of);
  expect_channels(x, width);
  if (of.flag("hasLayerNorm", false))
    of.refuse("Cohort has no recurrent layer with a normalisation inside", "hasLayerNorm false", "true");
  recurrent_activation const activation = function_of(activation_of(of));
  bool const is_stateful = settings_.training && is_truncated_ && !reverse;
  int id = -1;
  if (is_simple) {
    id = record(simple_rnn{.units = units,
                           .last_step = last,
                           .reverse = reverse,
                           .activation = activation,
                           .resets_masked = true,
                           .stateful = is_stateful},
                {x}, suffix);
  } else {
    auto const gate = of.object("gateActivationFn", object::family::activation);
    id = record(lstm{.units = units,
                     .last_step = last,
                     .reverse = reverse,
                     .peepholes = has_peepholes,
                     .activation = activation,
                     .gate_activation = gate ? function_of(*gate) : recurrent_activation::sigmoid,
                     .resets_masked = true,
                     .stateful = is_stateful},
                {x}, suffix);
  }
  auto const u = static_cast<std::size_t>(units), c = static_cast<std::size_t>(width),
             rows = u * static_cast<std::size_t>(gates);
  deeplearning4j_conversion const sort = is_simple ? deeplearning4j_conversion() : sorted_gates;
  add_array(of, rows * c,
            {{.node = id, .parameter = "weights", .dims = {gates * units, width}, .convert = sort}});
  std::vector<deeplearning4j_array::part> recurrent{
      {.node = id, .parameter = "recurrent_weights", .dims = {gates * units, units}, .convert = sort}};
  if (has_peepholes) {
    recurrent[0].convert = [rows, u](std::span<float const> from) {
      return sorted_gates(from.first(rows * u));
    };
    recurrent.push_back({.node = id,
                         .parameter = "peepholes",
                         .dims = {3 * units},
                         .convert = [rows, u](std::span<float const> from) {
                           std::vector<std::size_t> order;
                           for (int const block : orders().peepholes)
                             order.push_back(static_cast<std::size_t>(block));
                           return reorder_blocks(from.subspan(rows * u), order);
                         }});
  }
  add_array(of, (rows + (has_peepholes ? 3 : 0)) * u, std::move(recurrent));
  add_array(of, rows, {{.node = id, .parameter = "bias", .dims = {gates * units}, .convert = sort}}, true,
            true);
  train(of, id, has_peepholes || !suffix.empty() ? weights_as::parts : weights_as::weights);
  return id;
}

int deeplearning4j_translation::recurrent(object const& of, int x) {
  x = cell(of, dropped(of, x), false, false, {});
  of.expect_read(settings_.training);
  return x;
}

int deeplearning4j_translation::last_step(object const& of, int x) {
  auto const inner = of.object("underlying", object::family::layer);
  if (!inner) of.refuse("the layer has no layer inside", "underlying", "none");
  of.mark_read();
  std::string const& kind = inner->class_name();
  if (kind != "LSTM" && kind != "GravesLSTM" && kind != "SimpleRnn")
    of.refuse("LastTimeStep(" + kind + ") is not imported", "LSTM, GravesLSTM or SimpleRnn", kind);
  x = cell(*inner, dropped(*inner, x), true, false, {});
  inner->expect_read(settings_.training);
  return x;
}

/// Translates a layer that runs in both directions. The file has all arrays of the first direction before
/// those of the second one.
int deeplearning4j_translation::bidirectional(object const& of, int x) {
  auto inner = of.object("fwd", object::family::layer);
  if (!inner) of.refuse("the layer has no layer inside", "fwd", "none");
  std::string const mode = of.text("mode", "CONCAT");
  of.mark_read();
  bool last = false;
  if (inner->class_name() == "LastTimeStep") {
    last = true;
    inner = inner->object("underlying", object::family::layer);
    if (!inner) of.refuse("LastTimeStep has no layer inside", "underlying", "none");
  }
  std::string const& kind = inner->class_name();
  if (kind != "LSTM" && kind != "GravesLSTM" && kind != "SimpleRnn")
    of.refuse("Bidirectional(" + kind + ") is not imported", "LSTM, GravesLSTM or SimpleRnn", kind);
  // Each direction has its own dropout.
  int const forward = cell(*inner, dropped(*inner, x), last, false, "forward"),
            backward = cell(*inner, dropped(*inner, x), last, true, "backward");
  inner->expect_read(settings_.training);
  std::vector<int> const both{forward, backward};
  if (mode == "CONCAT") return record(concatenate{}, both);
  if (mode == "ADD") return record(add{}, both);
  if (mode == "MUL") return record(multiply{}, both);
  if (mode == "AVERAGE") return record(average{}, both);
  of.refuse("the mode is unknown", "CONCAT, ADD, MUL or AVERAGE", mode);
}

int deeplearning4j_translation::graves_bidirectional(object const& of, int x) {
  x = dropped(of, x);
  int const forward = cell(of, x, false, false, "forward"), backward = cell(of, x, false, true, "backward");
  of.expect_read(settings_.training);
  return record(add{}, {forward, backward});
}

}  // namespace cohort::detail
