// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/residual_policy.hpp>
#include <cohort/codec/threshold_policy.hpp>
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/sharing_settings.hpp>
#include <cohort/strategy/strategy.hpp>
#include <memory>

namespace cohort {

/// Exchanges only the entries of the accumulated gradient whose magnitude reaches a threshold, each encoded
/// as a sign. The rest stays in the residual for later steps.
///
///     r += x    s = ±t where |r| ≥ t, else 0    r −= s
///
///     P = 4       rank 0    rank 1    rank 2    rank 3
///     encode       s_0       s_1       s_2       s_3                 signs and t
///     exchange     s_0   ->  s_1   ->  s_2   ->  s_3   -> rank 0     route::to_all: P − 1 rounds of a ring
///     decode        s         s         s         s                  s_0 … s_3 combined: the same bits
///
/// Units     a threshold is compared with the exchanged quantity: a gradient, or a step. `per_parameter`:
///           each tensor has its own threshold.
/// Moves     a message has 96 bytes, 8 per 65,536 elements, 2 per threshold, and about n·H(d) + d·n bits at
///           density d, where H is the binary entropy. If the parameters are f32 and their device supports
///           threshold_device, gradients and residuals stay on the device, and only messages are copied to
///           the processor. Gradients and residuals are also copied in the dense steps of `warm_up`, with
///           `unbounded`, and if several ranks of a process send one message.
/// Errors    setting_error for an invalid policy. Otherwise as sharing_by.
/// Source    Strom, Interspeech 2015; Deeplearning4j's gradient sharing.
struct threshold_sharing {
  threshold_policy threshold = threshold::quantile{};
  residual_policy residual = residual::none{};
  bool per_parameter = false;
  sharing_settings settings{};

  /// Returns the strategy of this rank.  Order: collective.
  std::unique_ptr<strategy> on(communicator& world) const;
};

}  // namespace cohort
