// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/description.hpp>
#include <cohort/trainer/predictor.hpp>
#include <cohort/trainer/training.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
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
  void get(std::int64_t i, example_view& out) const;

  /// The outputs of one of the layers.
  ///
  /// Errors    setting_error for another name.
  predictions const& of(std::string_view layer) const;

 private:
  friend class training;
  struct kept {
    std::size_t example_bytes;
    std::vector<std::byte> rows;
  };

  feature_set(data_description from, graph_view net, std::span<int const> layers);

  void add(std::size_t layer, tensor_view output) { detail::append(output, outputs_[layer].values); }
  /// The rest of a batch whose outputs were added.
  void add(batch const& from);

  data_description what_;
  std::vector<predictions> outputs_;
  std::vector<kept> others_;
  std::vector<float> weights_;
  std::vector<std::string> keys_;
  std::int64_t size_ = 0;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/features.ipp>
#endif
