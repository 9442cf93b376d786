// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/concat.hpp>
#include <cohort/data/detail/indexed_view.hpp>
#include <cohort/data/detail/same_examples.hpp>
#include <cstddef>

namespace cohort::detail {

/// The examples of several data sets with equal descriptions.
class concatenated_examples final : public indexed_view {
 public:
  explicit concatenated_examples(std::vector<dataset> parts) : parts_(std::move(parts)) {
    for (dataset const& part : parts_) ends_.push_back(size() + part.size());
    located_ = std::ranges::all_of(parts_, [](dataset const& part) { return part.model().in_memory(); });
  }

  data_description const& describe() const override { return parts_[0].describe(); }
  std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  void get(std::int64_t i, example_view& out) const override {
    std::size_t const which = part_of(i);
    parts_[which].model().get(i - begin_of(which), out);
  }
  bool locate(std::span<std::int64_t const> indices, std::size_t part,
              std::byte const** addresses) const override {
    if (!located_) return false;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      std::size_t const which = part_of(indices[k]);
      std::int64_t const inside = indices[k] - begin_of(which);
      parts_[which].model().locate({&inside, 1}, part, addresses + k);
    }
    return true;
  }
  std::optional<std::int64_t> label(std::int64_t i) const override {
    std::size_t const which = part_of(i);
    return parts_[which].label(i - begin_of(which));
  }
  std::optional<int> length(std::int64_t i) const override {
    std::size_t const which = part_of(i);
    return parts_[which].length(i - begin_of(which));
  }

 private:
  std::size_t part_of(std::int64_t i) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, i) - ends_.begin());
  }
  std::int64_t begin_of(std::size_t which) const { return which == 0 ? 0 : ends_[which - 1]; }

  std::vector<dataset> parts_;
  std::vector<std::int64_t> ends_;
  bool located_ = false;
};

}  // namespace cohort::detail

namespace cohort {

dataset concat(std::vector<dataset> parts) {
  detail::require_same_examples(parts, "concat");
  return dataset(std::make_shared<detail::concatenated_examples const>(std::move(parts)));
}

}  // namespace cohort
