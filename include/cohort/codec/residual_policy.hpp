// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cohort {

/// Policies that reduce the residual periodically. All except `none` lose a part of the gradient.
namespace residual {

/// Keeps the residual unchanged.
struct none {};
/// Clips the residual to ±at·t, where t is the threshold, after every `every`-th message.
struct clip {
  double at = 5;
  int every = 5;
};
/// Multiplies the residual by `factor` after every `every`-th message.
struct decay {
  double factor = 0.5;
  int every = 5;
};

}  // namespace residual

/// Value type that holds any policy of namespace residual.
///
/// Errors    check: setting_error for a bound below 1, a factor outside (0, 1), or a period below 1.
/// Source    Deeplearning4j's ResidualClippingPostProcessor.
struct residual_policy {
  enum class kind : std::uint8_t { none, clip, decay };

  kind which = kind::none;
  double number = 0;  // the bound of clip, the factor of decay
  int every = 1;

  constexpr residual_policy() = default;
  constexpr residual_policy(residual::none) {}
  constexpr residual_policy(residual::clip c) : which(kind::clip), number(c.at), every(c.every) {}
  constexpr residual_policy(residual::decay d) : which(kind::decay), number(d.factor), every(d.every) {}

  constexpr bool operator==(residual_policy const&) const = default;

  constexpr std::string_view name() const {
    constexpr std::string_view names[]{"none", "clip", "decay"};
    return names[static_cast<std::size_t>(which)];
  }
  /// Returns whether the policy applies after the message of `step`; steps count from 0.
  constexpr bool acts_after(std::uint64_t step) const {
    return which != kind::none && (step + 1) % static_cast<std::uint64_t>(every) == 0;
  }

  void check() const;
};

}  // namespace cohort
