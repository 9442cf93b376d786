// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/step_mask.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

/// A mask, with elements 0 and 1, of a batch of sequences of `length` steps.
struct masked_steps {
  std::vector<std::uint8_t> steps;
  std::vector<std::int32_t> lengths{}, counts{};
  cohort::step_mask mask{};

  masked_steps(std::vector<double> const& numbers, int length) : steps(numbers.begin(), numbers.end()) {
    for (auto first = steps.begin(); first != steps.end(); first += length) {
      auto const last = first + length;
      counts.push_back(static_cast<std::int32_t>(std::count(first, last, 1)));
      auto end = last;
      while (end != first && end[-1] == 0) --end;
      lengths.push_back(static_cast<std::int32_t>(end - first));
    }
    mask = {.length = length, .steps = steps.data(), .lengths = lengths.data(), .counts = counts.data()};
  }
  bool all() const { return std::count(steps.begin(), steps.end(), 0) == 0; }
};
