// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/data/detail/indexed_view.hpp>
#include <cohort/data/detail/shuffle.hpp>
#include <cohort/data/select.hpp>
#include <cohort/error/exceptions.hpp>
#include <numeric>
#include <utility>

namespace cohort::detail {

/// The examples `indices` of a data set.
class selected_examples final : public indexed_view {
 public:
  selected_examples(dataset data, std::vector<std::int64_t> indices)
      : data_(std::move(data)), indices_(std::move(indices)) {}

  data_description const& describe() const override { return data_.describe(); }
  std::int64_t size() const override { return std::ssize(indices_); }
  void get(std::int64_t i, example_view& out) const override {
    data_.model().get(indices_[static_cast<std::size_t>(i)], out);
  }
  bool locate(std::span<std::int64_t const> indices, std::size_t part,
              std::byte const** addresses) const override {
    std::array<std::int64_t, max_located> translated;
    for (std::size_t k = 0; k < indices.size(); ++k)
      translated[k] = indices_[static_cast<std::size_t>(indices[k])];
    return data_.model().locate({translated.data(), indices.size()}, part, addresses);
  }

  std::optional<std::int64_t> label(std::int64_t i) const override {
    return data_.label(indices_[static_cast<std::size_t>(i)]);
  }
  std::optional<int> length(std::int64_t i) const override {
    return data_.length(indices_[static_cast<std::size_t>(i)]);
  }

  dataset const& data() const { return data_; }
  std::vector<std::int64_t> const& indices() const { return indices_; }

 private:
  dataset data_;
  std::vector<std::int64_t> indices_;
};

}  // namespace cohort::detail

namespace cohort {

dataset select(dataset const& data, std::vector<std::int64_t> indices) {
  data.require_random_access("select");
  for (std::size_t k = 0; k < indices.size(); ++k)
    if (indices[k] < 0 || indices[k] >= data.size())
      throw setting_error({.what = "the data set has no such example",
                           .where = {"select, index ", k},
                           .expected = data.size() > 0 ? detail::text_of({"0 to ", data.size() - 1})
                                                       : std::string("a data set with examples"),
                           .got = {indices[k]}});
  // A selection of a selection refers to the original data set, so that an index is translated once.
  auto const* const inner = dynamic_cast<detail::selected_examples const*>(&data.model());
  if (inner)
    for (std::int64_t& index : indices) index = inner->indices()[static_cast<std::size_t>(index)];
  return dataset(
      std::make_shared<detail::selected_examples const>(inner ? inner->data() : data, std::move(indices)));
}

dataset select(dataset const& data, std::int64_t first, std::int64_t count) {
  data.require_random_access("select");
  if (first < 0 || count < 0 || first > data.size() || count > data.size() - first)
    throw setting_error({.what = "the data set does not have these examples",
                         .where = "select",
                         .expected = {"a range within 0 to ", data.size()},
                         .got = {count, " examples from ", first}});
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), first);
  return select(data, std::move(indices));
}

dataset shuffled(dataset const& data, std::uint64_t seed) {
  data.require_random_access("shuffled");
  std::vector<std::int64_t> order(static_cast<std::size_t>(data.size()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  detail::shuffle(order, random_stream(seed, "shuffled"));
  return select(data, std::move(order));
}

}  // namespace cohort
