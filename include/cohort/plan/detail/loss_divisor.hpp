// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <cohort/plan/detail/step_masks.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohort::detail {

/// Returns how many targets of an example are at unmasked steps and are not ignored by the loss.
///
/// `target`  the example's target. `steps`: the example's mask (u8); empty: no step is masked
int count_targets(target_spec const& of, tensor_view target, std::span<std::uint8_t const> steps);

/// Divisor of the mean loss of a batch: Σ weight over the examples. If the losses are means over unmasked
/// steps or over targets that are not ignored, the divisor is Σ weight·(number of these steps or targets).
class loss_divisor {
 public:
  explicit loss_divisor(graph_view net);

  /// `masks`: the masks of the batch; empty: only padded inputs have masked steps. `weights`: one per
  /// example; empty: 1 each.
  double of(std::span<tensor_view const> inputs, std::span<tensor_view const> masks,
            std::span<tensor_view const> targets, std::span<float const> weights, int count) const;

 private:
  mask_source source_{};    // length 0: the divisor counts examples
  std::size_t mask_ = 0;    // index among the masks of the batch
  target_spec counted_{};   // targets of the loss; used only if the loss ignores some
  bool by_target_ = false;  // the divisor counts targets
};

}  // namespace cohort::detail
