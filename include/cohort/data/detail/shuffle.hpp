// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/random/stream.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace cohort::detail {

/// Permutes the indices randomly. The permutation depends only on the stream and the number of indices.
///
/// Source    Durstenfeld's form of Fisher and Yates' shuffle, CACM 1964.
inline void shuffle(std::span<std::int64_t> indices, random_stream const& stream) {
  for (std::size_t remaining = indices.size(); remaining > 1; --remaining)
    std::swap(indices[remaining - 1], indices[stream.below(remaining, remaining)]);
}

}  // namespace cohort::detail
