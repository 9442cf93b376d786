// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>

namespace cohort {

/// Quantity that the ranks exchange. gradient: the ranks' gradients; all ranks take one step with the mean.
/// update: the step that each rank's own optimizer has computed from its own gradient.
enum class share { gradient, update };

/// Route of the messages of a step to all ranks. to_all: each message is sent to every rank. merged: the
/// messages are merged pairwise into one, which is sent to every rank. by_size: to_all or merged, whichever
/// is expected to be faster.
enum class route { by_size, to_all, merged };

/// Number of messages per process. process: the ranks of one process combine their arrays and send one
/// message. rank: each rank sends a separate message.
enum class sharing_group { process, rank };

/// A value of `max_staleness`: a message is applied when it arrives, however old it is.
inline constexpr int unbounded = -1;

/// Settings of gradient sharing that do not depend on the compressor.
///
/// Units     `warm_up`, `sync_buffers` and `max_staleness` count steps.
struct sharing_settings {
  cohort::share share = share::gradient;
  /// With share::update: whether the ranks apply the mean of their steps instead of the sum.
  bool mean = false;
  /// Number of steps at the start that are exchanged densely and leave no residual.
  int warm_up = 0;
  /// Steps between two averages of the running statistics during an epoch; 0: none.
  int sync_buffers = 0;
  cohort::route route = route::by_size;
  sharing_group group = sharing_group::process;
  /// s, from 0 to 99: a message sent in step i is applied in step i + s; with `unbounded`, when it arrives.
  int max_staleness = 0;
  /// If true, each message is divided by its staleness: s or, with `unbounded`, its age in steps; at least 1.
  bool slower_if_stale = false;

  /// Errors    setting_error for a value out of its range, `unbounded` with share::gradient, and
  ///           route::merged with a staleness other than 0.
  void check() const;
};

}  // namespace cohort
