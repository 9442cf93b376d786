// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/named_number.hpp>
#include <cohort/optimizer/schedule.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cohort {

namespace schedule {

struct warm_up;

}  // namespace schedule

namespace detail {

enum class schedule_rule : std::uint8_t {
  fixed,
  step,
  exponential,
  inverse,
  polynomial,
  sigmoid,
  map,
  cosine,
  one_cycle
};

/// One row of the table of schedules: name and numeric fields, in the order of declaration.
struct schedule_row {
  std::string_view name;
  std::array<std::string_view, 2 * schedule::map::capacity> fields{};
};

inline constexpr std::array<schedule_row, 9> schedule_rows{
    {{"fixed", {"value"}},
     {"step", {"initial", "factor", "every"}},
     {"exponential", {"initial", "factor"}},
     {"inverse", {"initial", "gamma", "power"}},
     {"polynomial", {"initial", "length", "power"}},
     {"sigmoid", {"initial", "gamma", "middle"}},
     {"map",
      {"from_0", "value_0", "from_1", "value_1", "from_2", "value_2", "from_3", "value_3", "from_4",
       "value_4", "from_5", "value_5", "from_6", "value_6", "from_7", "value_7"}},
     {"cosine", {"initial", "length", "floor", "restarts", "growth"}},
     {"one_cycle", {"initial", "peak", "final", "length", "rise"}}}};

constexpr double real(std::integral auto x) { return static_cast<double>(x); }
constexpr double real(schedule::unit by) { return by == schedule::unit::step ? 0 : 1; }

}  // namespace detail

/// A learning rate or momentum over time: a number, or any schedule of namespace schedule.
///
/// Errors    check: setting_error that names `owner` and the field, if the field is not finite or not in its
///           range: for example a negative rate, a momentum that is not below 1, a period or length below 1,
///           or the keys of a map that do not begin at 0 or do not increase.
class rate_schedule {
 public:
  constexpr rate_schedule(double value) : rate_schedule(schedule::fixed{value}) {}
  template <std::integral Integer>
  constexpr rate_schedule(Integer value) : rate_schedule(detail::real(value)) {}
  constexpr rate_schedule(schedule::fixed const& s) : numbers_{s.value} {}
  constexpr rate_schedule(schedule::step const& s)
      : rate_schedule(rule::step, s.by, {s.initial, s.factor, detail::real(s.every)}) {}
  constexpr rate_schedule(schedule::exponential const& s)
      : rate_schedule(rule::exponential, s.by, {s.initial, s.factor}) {}
  constexpr rate_schedule(schedule::inverse const& s)
      : rate_schedule(rule::inverse, s.by, {s.initial, s.gamma, s.power}) {}
  constexpr rate_schedule(schedule::polynomial const& s)
      : rate_schedule(rule::polynomial, s.by, {s.initial, detail::real(s.length), s.power}) {}
  constexpr rate_schedule(schedule::sigmoid const& s)
      : rate_schedule(rule::sigmoid, s.by, {s.initial, s.gamma, detail::real(s.middle)}) {}
  constexpr rate_schedule(schedule::map const& s) : rate_schedule(rule::map, s.by, {}) {
    for (std::size_t k = 0; k < schedule::map::capacity; ++k) {
      numbers_[2 * k] = detail::real(s.values[k].from);
      numbers_[2 * k + 1] = s.values[k].value;
    }
  }
  constexpr rate_schedule(schedule::cosine const& s)
      : rate_schedule(rule::cosine, s.by,
                      {s.initial, detail::real(s.length), s.floor, detail::real(s.restarts), s.growth}) {}
  constexpr rate_schedule(schedule::one_cycle const& s)
      : rate_schedule(rule::one_cycle, s.by, {s.initial, s.peak, s.final, detail::real(s.length), s.rise}) {}
  constexpr rate_schedule(schedule::warm_up const& s);

  constexpr bool operator==(rate_schedule const&) const = default;

  /// Returns the value at a step and epoch, both counted from 0; the step count is never reset.
  ///
  /// Before    check() has passed.
  double value(std::int64_t step, std::int64_t epoch) const;

  /// End of a warm-up, or of a schedule that has a length or keys.
  struct extent {
    std::string_view name{};   ///< "cosine", "warm_up"
    std::string_view field{};  ///< the field that sets the end: "length"
    double length = 0;         ///< end, from x = 0; cosine: of its first wave; map: its last key + 1
    schedule::unit by{};
    bool is_decay = false;  ///< whether the schedule decays to its final value at the end
  };
  /// Returns the extents of the schedule and of its warm-up, each only if it ends.
  std::vector<extent> extents() const;

  /// The name in files: "cosine".
  constexpr std::string_view name() const { return row().name; }
  /// Returns whether the value never changes.
  constexpr bool is_fixed() const { return rule_ == rule::fixed && warm_up_ == 0; }

  /// Returns whether the value depends on the number of epochs.
  constexpr bool depends_on_epochs() const {
    return (rule_ != rule::fixed && by_ == schedule::unit::epoch)
           || (warm_up_ != 0 && warm_up_by_ == schedule::unit::epoch);
  }

  /// The numeric fields, including the warm-up's fields if there is a warm-up. `by` is 0 for steps and 1 for
  /// epochs.
  constexpr named_numbers fields() const {
    named_numbers result;
    for (std::size_t k = 0; k < used(); ++k) result.add(row().fields[k], numbers_[k]);
    if (rule_ != rule::fixed) result.add("by", detail::real(by_));
    if (warm_up_ != 0) {
      result.add("warm_up", warm_up_);
      result.add("warm_up_by", detail::real(warm_up_by_));
    }
    return result;
  }

  /// Throws if a field is out of range. `owner` is the schedule's name in messages; `below_one`: values must
  /// be below 1.
  void check(std::string_view owner = "rate", bool below_one = false) const;

 private:
  using rule = detail::schedule_rule;
  using numbers = std::array<double, 2 * schedule::map::capacity>;

  constexpr rate_schedule(rule which, schedule::unit by, numbers const& values)
      : rule_(which), by_(by), numbers_(values) {}

  constexpr detail::schedule_row const& row() const {
    return detail::schedule_rows[static_cast<std::size_t>(rule_)];
  }
  /// Number of fields in use. A map ends at its first unused entry.
  constexpr std::size_t used() const {
    std::size_t k = 0;
    while (k < numbers_.size() && !row().fields[k].empty()
           && !(rule_ == rule::map && k % 2 == 0 && numbers_[k] == -1))
      ++k;
    return k;
  }

  double value_at(double x) const;
  void check_map(std::string_view owner) const;

  rule rule_ = rule::fixed;
  schedule::unit by_ = schedule::unit::step;
  schedule::unit warm_up_by_ = schedule::unit::epoch;
  double warm_up_ = 0;  // length; 0: no warm-up
  numbers numbers_{};
};

namespace schedule {

/// rate · min(1, (x + 1) / length); length 0: no warm-up. The schedule of the rate also starts at x = 0, not
/// after the warm-up.
///
/// Errors    setting_error if the rate already has a warm-up; a compile error in constant evaluation.
struct warm_up {
  std::int64_t length = 0;
  rate_schedule rate = 0.1;
  unit by = unit::epoch;
};

}  // namespace schedule

constexpr rate_schedule::rate_schedule(schedule::warm_up const& s) : rate_schedule(s.rate) {
  if (warm_up_ != 0)
    throw setting_error({.what = "a rate has two warm-ups",
                         .where = "schedule::warm_up",
                         .expected = "a rate without warm-up",
                         .got = "a rate with a warm-up"});
  warm_up_ = detail::real(s.length);
  warm_up_by_ = s.by;
}

}  // namespace cohort
