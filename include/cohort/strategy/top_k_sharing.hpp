// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/strategy/process_group.hpp>
#include <cohort/strategy/sharing_route.hpp>
#include <cohort/strategy/sharing_settings.hpp>
#include <memory>

namespace cohort {

/// Ranks send the largest elements of their gradients as they are, the share `density` of all, and keep the rest for later
/// steps.
///
/// Moves     a message takes 96 bytes, 8 for 65,536 elements, and 4 besides its code for each element sent.
/// Errors    setting_error for a density out of (0, 1]. All else is as sharing_by says.
/// Source    Aji and Heafield, EMNLP 2017.
struct top_k_sharing {
  double density = 1e-3;
  cohort::share share = share::gradient;
  bool mean = false;
  int warm_up = 0;
  int sync_buffers = 0;
  route way = route::by_size;
  cohort::group group = group::process;
  int max_staleness = 0;
  bool slower_if_stale = false;

  std::unique_ptr<strategy> on(communicator& world) const;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/top_k_sharing.ipp>
#endif
