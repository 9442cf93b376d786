// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/gpu_operation.hpp>
#include <cohort/layer/global_pool.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/rms_norm.hpp>
#include <cohort/layer/zero_masked.hpp>
#include <vector>

namespace cohort::detail {

/// Converts the request of a layer that computes each step of T×C independently to the same layer on batch ·
/// T examples of C elements.
class steps_as_examples {
 public:
  explicit steps_as_examples(gpu_request const& of);
  steps_as_examples(steps_as_examples const&) = delete;
  steps_as_examples& operator=(steps_as_examples const&) = delete;

  gpu_request const& request() const { return steps_; }
  /// Converts the layouts of the operation back to sequences.
  gpu_operation on_sequences(gpu_operation made) const;

 private:
  gpu_request const& of_;
  gpu_request steps_;
  std::vector<shape> shapes_;
  std::vector<gpu_layout> layouts_;
};

gpu_operation prepare(gpu_target const& where, gpu_request const& request, zero_masked const& layer);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, learned_positions const& layer);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, sinusoidal_positions const& layer);
gpu_operation prepare(gpu_target const& where, gpu_request const& request, rms_norm const& layer);

/// Prepares global pooling: the mean or the largest element of each column of T×C over the unmasked steps.
gpu_operation prepare_pool_of_steps(gpu_target const& where, gpu_request const& request, bool largest);

}  // namespace cohort::detail
