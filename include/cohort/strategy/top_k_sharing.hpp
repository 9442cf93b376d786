// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/sharing_settings.hpp>
#include <cohort/strategy/strategy.hpp>
#include <memory>

namespace cohort {

/// Exchanges the largest entries of the accumulated gradient with their values: the fraction `density` of
/// all. The rest stays in the residual for later steps.
///
/// Moves     a message has 96 bytes, 8 per 65,536 elements, and per sent element its code and 4 bytes.
/// Errors    setting_error for a density out of (0, 1]. Otherwise as sharing_by.
/// Source    Aji and Heafield, EMNLP 2017.
struct top_k_sharing {
  double density = 1e-2;
  sharing_settings settings{};

  /// Returns the strategy of this rank.  Order: collective.
  std::unique_ptr<strategy> on(communicator& world) const;
};

}  // namespace cohort
