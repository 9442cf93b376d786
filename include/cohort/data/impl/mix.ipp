// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/data/detail/indexed_view.hpp>
#include <cohort/data/detail/same_examples.hpp>
#include <cohort/data/mix.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/random/permutation.hpp>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

namespace cohort::detail {

/// Divides `size` in proportion to the weights. Each part is rounded down; the remaining examples are added
/// to the parts with the largest remainders. If remainders are equal, the first part is preferred.
std::vector<std::int64_t> divide_by_weight(std::int64_t size, std::vector<double> const& weights) {
  // The largest weight is scaled to 1, so that the sum of finite weights is finite.
  double const largest = *std::ranges::max_element(weights);
  double const total = std::accumulate(weights.begin(), weights.end(), 0.0,
                                       [&](double sum, double weight) { return sum + weight / largest; });
  std::vector<std::int64_t> counts(weights.size());
  std::vector<double> remainders(weights.size());
  std::int64_t left = size;
  for (std::size_t p = 0; p < weights.size(); ++p) {
    double const exact = static_cast<double>(size) * (weights[p] / largest / total);
    counts[p] = std::min(static_cast<std::int64_t>(exact), left);
    remainders[p] = exact - static_cast<double>(counts[p]);
    left -= counts[p];
  }
  std::vector<std::size_t> by_remainder(weights.size());
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::ranges::stable_sort(by_remainder,
                           [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t k = 0; left > 0; k = (k + 1) % by_remainder.size(), --left) ++counts[by_remainder[k]];
  return counts;
}

/// The examples of a mixture.
class mixed_examples final : public indexed_view {
 public:
  mixed_examples(std::vector<mix_part> parts, std::vector<std::int64_t> counts, mix_settings const& settings)
      : parts_(std::move(parts)), counts_(std::move(counts)), settings_(settings) {
    for (std::int64_t const count : counts_) ends_.push_back(size() + count);
  }

  data_description const& describe() const override { return parts_[0].data.describe(); }
  std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  void get(std::int64_t i, example_view& out) const override {
    auto const which = static_cast<std::size_t>(std::ranges::upper_bound(ends_, i) - ends_.begin());
    std::int64_t const begin = which == 0 ? 0 : ends_[which - 1];
    parts_[which].data.model().get(drawn(which, out.epoch, i - begin), out);
  }

 private:
  /// Returns the index, in part `which`, of the example that is draw number `draw` of an epoch.
  std::int64_t drawn(std::size_t which, std::int64_t epoch, std::int64_t draw) const {
    __extension__ using wide = unsigned __int128;
    std::int64_t const size = parts_[which].data.size();
    wide const number =
        static_cast<wide>(epoch) * static_cast<wide>(counts_[which]) + static_cast<wide>(draw);
    auto const pass = static_cast<std::uint64_t>(number / static_cast<wide>(size));
    auto const place = static_cast<std::int64_t>(number % static_cast<wide>(size));
    std::int64_t const blocks = size / settings_.block;
    if (place >= blocks * settings_.block) return place;
    random_permutation const order({settings_.seed, "mix", pass, which}, blocks);
    return order[place / settings_.block] * settings_.block + place % settings_.block;
  }

  std::vector<mix_part> parts_;
  std::vector<std::int64_t> counts_;  // draws from each part in an epoch
  mix_settings settings_;
  std::vector<std::int64_t> ends_;
};

}  // namespace cohort::detail

namespace cohort {

dataset mix(std::vector<mix_part> parts, mix_settings const& settings) {
  std::vector<dataset> data;
  for (mix_part const& part : parts) data.push_back(part.data);
  detail::require_same_examples(data, "mix");
  auto const refuse = [](std::string where, char const* expected, auto got) {
    throw setting_error({.what = "invalid mixture of data sets",
                         .where = std::move(where),
                         .expected = expected,
                         .got = {got}});
  };
  std::int64_t sum = 0;
  std::vector<double> weights;
  for (std::size_t which = 0; which < parts.size(); ++which) {
    std::string const where = detail::text_of({"mix, data set ", which});
    if (parts[which].data.size() < 1) refuse(where, "at least 1 example", parts[which].data.size());
    double const weight = parts[which].weight;
    if (!(weight > 0) || !std::isfinite(weight)) refuse(where + ", weight", "a positive number", weight);
    weights.push_back(weight);
    sum += parts[which].data.size();
  }
  if (settings.size < 0 || settings.size > std::int64_t{1} << 53)
    refuse("mix, size", "0 to 2^53", settings.size);
  if (settings.block < 1) refuse("mix, block", "at least 1", settings.block);
  std::vector<std::int64_t> counts =
      detail::divide_by_weight(settings.size == 0 ? sum : settings.size, weights);
  return dataset(
      std::make_shared<detail::mixed_examples const>(std::move(parts), std::move(counts), settings));
}

}  // namespace cohort
