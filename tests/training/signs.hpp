// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/sequences.hpp>
#include <cohort/random/stream.hpp>
#include <cstdint>
#include <vector>

namespace cohort_test {

using namespace cohort;

/// `count` series of 1 to 6 steps of two numbers. A step has class 1 if both numbers have the same sign; the
/// class of a series is that of its first step.
struct signs {
  std::vector<float> rows;
  std::vector<int> lengths;
  std::vector<std::int32_t> steps, whole;

  explicit signs(int count) {
    random_stream const numbers(3, "signs");
    std::uint64_t drawn = 0;
    for (int i = 0; i < count; ++i) {
      lengths.push_back(1 + static_cast<int>(numbers.below(drawn++, 6)));
      for (int t = 0; t < lengths.back(); ++t) {
        for (int k = 0; k < 2; ++k) rows.push_back(numbers.normal<float>(drawn++));
        steps.push_back(rows[rows.size() - 2] * rows.back() > 0 ? 1 : 0);
        if (t == 0) whole.push_back(steps.back());
      }
    }
  }
  int all_steps() const { return static_cast<int>(steps.size()); }
  series_view series() const {
    return {.name = "input", .values = series_of({rows.data(), shape(all_steps(), 2)}, lengths)};
  }
  dataset tagged(int length) const {
    return sequences(
        series(),
        series_view{
            .name = "tag", .values = series_of({steps.data(), shape(all_steps())}, lengths), .classes = 2},
        {.length = length});
  }
  dataset classified(int length) const {
    return sequences(
        series(),
        array_view{
            .name = "class", .values = {whole.data(), shape(static_cast<int>(whole.size()))}, .classes = 2},
        {.length = length});
  }
};

}  // namespace cohort_test
