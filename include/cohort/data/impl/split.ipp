// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/detail/divide_indices.hpp>
#include <cohort/data/select.hpp>
#include <cohort/data/split.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <utility>

namespace cohort::detail {

std::vector<std::int64_t> order_of(dataset const& data, split_settings const& settings, char const* purpose) {
  data.require_random_access(purpose);
  std::vector<std::int64_t> const labels =
      settings.stratified ? labels_of(data) : std::vector<std::int64_t>();
  return order_to_divide(data.size(), labels, settings.seed, purpose);
}

}  // namespace cohort::detail

namespace cohort {

std::vector<dataset> split(dataset const& data, std::vector<double> const& fractions,
                           split_settings const& settings) {
  detail::check_fractions(fractions);
  std::vector<dataset> parts;
  for (std::vector<std::int64_t>& indices :
       detail::divide(detail::order_of(data, settings, "split"), fractions))
    parts.push_back(select(data, std::move(indices)));
  return parts;
}

data_split split(dataset const& data, double training_fraction, split_settings const& settings) {
  std::vector<dataset> parts =
      split(data, std::vector<double>{training_fraction, 1 - training_fraction}, settings);
  return {std::move(parts[0]), std::move(parts[1])};
}

std::vector<data_split> k_fold(dataset const& data, int k, split_settings const& settings) {
  data.require_random_access("k_fold");
  if (k < 2 || k > data.size())
    throw setting_error({.what = "the number of folds is out of range",
                         .where = "k_fold, k",
                         .expected = {"2 to the number of examples, ", data.size()},
                         .got = {k}});
  std::vector<std::int64_t> const order = detail::order_of(data, settings, "k_fold");
  std::vector<int> fold(order.size());
  for (std::size_t j = 0; j < order.size(); ++j)
    fold[static_cast<std::size_t>(order[j])] = static_cast<int>(j % static_cast<std::size_t>(k));
  std::vector<data_split> folds;
  for (int held_out = 0; held_out < k; ++held_out) {
    std::vector<std::int64_t> parts[2];
    for (std::size_t i = 0; i < fold.size(); ++i)
      parts[fold[i] == held_out].push_back(static_cast<std::int64_t>(i));
    folds.push_back({select(data, std::move(parts[0])), select(data, std::move(parts[1]))});
  }
  return folds;
}

}  // namespace cohort
