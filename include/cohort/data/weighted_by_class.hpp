// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/data/dataset.hpp>
#include <cohort/data/detail/class_label.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace cohort {

namespace detail {

[[noreturn]] inline void refuse_class_weights(clause expected, clause got) {
  throw setting_error({.what = "cannot weight examples by class",
                       .where = "weighted_by_class",
                       .expected = std::move(expected),
                       .got = std::move(got)});
}

/// Requires that the first target is one class label per example.
inline void require_class_label(data_description const& data) {
  if (data.targets.empty() || data.targets[0].classes < 1)
    refuse_class_weights("a data set whose first target is a class label", "no class label");
  if (data.targets[0].example.rank > 0)
    refuse_class_weights("a data set whose first target is one class label", "a class label per step");
}

/// Returns the number of examples of each class whose weight is not 0.
template <indexed_dataset D>
std::vector<std::uint64_t> count_classes(D const& data) {
  data_description const description = data.describe();
  require_class_label(description);
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(description.targets[0].classes));
  example_view scratch;
  scratch.allocate(description);
  auto const examples = static_cast<std::int64_t>(data.size());
  for (std::int64_t i = 0; i < examples; ++i) {
    std::optional<std::int64_t> label;
    if (!description.weighted) label = label_in(data, i);
    if (!label || *label < 0 || *label >= description.targets[0].classes) {
      get_example(data, i, scratch);
      if (scratch.weight == 0) continue;
      label = checked_class_label(description.targets[0], scratch.at(description.inputs.size()), i);
    }
    ++counts[static_cast<std::size_t>(*label)];
  }
  return counts;
}

/// Returns the weights that weighted_by_class(data) gives to classes with these numbers of examples.
inline std::vector<float> balanced_weights(std::vector<std::uint64_t> const& counts) {
  std::uint64_t examples = 0;
  for (std::uint64_t const count : counts) examples += count;
  auto const occurring = static_cast<double>(
      std::count_if(counts.begin(), counts.end(), [](std::uint64_t count) { return count > 0; }));
  std::vector<float> weights;
  for (std::uint64_t const count : counts)
    weights.push_back(count == 0 ? 0.0F
                                 : static_cast<float>(static_cast<double>(examples)
                                                      / (occurring * static_cast<double>(count))));
  return weights;
}

}  // namespace detail

/// A data set with one weight per class. Created by weighted_by_class.
template <indexed_dataset D>
class class_weighted {
 public:
  class_weighted(D data, std::vector<float> weights)
      : data_(std::move(data)), weights_(std::move(weights)), description_(data_.describe()) {
    detail::require_class_label(description_);
    if (weights_.size() != static_cast<std::size_t>(description_.targets[0].classes))
      detail::refuse_class_weights({description_.targets[0].classes, " weights, one per class"},
                                   {weights_.size()});
    for (float const w : weights_)
      if (!(w >= 0 && is_finite(w))) detail::refuse_class_weights("finite weights of at least 0", {w});
    has_weights_ = std::exchange(description_.weighted, true);
  }

  data_description const& describe() const& { return description_; }
  data_description describe() && { return description_; }  // outlives the temporary
  std::int64_t size() const { return static_cast<std::int64_t>(data_.size()); }
  std::optional<std::int64_t> label(std::int64_t i) const { return detail::label_in(data_, i); }
  std::optional<int> length(std::int64_t i) const { return detail::length_in(data_, i); }
  void get(std::int64_t i, example_view& out) const {
    detail::get_example(data_, i, out);
    std::int64_t const label =
        detail::checked_class_label(description_.targets[0], out.at(description_.inputs.size()), i);
    out.weight = (has_weights_ ? out.weight : 1.0F) * weights_[static_cast<std::size_t>(label)];
  }

 private:
  D data_;
  std::vector<float> weights_;
  data_description description_;
  bool has_weights_ = false;  // whether data_ itself has weights
};

/// Returns a data set in which each example has the weight of its class, for classes of very different sizes.
/// If `data` has weights, each is multiplied by the weight of the class.
///
/// Shapes    `weights`: one per class of the data set's first target.
/// After     describe().weighted is true.
/// Errors    setting_error if the data set has no class labels, the number of weights is wrong, or a weight
///           is negative or not finite. data_error if an example's label is out of range, with the example's
///           index.
template <indexed_dataset D>
class_weighted<D> weighted_by_class(D data, std::vector<float> weights) {
  return {std::move(data), std::move(weights)};
}

/// Returns a data set in which all classes that occur have the same total weight, and the mean weight is 1:
/// weights[c] = examples / (classes that occur · examples of class c). Classes that do not occur have the
/// weight 0. Examples of weight 0, such as skipped ones, do not count. Other weights of `data` are then
/// multiplied by the weights of the classes.
///
/// Errors    as above.
/// Cost      reads the label of every example: data.label(i), or the whole example if there is no such
///           member or `data` has weights.
/// Source    class_weight="balanced" of scikit-learn.
template <indexed_dataset D>
class_weighted<D> weighted_by_class(D data) {
  std::vector<float> weights = detail::balanced_weights(detail::count_classes(data));
  return {std::move(data), std::move(weights)};
}

}  // namespace cohort
