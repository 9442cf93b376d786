// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/text/sampling.hpp>
#include <cstddef>
#include <utility>
#include <vector>

namespace cohort {

std::int32_t drawn_token(std::span<float const> probabilities, sampling const& rules,
                         random_stream const& draws, std::uint64_t i) {
  auto const refuse = [](char const* field, char const* expected, double got) {
    throw setting_error({.what = "a sampling rule is out of range",
                         .where = {"sampling.", field},
                         .expected = expected,
                         .got = {got}});
  };
  if (!(rules.temperature >= 0) || std::isinf(rules.temperature))
    refuse("temperature", "a finite number of at least 0", rules.temperature);
  if (rules.top_k < 0) refuse("top_k", "at least 0", rules.top_k);
  if (!(rules.top_p > 0 && rules.top_p <= 1)) refuse("top_p", "above 0 and at most 1", rules.top_p);

  std::vector<std::pair<double, std::int32_t>> tokens;
  tokens.reserve(probabilities.size());
  for (std::size_t k = 0; k < probabilities.size(); ++k) {
    float const p = probabilities[k];
    if (!(p >= 0) || std::isinf(p))
      throw numeric_error({.what = "a probability is negative or not finite",
                           .where = {"token ", k},
                           .expected = "a finite number of at least 0",
                           .got = {static_cast<double>(p)}});
    if (p > 0) tokens.emplace_back(p, static_cast<std::int32_t>(k));
  }
  if (tokens.empty())
    throw numeric_error({.what = "no token has a probability above 0",
                         .where = "drawn_token",
                         .expected = "at least 1 token",
                         .got = {"none of ", probabilities.size()}});
  std::sort(tokens.begin(), tokens.end(), [](auto const& a, auto const& b) {
    return a.first > b.first || (a.first == b.first && a.second < b.second);
  });
  if (rules.temperature == 0) return tokens[0].second;
  double const most = tokens[0].first;
  if (rules.top_k > 0) tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(rules.top_k)));
  double total = 0;
  for (auto& [p, token] : tokens) total += p = std::pow(p / most, 1 / rules.temperature);
  double kept = 0;
  std::size_t count = 0;
  while (count < tokens.size() && (count == 0 || kept < rules.top_p * total)) kept += tokens[count++].first;
  double left = draws.uniform01<double>(i) * kept;
  for (std::size_t k = 0; k + 1 < count; ++k) {
    left -= tokens[k].first;
    if (left < 0) return tokens[k].second;
  }
  return tokens[count - 1].second;
}

}  // namespace cohort
