// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/caffe/detail/caffe_importer.hpp>

namespace cohort::detail {

/// Returns a sequence T×(C + S) from x, T×N×C, and the optional static input, N×S, which each step gets.
/// Records the continuation indicators, which the network does not read.
int caffe_importer::recurrent_input(std::int64_t& channels, std::int64_t& fixed) {
  expect_bottoms(2, 3);
  if (param_.boolean("expose_hidden", false) || layer_->tops.size() > 1)
    refuse("the hidden state is read or returned", "expose_hidden false and one top", "expose_hidden true");
  caffe_value const x = bottom(0), cont = bottom(1);
  if (x.dims.size() < 2 || batch_of(x.dims) != 1 || cont.dims.size() != 2 || cont.dims[0] != x.dims[0])
    refuse("the bottoms are no sequences", "T x N x …, and T x N for the continuation indicators",
           {dims_text(x.dims), " and ", dims_text(cont.dims)});
  if (cont.source.empty())
    refuse("the continuation indicators (cont) are computed",
           "a top of a data layer, or an input of the file",
           "the output of a layer; no layer reads indicators at run time");
  if (std::ranges::find(continuations_, cont.source) == continuations_.end())
    continuations_.push_back(cont.source);
  std::int64_t const steps = x.dims[0];
  channels = elements_of(x.dims) / steps;
  int from = as(x, {steps, channels});
  fixed = 0;
  if (bottoms() < 3) return from;
  caffe_value const constant_input = bottom(2);
  if (constant_input.dims.empty() || constant_input.dims[0] != -1)
    refuse("the static input has no batch", "N x …", dims_text(constant_input.dims));
  fixed = elements_of(constant_input.dims);
  std::vector<int> copies;
  int repeated = as(constant_input, {fixed});
  if (steps > 4096) refuse("the static input is repeated too often", "at most 4096 steps", {steps});
  for (std::int64_t done = 0; done < steps; done += 64)
    copies.push_back(
        steps - done == 1
            ? repeated
            : append("concatenate",
                     std::vector<int>(static_cast<std::size_t>(std::min<std::int64_t>(64, steps - done)),
                                      repeated)));
  if (copies.size() > 1) copies = {append("concatenate", copies)};
  return append("concatenate", {from, as(copies[0], {steps, fixed})});
}

void caffe_importer::lstm() {
  std::int64_t const units = param_.integer("num_output", 0);
  if (units < 1 || units > max_caffe_window)
    refuse("num_output is out of range", {"1 to ", max_caffe_window}, {units});
  std::int64_t channels = 0, fixed = 0;
  int const from = recurrent_input(channels, fixed);
  std::int64_t const rows = 4 * units, total = channels + fixed;
  prototxt_message const filler = param_.message("weight_filler");
  filling input = filled(filler, {rows, channels}), state = filled(filler, {rows, units}),
          bias = filled(param_.message("bias_filler"), {rows}), extra = input;
  if (fixed > 0) {
    extra = filled(filler, {rows, fixed});
    if (!(input.has_initialiser && input.rule == extra.rule))
      compute(input, {rows, channels}), compute(extra, {rows, fixed});
  }
  bool const is_constant = bias.has_initialiser && bias.rule.which == initialiser::kind::constant;
  if (!is_constant) compute(bias, {rows});  // the layer would set the forget gate's bias
  if (shared_owner(fixed > 0 ? 4 : 3) >= 0)
    refuse("a recurrent layer shares parameters", "parameters of its own", "shared");
  int const result = append(
      "lstm", {from},
      {{"units", {static_cast<double>(units)}}, {"forget_bias", {is_constant ? bias.rule.parameter : 0.0}}},
      {.weights = initial(input), .bias = initial(bias), .recurrent = initial(state)});
  std::size_t index = 0;
  parameter(result, "weights", index++, {rows, channels}, input,
            {.rows = rows, .columns = channels, .total = total, .gates = true});
  parameter(result, "bias", index++, {rows}, bias, {.rows = rows, .gates = true});
  if (fixed > 0)
    parameter(result, "weights", index++, {rows, fixed}, extra,
              {.rows = rows, .columns = fixed, .first = channels, .total = total, .gates = true});
  parameter(result, "recurrent_weights", index, {rows, units}, state,
            {.rows = rows, .columns = units, .total = units, .gates = true});
  fixed > 0 ? rates(result, {false, true, false, false}) : rates(result, {false, true, false});
  set({.id = result, .dims = {bottom(0).dims[0], -1, units}});
}

/// h = tanh(Whh·h + Wxh·x + b), o = tanh(Who·h + bo).
void caffe_importer::rnn() {
  std::int64_t const units = param_.integer("num_output", 0);
  if (units < 1 || units > max_caffe_window)
    refuse("num_output is out of range", {"1 to ", max_caffe_window}, {units});
  std::int64_t channels = 0, fixed = 0;
  int const from = recurrent_input(channels, fixed);
  std::int64_t const total = channels + fixed;
  prototxt_message const filler = param_.message("weight_filler"),
                         bias_filler = param_.message("bias_filler");
  filling input = filled(filler, {units, channels}), extra = input;
  filling const square = filled(filler, {units, units}), bias = filled(bias_filler, {units}),
                output = filled(filler, {units, units}), output_bias = filled(bias_filler, {units});
  if (fixed > 0) {
    extra = filled(filler, {units, fixed});
    if (!(input.has_initialiser && input.rule == extra.rule))
      compute(input, {units, channels}), compute(extra, {units, fixed});
  }
  if (shared_owner(fixed > 0 ? 6 : 5) >= 0)
    refuse("a recurrent layer shares parameters", "parameters of its own", "shared");
  int const state = append("simple_rnn", {from}, {{"units", {static_cast<double>(units)}}},
                           {.weights = initial(input), .bias = initial(bias), .recurrent = initial(square)});
  std::size_t index = 0;
  parameter(state, "weights", index++, {units, channels}, input,
            {.rows = units, .columns = channels, .total = total});
  parameter(state, "bias", index++, {units}, bias);
  if (fixed > 0)
    parameter(state, "weights", index++, {units, fixed}, extra,
              {.rows = units, .columns = fixed, .first = channels, .total = total});
  parameter(state, "recurrent_weights", index++, {units, units}, square);
  fixed > 0 ? rates(state, {false, true, false, false}) : rates(state, {false, true, false});
  int const result = append("dense", {state}, {{"units", {static_cast<double>(units)}}},
                            {.weights = initial(output), .bias = initial(output_bias)});
  rates(result, {false, true}, index);
  parameter(result, "weights", index++, {units, units}, output);
  parameter(result, "bias", index, {units}, output_bias);
  set({.id = append("tanh", {result}), .dims = {bottom(0).dims[0], -1, units}});
}

}  // namespace cohort::detail
