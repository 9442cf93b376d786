// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace cohort {

/// Formulas for a learning rate or momentum as a function of x, the number of optimizer steps or epochs so
/// far. Each type converts to rate_schedule.
///
/// Units     `by` selects steps or epochs (default), for x, `length`, `every`, `middle` and keys of a map.
///           With epochs, a value changes only between two epochs. fit logs a line if a schedule with a
///           length or with keys does not end within the run, or if a decay (polynomial, cosine without
///           restarts, one_cycle) ends before half of the run. For a stream, whose number of steps is
///           unknown, only schedules by epochs are checked.
namespace schedule {

/// Unit of x, counted from 0.
enum class unit : std::uint8_t { step, epoch };

/// A constant value.
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

/// initial · (1 − x / length)^power up to x = length, then 0.
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

/// Piecewise constant: each value applies from its key `from` up to the next key. The first key is 0.
struct map {
  static constexpr int capacity = 8;
  struct entry {
    std::int64_t from = -1;  ///< −1: unused entry
    double value = 0;
  };
  entry values[capacity]{};
  unit by = unit::epoch;
};

/// Half a cosine wave from initial to floor over `length`. Then the value remains at floor or, with
/// `restarts`, the wave is repeated, each time `growth` times as long.
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

/// Half a cosine wave from initial to peak, reached at rise·length, then half a cosine wave from peak to
/// final, reached at `length`.
///
/// Source    Smith and Topin 2018, with the cosine waves of fast.ai and PyTorch. PyTorch reaches `final` at
///           length − 1.
struct one_cycle {
  double initial = 0.004;
  double peak = 0.1;
  double final = 4e-7;
  std::int64_t length = 0;
  double rise = 0.3;
  unit by = unit::epoch;
};

}  // namespace schedule

}  // namespace cohort
