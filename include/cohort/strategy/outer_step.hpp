// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <optional>
#include <string>

namespace cohort {

/// Update of all ranks' parameters: a step from the parameters of the last meeting (`before`) towards the
/// mean of the ranks' parameters, with Δ = before − mean.
///
///   v ← momentum·v + Δ
///   w ← before − rate·v                    with `nesterov`: before − rate·(Δ + momentum·v)
///
/// Units     v starts at 0. With rate 1 and without momentum, w is the mean.
/// Source    momentum as in PyTorch's SGD. Block momentum (outer::bmuf) is the same rule with the velocity
///           −rate·v. With Nesterov momentum, the rule is that of outer::diloco.
struct outer_step {
  double rate = 1;
  std::optional<double> momentum = 0;  ///< if empty, 1 − 1/P for P ranks
  bool nesterov = false;

  constexpr bool operator==(outer_step const&) const = default;
  /// Returns whether the result is the mean.
  constexpr bool is_plain() const { return rate == 1 && momentum == 0; }
};

/// Named outer steps; each converts to outer_step.
namespace outer {

/// No outer step: the parameters become the mean.
struct plain {
  constexpr operator outer_step() const { return {}; }
};

/// Blockwise model-update filtering: block momentum η, block rate ζ.
///
/// Source    Chen and Huo, ICASSP 2016, who use η = 1 − 1/P with ζ = 1.
struct bmuf {
  std::optional<double> momentum{};  ///< if empty, 1 − 1/P for P ranks
  double rate = 1;
  bool nesterov = false;
  constexpr operator outer_step() const { return {rate, momentum, nesterov}; }
};

/// Nesterov momentum over many inner steps. The source uses periods of 500 steps, AdamW as the inner
/// optimizer, and a separate AdamW state on each rank (average_optimizer_state false).
///
/// Source    Douillard et al., DiLoCo, 2023.
struct diloco {
  double momentum = 0.9;
  double rate = 0.7;
  constexpr operator outer_step() const { return {rate, momentum, true}; }
};

}  // namespace outer

namespace detail {

/// Returns a text such as ", outer rate 0.7, Nesterov momentum 0.9"; empty for the mean.
std::string described(outer_step const& how);

}  // namespace detail

}  // namespace cohort
