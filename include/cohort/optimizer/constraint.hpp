// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace cohort {

/// Constraints on parameters, enforced after each update. A unit is one filter of a convolution or one output
/// of a dense layer; w is its row of incoming weights.
namespace constraint {

/// w · at / ‖w‖ for each unit with ‖w‖ > at; other units do not change.
struct max_norm {
  double at = 2;  ///< the largest norm
};
/// w / ‖w‖ for each unit; a unit of zeros does not change.
struct unit_norm {};
/// max(w, 0) for each element.
struct non_negative {};

}  // namespace constraint

/// Value type that holds any constraint of namespace constraint, or none.
///
/// Errors    check: setting_error unless the `at` of max_norm is finite and above 0.   from: setting_error
///           for an unknown name.
struct parameter_constraint {
  enum class kind : std::uint8_t { none, max_norm, unit_norm, non_negative };
  static constexpr std::array<std::string_view, 4> names{"none", "max_norm", "unit_norm", "non_negative"};

  kind which = kind::none;
  double at = 0;  ///< the largest norm; max_norm only

  constexpr parameter_constraint() = default;
  constexpr parameter_constraint(constraint::max_norm c) : which(kind::max_norm), at(c.at) {}
  constexpr parameter_constraint(constraint::unit_norm) : which(kind::unit_norm) {}
  constexpr parameter_constraint(constraint::non_negative) : which(kind::non_negative) {}

  constexpr bool operator==(parameter_constraint const&) const = default;

  /// The name in files: "max_norm".
  constexpr std::string_view name() const { return names[static_cast<std::size_t>(which)]; }
  /// Returns whether the constraint uses `at`.
  constexpr bool has_parameter() const { return which == kind::max_norm; }

  /// Returns the constraint with this name; only max_norm uses `at`.
  static parameter_constraint from(std::string_view name, double at = 0);

  /// Throws if a setting is out of range.
  void check() const;
};

/// Enforces a constraint on a parameter tensor, in place.
///
/// Shapes    packed, in canonical layout K×C×R×S or U×inputs: `units` (the first extent) rows of equal
///           length. A bias has rows of one element.
/// Errors    shape_error if w.size() is not a multiple of `units`.
/// Exact     the result of a unit depends on that unit only. Squares are summed in double, in order. A tensor
///           that satisfies the constraint keeps every bit, except with unit_norm, which may change the last
///           place.
template <class T>
void apply_constraint(parameter_constraint const& how, std::span<T> w, std::size_t units) {
  using kind = parameter_constraint::kind;
  if (how.which == kind::none) return;
  if (how.which == kind::non_negative) {
    for (T& x : w) x = x < 0 ? T(0) : x;
    return;
  }
  if (units == 0 || w.size() % units != 0)
    throw shape_error({.what = "the size of a parameter is not a multiple of its number of units",
                       .where = "apply_constraint",
                       .expected = {"a multiple of ", units, " elements"},
                       .got = {w.size()}});
  std::size_t const length = w.size() / units;
  for (std::size_t unit = 0; unit < units; ++unit) {
    std::span<T> const row = w.subspan(unit * length, length);
    double squares = 0;
    for (T const x : row) squares += static_cast<double>(x) * static_cast<double>(x);
    double const norm = std::sqrt(squares);
    double const limit = how.which == kind::unit_norm ? 1 : how.at;
    bool const satisfied =
        how.which == kind::unit_norm ? norm < std::numeric_limits<T>::min() : norm <= limit;
    if (satisfied) continue;
    for (T& x : row) x = static_cast<T>(static_cast<double>(x) * (limit / norm));
  }
}

}  // namespace cohort
