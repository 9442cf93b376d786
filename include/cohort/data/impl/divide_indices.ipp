// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/data/detail/class_label.hpp>
#include <cohort/data/detail/divide_indices.hpp>
#include <cohort/data/detail/shuffle.hpp>
#include <cohort/error/exceptions.hpp>
#include <numeric>
#include <optional>
#include <utility>

namespace cohort::detail {

std::vector<std::int64_t> order_to_divide(std::int64_t count, std::span<std::int64_t const> labels,
                                          std::uint64_t seed, std::string_view purpose) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  shuffle(order, random_stream(seed, purpose));
  if (!labels.empty())
    std::ranges::stable_sort(order, {}, [&](std::int64_t i) { return labels[static_cast<std::size_t>(i)]; });
  return order;
}

void check_fractions(std::span<double const> fractions) {
  for (double const fraction : fractions)
    if (!(fraction > 0 && fraction < 1))
      throw setting_error({.what = "the fraction of a split is not between 0 and 1",
                           .where = "split",
                           .expected = "a fraction above 0 and below 1",
                           .got = {fraction}});
  double const sum = std::accumulate(fractions.begin(), fractions.end(), 0.0);
  if (!(std::abs(sum - 1) < 1e-6))
    throw setting_error({.what = "the fractions of a split do not add up to 1",
                         .where = "split",
                         .expected = "a sum of 1",
                         .got = {sum}});
}

std::vector<std::vector<std::int64_t>> divide(std::vector<std::int64_t> order,
                                              std::span<double const> fractions) {
  std::size_t const size = order.size();
  std::vector<std::vector<std::int64_t>> parts(fractions.size());
  double remaining = std::accumulate(fractions.begin(), fractions.end(), 0.0);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    // Position j belongs to this part if the part's rounded number of examples among the first j + 1 exceeds
    // its number among the first j.
    double const fraction = p + 1 == parts.size() ? 1 : fractions[p] / remaining;
    auto const before = [fraction](std::size_t j) {
      return std::floor(fraction * static_cast<double>(j) + 0.5);
    };
    std::vector<std::int64_t> others;
    for (std::size_t j = 0; j < order.size(); ++j)
      (before(j + 1) > before(j) ? parts[p] : others).push_back(order[j]);
    order = std::move(others);
    remaining -= fractions[p];
    if (parts[p].empty())
      throw setting_error({.what = "a part of the split is empty",
                           .where = {"split, fraction ", fractions[p]},
                           .expected = "at least 1 example in each part",
                           .got = {"none of ", size, " examples"}});
    std::ranges::sort(parts[p]);
  }
  return parts;
}

std::vector<std::int64_t> labels_of(dataset const& data) {
  data_description const& what = data.describe();
  if (what.targets.empty() || what.targets[0].classes < 1)
    throw setting_error({.what = "cannot stratify",
                         .where = "split_settings::stratified",
                         .expected = "a data set whose first target is a class label",
                         .got = "no class label"});
  if (what.targets[0].example.rank > 0)
    throw setting_error({.what = "cannot stratify",
                         .where = "split_settings::stratified",
                         .expected = "a data set whose first target is one class label",
                         .got = "a class label per step"});
  tensor_description const& target = what.targets[0];
  std::size_t const part = what.inputs.size();
  bool const located = data.model().in_memory();
  example_view scratch;
  scratch.allocate(what);
  std::vector<std::int64_t> labels(static_cast<std::size_t>(data.size()));
  for (std::int64_t i = 0; i < data.size(); ++i) {
    std::optional<std::int64_t> const known = located ? std::nullopt : data.label(i);
    std::byte const* at = nullptr;
    if (located) {
      data.model().locate({&i, 1}, part, &at);
    } else if (!known) {
      data.model().get(i, scratch);
      at = scratch.at(part);
    }
    labels[static_cast<std::size_t>(i)] =
        known ? label_in_range(target, *known, i) : checked_class_label(target, at, i);
  }
  return labels;
}

}  // namespace cohort::detail
