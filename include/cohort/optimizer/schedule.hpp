// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace cohort {

/// How a rate or a momentum changes with x, the optimizer's steps or the epochs so far; any of them makes a rate_schedule.
///
/// Units     `length`, `every`, `middle` and a map's keys are steps or epochs, as `by` says.
namespace schedule {

/// What a schedule counts, from 0.
enum class unit : std::uint8_t { step, epoch };

/// The same value at all times.
struct fixed {
  double value = 0.1;
};

/// initial · factor^⌊x / every⌋
struct step {
  double initial = 0.1;
  double factor = 0.1;
  std::int64_t every = 1;
  unit by = unit::epoch;
};

/// initial · factor^x
struct exponential {
  double initial = 0.1;
  double factor = 0.95;
  unit by = unit::epoch;
};

/// initial / (1 + gamma·x)^power
struct inverse {
  double initial = 0.1;
  double gamma = 0.1;
  double power = 1;
  unit by = unit::epoch;
};

/// initial · (1 − x / length)^power, then 0.
struct polynomial {
  double initial = 0.1;
  std::int64_t length = 0;
  double power = 1;
  unit by = unit::epoch;
};

/// initial / (1 + e^(gamma·(x − middle)))
struct sigmoid {
  double initial = 0.1;
  double gamma = 0.1;
  std::int64_t middle = 0;
  unit by = unit::epoch;
};

/// Constant in pieces: each value holds from its x to the next one's; the first is from 0.
struct map {
  static constexpr int capacity = 8;
  struct entry {
    std::int64_t from = -1;  ///< −1: no entry
    double value = 0;
  };
  entry values[capacity]{};
  unit by = unit::epoch;
};

/// Half a wave from initial to floor in `length`; then the floor, or again from initial, each time `growth` times as long.
///
/// Source    Loshchilov and Hutter, SGDR, ICLR 2017.
struct cosine {
  double initial = 0.1;
  std::int64_t length = 0;
  double floor = 0;
  bool restarts = false;
  double growth = 1;
  unit by = unit::epoch;
};

/// Half a wave from initial to peak, reached at rise·length, and half a wave to final, reached at `length`.
///
/// Source    Smith and Topin 2018, with the waves of fast.ai and PyTorch (whose last step is length − 1).
struct one_cycle {
  double initial = 0.004;
  double peak = 0.1;
  double final = 4e-7;
  std::int64_t length = 0;
  double rise = 0.3;
  unit by = unit::step;
};

}  // namespace schedule

}  // namespace cohort
