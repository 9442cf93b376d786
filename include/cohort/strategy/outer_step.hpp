// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

namespace cohort {

/// What all ranks do with the mean of their parameters: a step from where they met before, with Δ = before − mean.
///
///   v ← momentum·v + Δ
///   w ← before − rate·v                    with `nesterov`: before − rate·(Δ + momentum·v)
///
/// Units     none; v begins with 0. Rate 1 without momentum is the mean itself.
/// Source    momentum as PyTorch's SGD writes it. Block momentum (outer::bmuf) is the same rule, its velocity being −rate·v;
///           with Nesterov's it is that of outer::diloco.
struct outer_step {
  double rate = 1;
  std::optional<double> momentum = 0;  ///< none: 1 − 1/P of P ranks
  bool nesterov = false;

  constexpr bool operator==(outer_step const&) const = default;
  constexpr bool is_plain() const { return rate == 1 && momentum == 0; }
};

/// The outer steps that have a name; any of them makes an outer_step.
namespace outer {

/// The mean.
struct plain {
  constexpr operator outer_step() const { return {}; }
};

/// Blockwise model-update filtering: block momentum η, block rate ζ.
///
/// Source    Chen and Huo, ICASSP 2016, where η = 1 − 1/P goes with ζ = 1.
struct bmuf {
  std::optional<double> momentum{};  ///< none: 1 − 1/P of P ranks
  double rate = 1;
  bool nesterov = false;
  constexpr operator outer_step() const { return {rate, momentum, nesterov}; }
};

/// Nesterov's momentum, over many inner steps. The source has periods of 500 steps, AdamW within, and leaves its state to each
/// rank (average_updater_state false).
///
/// Source    Douillard et al., DiLoCo, 2023.
struct diloco {
  double momentum = 0.9;
  double rate = 0.7;
  constexpr operator outer_step() const { return {rate, momentum, true}; }
};

}  // namespace outer

namespace detail {

/// ", outer step of rate 0.7, Nesterov momentum 0.9"; nothing for the mean.
std::string described(outer_step const& how);

}  // namespace detail

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/outer_step.ipp>
#endif
