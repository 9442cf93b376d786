// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/execution/isa.hpp>
#include <cohort/optimizer/optimizer_rule.hpp>
#include <cstddef>
#include <cstdint>

namespace cohort {

/// Inputs of an update besides the optimizer and the tensors.
///
/// Order     the gradient is scaled, then clipped; then the penalties are added.
struct update_scalars {
  std::int64_t step = 0;       ///< step of the run, from 0
  std::int64_t epoch = 0;      ///< epoch of the run, from 0
  double rate_factor = 1;      ///< multiplies the scheduled rate
  double l1 = 0;               ///< penalty of the parameter's role
  double l2 = 0;               ///< penalty of the parameter's role
  double gradient_scale = 1;   ///< 1 / examples for summed gradients, or a normalisation's factor
  double clip = 0;             ///< elements are clipped to [−clip, clip]; 0: no clipping
  double needed_norm = -1;     ///< norm that optimizer_rule::needed_norm() selects, for the scaled gradient
  double parameter_norm = -1;  ///< norm of the whole parameter
};

namespace detail {

/// Scalars of one step, computed once in double. `c` has the order of the enumerators of the update formula.
struct update_constants {
  static constexpr int size = 8;
  double c[size] = {};
  double scale = 1;
  double clip = 0;
  double l1 = 0;
  double l2 = 0;
};

update_constants constants_of(optimizer_rule const& rule, update_scalars const& now);

/// Returns the constants of a step at rate 1. lamb needs the norm of this step.
update_constants constants_at_rate_1(optimizer_rule const& rule, update_scalars now);

/// Elements per block of a pass: the block's gradient fits into the L1 cache.
inline constexpr std::size_t update_block = 1024;

}  // namespace detail

/// Updates n parameters in one pass over memory.
///
///     g = clip((Σ gradient parts, in order) · gradient_scale) + l2·w + l1·sign(w)
///     u, new state = rule of the optimizer
///     w −= u
///
/// Shapes    w, each gradient part and each of the state_arrays() state arrays: (n), n a multiple of 16.
/// Before    the optimizer's check() has passed; state array k was initialised with initial_state(k); there
///           is at least one part; `which` is at most machine_isa(). For T = double, `which` is ignored.
/// Errors    shape_error if n is not a multiple of 16; setting_error if the optimizer needs norms and `now`
///           has none.
/// Exact     the same bits for every partition of a range at multiples of 16, and for every number of parts
///           with the same sum. Padding (w = g = 0) stays zero.
///           Results of different instruction sets differ by a few units in the last place (fused
///           multiply-add).
/// Cost      memory traffic of (2 + parts + 2·state_arrays())·n elements.
template <class T>
void apply_update(isa which, optimizer_rule const& settings, update_scalars const& now, T* w,
                  T const* const* gradient_parts, int parts, T* const* state, std::size_t n);

/// Returns the squared norm of a gradient of `count` parts: Σ (Σ parts, in order)² over n elements.
///
/// Before    count ≥ 1; n is a multiple of 16; `which` is at most machine_isa(). For T = double,
///           `which` is ignored.
/// Exact     the parts are added in T. Squares and their sum are computed in double, so the square of a float
///           is exact. The order in which the squares are added depends on the instruction set.
template <class T>
double square_sum(isa which, T const* const* parts, int count, std::size_t n);

/// Returns ‖r‖² over n elements, r as in lamb: the step at rate 1 without the ratio of norms. Writes nothing.
///
/// Before    as apply_update; needed_norm() is norm_of::step.
template <class T>
double step_square_sum(isa which, optimizer_rule const& settings, update_scalars const& now, T* w,
                       T const* const* gradient_parts, int parts, T* const* state, std::size_t n);

}  // namespace cohort
