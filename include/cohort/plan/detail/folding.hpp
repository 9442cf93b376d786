// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/kind.hpp>
#include <cohort/plan/detail/lowering.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cstddef>
#include <vector>

namespace cohort::detail {

/// Weights and bias of a layer into which the following layers are folded: w·factor and b·factor + offset,
/// per channel.
///
/// Units     indices of parameters in the store's table. `bias` −1: the layer has no bias.
struct folding {
  /// Folded layer: its field values and its `count` parameters from index `first`.
  struct part {
    cohort::kind const* kind;
    std::vector<double> fields;
    int first;
    int count;
    bool operator==(part const& other) const;
  };
  int weights = 0;
  int bias = -1;
  std::vector<part> folded_layers;
  bool operator==(folding const&) const = default;
};

/// Describes the folding of a step.
template <class Store>
folding folding_of(graph_view net, Store const& store, plan_step const& step) {
  folding made;
  made.weights = store.first_of(step.node);
  if (net.parameters(step.node).count > 1) made.bias = made.weights + 1;
  for (int id : step.folded) {
    int const count = net.parameters(id).count;
    made.folded_layers.push_back({&net.kind(id),
                                  {net.fields(id), net.fields(id) + net.kind(id).slots},
                                  count > 0 ? store.first_of(id) : 0,
                                  count});
  }
  return made;
}

/// Parameters of a folded step's kernels: weights and a bias, even if the layer has no bias.
parameter_list folded_parameters(parameter_list const& own, shape const& output);

/// Field values of a layer with its field `bias` set to true.
std::vector<double> with_bias(kind const& what, double const* fields);

/// Parameter p of the master as a dense tensor.  Before: T is the element type of the set.
template <class T>
std::vector<T> dense_parameter(parameter_set const& from, int p) {
  std::vector<T> values(
      static_cast<std::size_t>(from.table()[static_cast<std::size_t>(p)].spec.dims.elements()));
  from.read(p, from.master(), reinterpret_cast<std::byte*>(values.data()));
  return values;
}

/// Returns each channel's affine map, the composition of the maps of all folded layers.
template <class T>
std::vector<channel_map> channel_maps(parameter_set const& from, folding const& how, std::size_t channels) {
  std::vector<channel_map> maps(channels);
  for (folding::part const& part : how.folded_layers) {
    std::vector<std::vector<T>> parameters;
    for (int p = 0; p < part.count; ++p) parameters.push_back(dense_parameter<T>(from, part.first + p));
    std::vector<double> of_channel(parameters.size());
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t p = 0; p < parameters.size(); ++p)
        of_channel[p] = static_cast<double>(parameters[p][c]);
      maps[c] = maps[c].then(part.kind->at_inference(part.fields.data(), of_channel));
    }
  }
  return maps;
}

/// Folded weights (which = 0) or bias (1), dense, computed from the current master.
template <class T>
std::vector<T> folded(parameter_set const& from, folding const& how, int which) {
  auto const channels =
      static_cast<std::size_t>(from.table()[static_cast<std::size_t>(how.weights)].spec.dims[0]);
  std::vector<channel_map> const maps = channel_maps<T>(from, how, channels);
  std::vector<T> values;
  if (which == 0)
    values = dense_parameter<T>(from, how.weights);
  else if (how.bias >= 0)
    values = dense_parameter<T>(from, how.bias);
  else
    values.resize(channels);
  std::size_t const each = values.size() / channels;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = c * each; i < (c + 1) * each; ++i)
      values[i] = static_cast<T>(static_cast<double>(values[i]) * maps[c].factor
                                 + (which == 0 ? 0.0 : maps[c].offset));
  return values;
}

}  // namespace cohort::detail
