// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/named_number.hpp>
#include <cohort/optimizer/schedule.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <string_view>

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

/// One row of the table of schedules: the fields that are numbers, in the order of declaration.
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

/// Half a wave: from `a` at t = 0 to `b` at t = 1.
inline double eased(double a, double b, double t) {
  return a + (b - a) * (1 - std::cos(std::numbers::pi * t)) / 2;
}

}  // namespace detail

/// A learning rate or a momentum over time: a number or any of schedule::….
///
/// Errors    check: setting_error naming `owner` and field: a value that is not finite or is negative (of a momentum: not
///           below 1), a period or length < 1, a map that does not begin at 0 or does not rise.
///           from: setting_error for an unknown name or field.
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

  /// The value at a step of the run (from 0, never reset) in an epoch (from 0).  Before: check has passed.
  double value(std::int64_t step, std::int64_t epoch) const {
    auto const counted = [&](schedule::unit by) {
      return detail::real(by == schedule::unit::step ? step : epoch);
    };
    double const now = value_at(counted(by_));
    if (warm_up_ <= 0) return now;
    double const share = (counted(warm_up_by_) + 1) / warm_up_;
    return share < 1 ? share * now : now;
  }

  constexpr std::string_view name() const { return row().name; }
  constexpr bool is_fixed() const { return rule_ == rule::fixed && warm_up_ == 0; }

  /// Its fields and, where it has one, its warm-up's; `by` is 0 for steps and 1 for epochs.
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

  /// The inverse of name and fields; a field that is not given keeps its default.
  static rate_schedule from(std::string_view name, std::span<named_number const> fields);

  void check(std::string_view owner = "rate", bool below_one = false) const;

 private:
  using rule = detail::schedule_rule;
  using numbers = std::array<double, 2 * schedule::map::capacity>;

  constexpr rate_schedule(rule which, schedule::unit by, numbers const& values)
      : rule_(which), by_(by), numbers_(values) {}

  constexpr detail::schedule_row const& row() const {
    return detail::schedule_rows[static_cast<std::size_t>(rule_)];
  }
  /// How many of its numbers count: a map's entries end at the first that is none.
  constexpr std::size_t used() const {
    std::size_t k = 0;
    while (k < numbers_.size() && !row().fields[k].empty()
           && !(rule_ == rule::map && k % 2 == 0 && numbers_[k] == -1))
      ++k;
    return k;
  }

  double value_at(double x) const;
  void check_map(std::string_view owner) const;
  void set(named_number const& field);

  rule rule_ = rule::fixed;
  schedule::unit by_ = schedule::unit::step;
  schedule::unit warm_up_by_ = schedule::unit::step;
  double warm_up_ = 0;  // its length; 0: none
  numbers numbers_{};
};

namespace schedule {

/// Any rate times (x + 1) / length while that is below 1; 0: as it is. The rate's own x does not wait for it.
///
/// Errors    setting_error (in a constant: refused by the compiler) if the rate has a warm-up already.
struct warm_up {
  std::int64_t length = 0;
  rate_schedule rate = 0.1;
  unit by = unit::step;
};

}  // namespace schedule

constexpr rate_schedule::rate_schedule(schedule::warm_up const& s) : rate_schedule(s.rate) {
  if (warm_up_ != 0) throw setting_error({.what = "a rate warms up once", .where = "schedule::warm_up"});
  warm_up_ = detail::real(s.length);
  warm_up_by_ = s.by;
}

namespace detail {

/// Every schedule with its defaults.
inline constexpr std::array<rate_schedule, schedule_rows.size()> default_schedules{
    schedule::fixed{},   schedule::step{},       schedule::exponential{},
    schedule::inverse{}, schedule::polynomial{}, schedule::sigmoid{},
    schedule::map{},     schedule::cosine{},     schedule::one_cycle{}};

}  // namespace detail

inline double rate_schedule::value_at(double x) const {
  auto const& n = numbers_;
  switch (rule_) {
    case rule::fixed:
      return n[0];
    case rule::step:
      return n[0] * std::pow(n[1], std::floor(x / n[2]));
    case rule::exponential:
      return n[0] * std::pow(n[1], x);
    case rule::inverse:
      return n[0] / std::pow(1 + n[1] * x, n[2]);
    case rule::polynomial:
      return x < n[1] ? n[0] * std::pow(1 - x / n[1], n[2]) : 0;
    case rule::sigmoid:
      return n[0] / (1 + std::exp(n[1] * (x - n[2])));
    case rule::map: {
      std::size_t k = 2;
      while (k < used() && n[k] <= x) k += 2;
      return n[k - 1];
    }
    case rule::cosine: {
      double length = n[1];
      if (n[3] == 0) {
        if (x >= length) return n[2];
      } else if (n[4] == 1) {
        x = std::fmod(x, length);
      } else {
        for (; x >= length; length *= n[4]) x -= length;
      }
      return detail::eased(n[0], n[2], x / length);
    }
    case rule::one_cycle: {
      double const top = n[4] * n[3];
      if (x < top) return detail::eased(n[0], n[1], x / top);
      return x < n[3] ? detail::eased(n[1], n[2], (x - top) / (n[3] - top)) : n[2];
    }
  }
  return n[0];
}

inline rate_schedule rate_schedule::from(std::string_view name, std::span<named_number const> fields) {
  for (rate_schedule result : detail::default_schedules) {
    if (result.name() != name) continue;
    for (named_number const& field : fields) result.set(field);
    return result;
  }
  std::string expected;
  for (detail::schedule_row const& known : detail::schedule_rows)
    expected += (expected.empty() ? "" : ", ") + std::string(known.name);
  throw setting_error({.what = "unknown schedule", .expected = {"one of ", expected}, .got = {name}});
}

inline void rate_schedule::set(named_number const& field) {
  auto const unit = [&] {
    detail::require_setting(field.value == 0 || field.value == 1, name(), field.name,
                            "0 (steps) or 1 (epochs)", field.value);
    return static_cast<schedule::unit>(field.value);
  };
  if (field.name == "by" && rule_ != rule::fixed) {
    by_ = unit();
    return;
  }
  if (field.name == "warm_up_by") {
    warm_up_by_ = unit();
    return;
  }
  if (field.name == "warm_up") {
    warm_up_ = field.value;
    return;
  }
  for (std::size_t k = 0; k < numbers_.size() && !row().fields[k].empty(); ++k) {
    if (row().fields[k] != field.name) continue;
    numbers_[k] = field.value;
    return;
  }
  throw setting_error(
      {.what = "unknown field of a schedule", .where = {"schedule ", name()}, .got = {field.name}});
}

inline void rate_schedule::check(std::string_view owner, bool below_one) const {
  for (named_number const& field : fields()) {
    std::string_view const name = field.name;
    double const x = field.value;
    auto const require = [&](bool allowed, char const* expected) {
      detail::require_setting(allowed, owner, name, expected, x);
    };
    if (name == "every" || name == "length" || name == "growth")
      require(x >= 1, "a finite number, at least 1");
    else if (name == "factor")
      below_one ? require(x > 0 && x <= 1, "above 0 and at most 1")
                : require(x > 0, "a finite number above 0");
    else if (name == "rise")
      require(x > 0 && x < 1, "above 0 and below 1");
    else if (name == "middle" || (name == "gamma" && rule_ == rule::sigmoid))
      require(true, "a finite number");
    else if (name == "gamma" || name == "power" || name == "warm_up")
      require(x >= 0, "a finite number, at least 0");
    else if (name == "restarts")
      require(x == 0 || x == 1, "0 (no) or 1 (yes)");
    else if (name.substr(0, 4) != "from" && name != "by" && name != "warm_up_by")
      below_one ? require(x >= 0 && x < 1, "at least 0 and below 1")
                : require(x >= 0, "a finite number, at least 0");
  }
  if (rule_ == rule::map) check_map(owner);
}

/// From 0 on, each entry later than the one before it, and nothing behind the last.
inline void rate_schedule::check_map(std::string_view owner) const {
  detail::require_setting(numbers_[0] == 0, owner, row().fields[0], "a map that begins at 0", numbers_[0]);
  for (std::size_t k = 2; k < numbers_.size(); k += 2)
    detail::require_setting(
        k < used() ? numbers_[k] > numbers_[k - 2] : numbers_[k] == -1 && numbers_[k + 1] == 0, owner,
        row().fields[k], "entries that rise, one after another", numbers_[k]);
}

}  // namespace cohort
