// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/detail/indexed_view.hpp>
#include <cohort/data/repeated.hpp>
#include <cohort/error/exceptions.hpp>
#include <memory>
#include <utility>

namespace cohort::detail {

/// Epochs of `count` examples of a data set that is read again and again.
class repeated_examples final : public indexed_view {
 public:
  repeated_examples(dataset data, std::int64_t count) : data_(std::move(data)), count_(count) {}

  data_description const& describe() const override { return data_.describe(); }
  std::int64_t size() const override { return count_; }
  void get(std::int64_t i, example_view& out) const override {
    std::int64_t const place = out.epoch * count_ + i, all = data_.size();
    std::int64_t const epoch = std::exchange(out.epoch, place / all);
    try {
      data_.model().get(place % all, out);
    } catch (...) {
      out.epoch = epoch;
      throw;
    }
    out.epoch = epoch;
  }

 private:
  dataset data_;
  std::int64_t count_;
};

}  // namespace cohort::detail

namespace cohort {

dataset repeated(dataset const& data, std::int64_t count) {
  data.require_random_access("repeated");
  if (count < 1 || data.size() < 1)
    throw setting_error({.what = "an epoch of no examples",
                         .where = "repeated",
                         .expected = "a count of at least 1, and a data set with examples",
                         .got = {"count ", count, ", and ", data.size(), " examples"}});
  return dataset(std::make_shared<detail::repeated_examples const>(data, count));
}

}  // namespace cohort
