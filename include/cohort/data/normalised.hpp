// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cohort {

/// Mean and standard deviation of each channel, as channel_statistics computes them.
///
/// Units     of the elements in a batch without normalisation: [0, 1] for images.
struct channel_normalisation {
  std::vector<double> mean = {};
  std::vector<double> deviation = {};
};

namespace detail {

/// Makes the elements in the batch (element − mean) / deviation. Does nothing for empty lists.
///
/// Errors    setting_error for lists of other lengths than the number of channels, a mean that is not finite,
///           or a deviation that is not a finite number above 0. shape_error if elements are not numbers in
///           the batch, or the part is a scalar.
void normalise(tensor_description& part, channel_normalisation const& how);

}  // namespace detail

/// A data set whose first input is normalised per channel. An indexed data set over another one.
///
/// Shapes    the first input is channels × ….
/// Moves     nothing in the data set: elements keep their stored type, such as u8, until they are written to
///           a batch, where scale, mean and deviation are one multiplication and one addition.
/// Errors    setting_error or shape_error as detail::normalise.
template <indexed_dataset D>
class normalised {
 public:
  explicit normalised(D data, channel_normalisation const& how)
      : data_(std::move(data)), what_(data_.describe()) {
    if (!what_.inputs.empty()) detail::normalise(what_.inputs[0], how);
  }

  data_description const& describe() const { return what_; }
  std::int64_t size() const { return static_cast<std::int64_t>(data_.size()); }
  void get(std::int64_t i, example_view& out) const { data_.get(i, out); }
  std::span<example_rows const> rows() const requires requires(D const& d) {
    std::span<example_rows const>(d.rows());
  }
  { return data_.rows(); }
  D const& data() const { return data_; }

 private:
  D data_;
  data_description what_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/data/impl/normalised.ipp>
#endif
