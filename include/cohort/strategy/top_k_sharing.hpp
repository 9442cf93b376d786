// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/sharing_settings.hpp>
#include <cohort/strategy/strategy.hpp>
#include <memory>

namespace cohort {

/// Exchanges the density·n entries of the accumulated gradient of largest magnitude, each with its value. The
/// rest stays in the residual for later steps.
///
///     P = 4       rank 0    rank 1    rank 2    rank 3
///                  r_0       r_1       r_2       r_3                 residuals, with this step's gradients
///     encode       s_0       s_1       s_2       s_3                 the density·n largest entries of r
///     exchange     s_0   ->  s_1   ->  s_2   ->  s_3   -> rank 0     route::to_all: P − 1 rounds of a ring
///     decode        s         s         s         s                  s_0 … s_3 combined: the same bits
///
/// Moves     a message has 96 bytes, 8 per 65,536 elements, and for each sent element its code and 4 bytes.
/// Errors    setting_error for a density outside (0, 1]. Otherwise as sharing_by.
/// Source    Aji and Heafield, EMNLP 2017.
struct top_k_sharing {
  double density = 1e-2;
  sharing_settings settings{};

  /// Returns the strategy of this rank.  Order: collective.
  std::unique_ptr<strategy> on(communicator& world) const;
};

}  // namespace cohort
