// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/data/description.hpp>
#include <cohort/training/predictions.hpp>
#include <cohort/training/training.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// The outputs of some layers for all examples of a data set, in the data set's order. A feature_set is
/// itself a data set. Its inputs are the layers' outputs; its targets, masks, weights and keys are copies of
/// the data set's.
///
/// Shapes    one input per layer, f32, in the order in which the layers were named.
class feature_set {
 public:
  /// describe, size and get: see dataset.
  data_description const& describe() const& { return description_; }
  data_description describe() && { return description_; }  // outlives the temporary
  std::int64_t size() const { return size_; }
  void get(std::int64_t i, example_view& out) const;

  /// The outputs of one layer.
  ///
  /// Errors    setting_error for an unknown name.
  predictions const& of(std::string_view layer) const&;
  predictions const& of(std::string_view layer) const&& = delete;  // keep the features in a variable

 private:
  friend class training;
  struct other_tensor {
    std::size_t example_bytes;
    std::vector<std::byte> rows;
  };

  feature_set(data_description from, graph_view net, std::span<int const> layers);

  void add(std::size_t layer, tensor_view output) { detail::append(output, outputs_[layer].values); }
  /// Adds targets, masks, weights and keys of a batch whose outputs were added.
  void add(batch const& from);

  data_description description_;
  std::vector<predictions> outputs_;
  std::vector<other_tensor> others_;
  std::vector<float> weights_;
  std::vector<std::string> keys_;
  std::int64_t size_ = 0;
};

}  // namespace cohort
