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

/// What parameters are held to after each update. A unit is one filter of a convolution or one output of a dense layer; its w
/// is all that goes into it.
namespace constraint {

/// w · at / ‖w‖ for units with ‖w‖ > at.
struct max_norm {
  double at = 2;
};
/// w / ‖w‖ for each unit; one of zeros stays.
struct unit_norm {};
/// max(w, 0)
struct non_negative {};

}  // namespace constraint

/// Any of constraint::…, or none, as one value.
///
/// Errors    check: setting_error for a norm that is not above 0.   from: setting_error for an unknown name.
struct parameter_constraint {
  enum class kind : std::uint8_t { none, max_norm, unit_norm, non_negative };
  static constexpr std::array<std::string_view, 4> names{"none", "max_norm", "unit_norm", "non_negative"};

  kind which = kind::none;
  double at = 0;  // the norm of max_norm

  constexpr parameter_constraint() = default;
  constexpr parameter_constraint(constraint::max_norm c) : which(kind::max_norm), at(c.at) {}
  constexpr parameter_constraint(constraint::unit_norm) : which(kind::unit_norm) {}
  constexpr parameter_constraint(constraint::non_negative) : which(kind::non_negative) {}

  constexpr bool operator==(parameter_constraint const&) const = default;

  constexpr std::string_view name() const { return names[static_cast<std::size_t>(which)]; }
  constexpr bool has_parameter() const { return which == kind::max_norm; }

  /// The inverse of name and norm, which the others ignore.
  static parameter_constraint from(std::string_view name, double at = 0);

  void check() const;
};

/// Holds a parameter tensor to a constraint, in place.
///
/// Shapes    dense and canonical, K×C×R×S or U×inputs: `units` (its first extent) rows of one length; a bias's have one
///           element each.
/// Exact     one unit's result depends on that unit alone; a tensor that keeps to the constraint does not change a bit, but
///           for unit_norm, whose result does to a unit in the last place. Norms are summed in double, in order.
/// Errors    shape_error if the elements are no whole rows.
template <class T>
void apply_constraint(parameter_constraint const& how, std::span<T> w, std::size_t units) {
  using kind = parameter_constraint::kind;
  if (how.which == kind::none) return;
  if (how.which == kind::non_negative) {
    for (T& x : w) x = x < 0 ? T(0) : x;
    return;
  }
  if (units == 0 || w.size() % units != 0)
    throw shape_error({.what = "a tensor is not made of whole units",
                       .expected = {"a multiple of ", units, " elements"},
                       .got = {w.size()}});
  std::size_t const length = w.size() / units;
  for (std::size_t unit = 0; unit < units; ++unit) {
    std::span<T> const row = w.subspan(unit * length, length);
    double squares = 0;
    for (T const x : row) squares += static_cast<double>(x) * static_cast<double>(x);
    double const norm = std::sqrt(squares);
    double const wanted = how.which == kind::unit_norm ? 1 : how.at;
    bool const keeps = how.which == kind::unit_norm ? norm < std::numeric_limits<T>::min() : norm <= wanted;
    if (keeps) continue;
    for (T& x : row) x = static_cast<T>(static_cast<double>(x) * (wanted / norm));
  }
}

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/optimizer/impl/constraint.ipp>
#endif
