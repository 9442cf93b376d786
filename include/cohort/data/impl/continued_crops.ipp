// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/data/continued_crops.hpp>
#include <cohort/data/detail/indexed_view.hpp>
#include <cohort/error/exceptions.hpp>
#include <memory>
#include <utility>

namespace cohort {

namespace detail {

class crops_in_rows final : public indexed_view {
 public:
  crops_in_rows(dataset crops, int rows)
      : crops_(std::move(crops)), rows_(rows), each_(crops_.size() / rows) {}

  data_description const& describe() const override { return crops_.describe(); }
  std::int64_t size() const override { return each_ * rows_; }
  void get(std::int64_t i, example_view& out) const override { crops_.model().get(crop(i), out); }
  bool locate(std::span<std::int64_t const> indices, std::size_t part,
              std::byte const** addresses) const override {
    std::array<std::int64_t, max_located> translated;
    for (std::size_t k = 0; k < indices.size(); ++k) translated[k] = crop(indices[k]);
    return crops_.model().locate({translated.data(), indices.size()}, part, addresses);
  }
  std::optional<std::int64_t> label(std::int64_t i) const override { return crops_.label(crop(i)); }
  std::optional<int> length(std::int64_t i) const override { return crops_.length(crop(i)); }
  int rows_that_continue() const override { return rows_; }

 private:
  std::int64_t crop(std::int64_t i) const { return i % rows_ * each_ + i / rows_; }

  dataset crops_;
  int rows_;
  std::int64_t each_;
};

}  // namespace detail

dataset continued_crops(dataset const& crops, int rows) {
  crops.require_random_access("continued_crops");
  if (rows < 1 || crops.size() < rows)
    throw setting_error({.what = "the crops cannot be divided into rows",
                         .where = "continued_crops, rows",
                         .expected = "at least 1 row, and at least as many crops as rows",
                         .got = {rows, " rows for ", crops.size(), " crops"}});
  return dataset(std::make_shared<detail::crops_in_rows const>(crops, rows));
}

}  // namespace cohort
