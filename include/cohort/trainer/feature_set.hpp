// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/description.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/trainer/predictor.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// What layers of a network say about the examples of a data set, in its order. Itself a data set: a network that is trained
/// on it takes the layers' outputs for inputs, and finds targets, weights and keys as they were.
///
/// Shapes    one input a layer, f32, in the order in which the layers were named.
class feature_set {
 public:
  data_description const& describe() const { return what_; }
  std::int64_t size() const { return size_; }
  void get(std::int64_t i, example_view& out) const {
    auto const at = static_cast<std::size_t>(i);
    std::size_t part = 0;
    for (predictions const& one : outputs_)
      out.point(part++, one.values.data() + at * static_cast<std::size_t>(one.example.elements()));
    for (kept const& one : others_) out.point(part++, one.rows.data() + at * one.example_bytes);
    if (what_.weighted) out.weight = weights_[at];
    if (what_.keyed) out.key = keys_[at];
  }

  /// The outputs of one of the layers.
  ///
  /// Errors    setting_error for another name.
  predictions const& of(std::string_view layer) const {
    std::string known;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (what_.inputs[i].name == layer) return outputs_[i];
      known += (known.empty() ? "" : ", ") + what_.inputs[i].name;
    }
    throw setting_error(
        {.what = "there are no features of this layer", .expected = known, .got = std::string(layer)});
  }

 private:
  friend class training;
  struct kept {
    std::size_t example_bytes;
    std::vector<std::byte> rows;
  };

  feature_set(data_description from, graph_view net, std::span<int const> layers) : what_(std::move(from)) {
    what_.inputs.clear();
    for (int id : layers) {
      what_.inputs.push_back({.name = net.name(id), .example = net[id].output});
      outputs_.push_back({.example = net[id].output, .values = {}});
    }
    for (auto* const list : {&what_.targets, &what_.masks})
      for (tensor_description& part : *list) {  // as it arrives in a batch
        part.stored = part.type;
        part.scale = 1;
        part.offset = 0;
        others_.push_back({static_cast<std::size_t>(part.example.elements()) * bytes_of(part.type), {}});
      }
  }

  void add(std::size_t layer, tensor_view output) { detail::append(output, outputs_[layer].values); }
  /// The rest of a batch whose outputs were added.
  void add(batch const& from) {
    std::size_t which = 0;
    for (auto* const list : {&from.targets, &from.masks})
      for (named_tensor const& part : *list) {
        std::byte const* const rows = part.memory.data();
        kept& to = others_[which++];
        to.rows.insert(to.rows.end(), rows, rows + static_cast<std::size_t>(from.count) * to.example_bytes);
      }
    weights_.insert(weights_.end(), from.weights.begin(), from.weights.end());
    keys_.insert(keys_.end(), from.keys.begin(), from.keys.end());
    size_ += from.count;
  }

  data_description what_;
  std::vector<predictions> outputs_;
  std::vector<kept> others_;
  std::vector<float> weights_;
  std::vector<std::string> keys_;
  std::int64_t size_ = 0;
};

}  // namespace cohort
