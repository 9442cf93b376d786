// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/strategy/detail/between_rank_variance.hpp>
#include <cohort/strategy/detail/statistics_mean.hpp>
#include <cohort/strategy/detail/weighted_sum.hpp>
#include <cstring>

namespace cohort::detail {

COHORT_CORE_INLINE bool has_statistics(parameter_set const& parameters) {
  bool any = false;
  each_statistic(parameters, [&](int, parameter const&) { any = true; });
  return any;
}

COHORT_CORE_INLINE void merge_statistics(communicator& world, replica const& mine, std::byte* dense,
                                         std::int64_t seen, std::int64_t expected) {
  parameter_set const& parameters = mine.parameters;
  std::size_t const width = bytes_of(parameters.type());
  std::size_t elements = 0;
  each_statistic(parameters, [&](int, parameter const& one) {
    elements += static_cast<std::size_t>(one.spec.dims.elements());
  });
  weighted_sum sum(parameters.type(), elements, true);
  auto const each = [&](auto copy) {
    std::byte* at = sum.data();
    each_statistic(parameters, [&](int, parameter const& one) {
      std::size_t const bytes = static_cast<std::size_t>(one.spec.dims.elements()) * width;
      copy(at, dense + static_cast<std::size_t>(one.first) * width, bytes);
      at += bytes;
    });
  };
  each([](std::byte* packed, std::byte* own, std::size_t bytes) { std::memcpy(packed, own, bytes); });
  weighted_sum::share const own{seen, static_cast<double>(seen)};
  sum.start(world, own, expected, {});
  sum.wait();
  double const weight = sum.voted(0).weight;
  if (weight == 0) return;
  sum.settle(weight, expected);
  each([](std::byte* packed, std::byte* to, std::size_t bytes) { std::memcpy(to, packed, bytes); });
  add_between_rank_variance(world, mine, dense, parameters_in::dense, own, expected, weight);
}

}  // namespace cohort::detail
