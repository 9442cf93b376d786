// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort {

/// Affine map of all elements of one channel: factor·x + offset.
struct channel_map {
  double factor = 1;
  double offset = 0;

  /// Composition: this map, followed by `next`.
  constexpr channel_map then(channel_map const& next) const {
    return {factor * next.factor, offset * next.factor + next.offset};
  }
};

}  // namespace cohort
