// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/detail/indexed_view.hpp>
#include <cohort/documents/detail/weights.hpp>
#include <cohort/error/exceptions.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace cohort::detail {

namespace {

/// The examples of a data set with other weights.
class weighted_examples final : public indexed_view {
 public:
  weighted_examples(dataset data, std::function<float(std::int64_t)> weight_of)
      : data_(std::move(data)), what_(data_.describe()), weight_of_(std::move(weight_of)) {
    has_weights_ = std::exchange(what_.weighted, true);
  }

  data_description const& describe() const override { return what_; }
  std::int64_t size() const override { return data_.size(); }
  void get(std::int64_t i, example_view& out) const override {
    data_.model().get(i, out);
    out.weight = weight_of_(i) * (has_weights_ ? out.weight : 1.0F);
  }
  std::optional<std::int64_t> label(std::int64_t i) const override { return data_.label(i); }
  std::optional<int> length(std::int64_t i) const override { return data_.length(i); }
  int rows_that_continue() const override { return data_.rows_that_continue(); }

 private:
  dataset data_;
  data_description what_;
  std::function<float(std::int64_t)> weight_of_;
  bool has_weights_ = false;
};

}  // namespace

dataset with_weights(dataset const& data, std::function<float(std::int64_t i)> weight_of) {
  return dataset(std::make_shared<weighted_examples const>(data, std::move(weight_of)));
}

float checked_weight(double weight, std::string const& where) {
  if (!(weight >= 0 && weight <= std::numeric_limits<float>::max()))
    throw data_error({.what = "the weight of an example is invalid",
                      .where = where,
                      .expected = "a finite number of at least 0",
                      .got = {weight}});
  return static_cast<float>(weight);
}

}  // namespace cohort::detail
