// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/process_group.hpp>
#include <cohort/strategy/sharing_route.hpp>

namespace cohort {

/// What is shared: the gradient, so that all ranks take one step; or the step that each rank takes by its own gradient.
enum class share { gradient, update };

/// What is said about sharing besides the compressor; threshold_sharing and top_k_sharing have the same fields.
///
/// Units     `warm_up`: the first steps are exchanged densely, and leave no residual. `sync_buffers`: steps between two means of
///           the running statistics (0: at an epoch's end). `max_staleness` s: what step i has sent is taken in step i + s;
///           `slower_if_stale`: divided by s. `unbounded`: when it comes.
struct sharing_settings {
  cohort::share share = share::gradient;
  bool mean = false;  ///< of share::update: the mean of the ranks' steps, not their sum
  int warm_up = 0;
  int sync_buffers = 0;
  route way = route::by_size;
  cohort::group group = group::process;
  int max_staleness = 0;
  bool slower_if_stale = false;
};

}  // namespace cohort
