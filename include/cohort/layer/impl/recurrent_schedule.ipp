// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/layer/detail/recurrent_schedule.hpp>

namespace cohort::detail {

void recurrent_schedule::sort_examples(recurrent_order const& how) {
  auto const batch = at(how.batch);
  counts_.assign(batch, how.length);
  examples_.resize(batch);
  for (std::size_t n = 0; n < batch; ++n) examples_[n] = static_cast<int>(n);
  if (!how.mask) return;
  for (std::size_t n = 0; n < batch; ++n) {
    std::uint8_t const* const steps = how.mask + n * at(how.length);
    counts_[n] = static_cast<int>(how.length - std::count(steps, steps + how.length, std::uint8_t{0}));
  }
  std::sort(examples_.begin(), examples_.end(), [&](int a, int b) {
    return counts_[at(a)] != counts_[at(b)] ? counts_[at(a)] > counts_[at(b)] : a < b;
  });
}

void recurrent_schedule::build(recurrent_order const& how, int row_multiple, int total_multiple) {
  sort_examples(how);
  auto const padded = [](int rows, int multiple) { return (rows + multiple - 1) / multiple * multiple; };
  auto const masked = [&](int example, int step) {
    return how.mask && how.mask[at(example) * at(how.length) + at(step)] == 0;
  };
  steps_ = how.batch > 0 ? counts_[at(examples_[0])] : 0;
  live_.clear();
  first_.assign(1, 0);
  for (int k = 0, live = how.batch; k < steps_; ++k) {
    while (counts_[at(examples_[at(live - 1)])] <= k) --live;
    live_.push_back(live);
    first_.push_back(first_.back() + padded(live, row_multiple));
  }
  live_.push_back(0);
  rows_ = padded(first_.back(), total_multiple);
  first_.push_back(first_.back());
  for (std::vector<int>* const one : {&inputs_, &outputs_}) one->assign(at(rows_), -1);
  repeats_.assign(at(rows_), 0);
  restarts_.assign(at(rows_), 0);
  for (int j = 0; j < (steps_ > 0 ? live_[0] : 0); ++j) {
    int const example = examples_[at(j)];
    int before = -1;  // row of the previous unmasked step
    bool skipped = false;
    int k = 0;
    for (int i = 0; i < how.length; ++i) {
      int const step = how.reverse ? how.length - 1 - i : i;
      if (masked(example, step)) {
        skipped = true;
        if (before >= 0 && !how.resets && !how.last_only) ++repeats_[at(before)];
        continue;
      }
      int const row = first_[at(k)] + j;
      inputs_[at(row)] = example * how.length + step;
      restarts_[at(row)] = how.resets && skipped && before >= 0;
      bool const is_last = ++k == counts_[at(example)];
      int const first_output = example * how.output_rows();
      outputs_[at(row)] = how.last_only ? (is_last ? first_output : -1) : first_output + step;
      before = row;
      skipped = false;
    }
  }
}

}  // namespace cohort::detail
