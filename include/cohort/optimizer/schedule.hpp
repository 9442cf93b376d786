// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cmath>
#include <cohort/optimizer/named_number.hpp>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cohort {

namespace schedule {

/// What a schedule counts: steps of the optimizer or epochs, both from 0.
enum class unit : std::uint8_t { step, epoch };

/// The same value at all times.
struct fixed {
  double value = 0.1;
};

/// initial · factor^⌊x / every⌋ at x steps or epochs.
struct step {
  double initial = 0.1;
  double factor = 0.1;
  std::int64_t every = 1;
  unit by = unit::epoch;
};

}  // namespace schedule

/// A learning rate over time: a number or any of schedule::….
///
/// Errors    check: setting_error for a value that is not finite or negative, a factor ≤ 0, a period < 1.
///           from: setting_error for an unknown name or field.
class rate_schedule {
 public:
  constexpr rate_schedule(double value) : numbers_{value} {}
  template <std::integral Integer>
  constexpr rate_schedule(Integer value) : numbers_{static_cast<double>(value)} {}
  constexpr rate_schedule(schedule::fixed s) : numbers_{s.value} {}
  constexpr rate_schedule(schedule::step s)
      : kind_(kind::step), by_(s.by), numbers_{s.initial, s.factor, static_cast<double>(s.every)} {}

  constexpr bool operator==(rate_schedule const&) const = default;

  /// The value at a step of the run (from 0, never reset) in an epoch (from 0).
  double value(std::int64_t step, std::int64_t epoch) const {
    if (kind_ == kind::fixed) return numbers_[0];
    auto const x = static_cast<double>(by_ == schedule::unit::step ? step : epoch);
    return numbers_[0] * std::pow(numbers_[1], std::floor(x / numbers_[2]));
  }

  constexpr std::string_view name() const { return kind_ == kind::fixed ? "fixed" : "step"; }

  /// Its fields; `by` is 0 for steps and 1 for epochs.
  constexpr named_numbers fields() const {
    if (kind_ == kind::fixed) return {{"value", numbers_[0]}};
    return {{"initial", numbers_[0]},
            {"factor", numbers_[1]},
            {"every", numbers_[2]},
            {"by", static_cast<double>(by_)}};
  }

  /// The inverse of name and fields; a field that is not given keeps its default.
  static rate_schedule from(std::string_view name, std::span<named_number const> fields) {
    rate_schedule result = schedule::fixed{};
    if (name == "step")
      result = schedule::step{};
    else if (name != "fixed")
      throw setting_error({.what = "unknown schedule", .expected = "fixed or step", .got = {name}});
    named_numbers const known = result.fields();
    for (named_number const& field : fields) {
      std::size_t k = 0;
      while (k < known.size() && known.items[k].name != field.name) ++k;
      if (k == known.size())
        throw setting_error(
            {.what = "unknown field of a schedule", .where = {"schedule ", name}, .got = {field.name}});
      if (field.name == "by") {
        detail::require_setting(field.value == 0 || field.value == 1, name, "by", "0 (steps) or 1 (epochs)",
                                field.value);
        result.by_ = static_cast<schedule::unit>(field.value);
      } else {
        result.numbers_[k] = field.value;
      }
    }
    return result;
  }

  void check() const {
    if (kind_ == kind::fixed)
      return detail::require_setting(numbers_[0] >= 0, "rate", "value", "a finite number, at least 0",
                                     numbers_[0]);
    detail::require_setting(numbers_[0] >= 0, "rate", "initial", "a finite number, at least 0", numbers_[0]);
    detail::require_setting(numbers_[1] > 0, "rate", "factor", "a finite number above 0", numbers_[1]);
    detail::require_setting(numbers_[2] >= 1, "rate", "every", "a period of at least 1", numbers_[2]);
  }

 private:
  enum class kind : std::uint8_t { fixed, step };

  kind kind_ = kind::fixed;
  schedule::unit by_ = schedule::unit::step;
  std::array<double, 4> numbers_{};
};

}  // namespace cohort
