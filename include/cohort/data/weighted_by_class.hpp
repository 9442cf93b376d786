// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/data/detail/class_label.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace cohort {

/// A data set with one weight per class. Created by weighted_by_class.
template <indexed_dataset D>
class class_weighted {
 public:
  class_weighted(D data, std::vector<float> weights)
      : data_(std::move(data)), weights_(std::move(weights)), description_(data_.describe()) {
    auto const refuse = [](detail::clause expected, detail::clause got) {
      throw setting_error({.what = "cannot weight examples by class",
                           .where = "weighted_by_class",
                           .expected = std::move(expected),
                           .got = std::move(got)});
    };
    if (description_.targets.empty() || description_.targets[0].classes < 1)
      refuse("a data set whose first target is a class label", "no class label");
    if (description_.targets[0].example.rank > 0)
      refuse("a data set whose first target is one class label", "a class label per step");
    if (weights_.size() != static_cast<std::size_t>(description_.targets[0].classes))
      refuse({description_.targets[0].classes, " weights, one per class"}, {weights_.size()});
    for (float const w : weights_)
      if (!(w >= 0 && is_finite(w))) refuse("finite weights of at least 0", {w});
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
  bool has_weights_ = false;  // of data_ itself
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

}  // namespace cohort
