// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/execution/detail/bf16_simd_variants.hpp>
#include <cohort/execution/detail/exponential_simd.hpp>
#include <cohort/layer/detail/attention_simd.hpp>
#include <cohort/tensor/bf16.hpp>
#include <limits>
#include <type_traits>
#include <utility>

namespace cohort::detail {

/// Returns `elements`, rounded up to whole vectors of every instruction set.
constexpr std::size_t attention_padded(std::size_t elements) { return (elements + 15) / 16 * 16; }
/// Returns the number of elements of a row with one element per key. The row is extended, because rows at a
/// distance of 2^n bytes would map to few cache sets.
constexpr std::size_t attention_row(std::size_t keys) { return attention_padded(keys) + 16; }

#define COHORT_SIMD_BODY <cohort/layer/detail/attention_simd.inc>
#include <cohort/detail/simd_variants.inc>

attention_passes attention_passes_of([[maybe_unused]] isa which, bool narrow) {
#if defined(__x86_64__) || defined(__i386__)
  if (which == isa::avx512) {
    using namespace avx512_f32;
    return narrow ? attention_passes{forward_of_head<bf16>, backward_of_head<bf16>}
                  : attention_passes{forward_of_head<float>, backward_of_head<float>};
  }
  if (which == isa::avx2) {
    using namespace avx2_f32;
    return narrow ? attention_passes{forward_of_head<bf16>, backward_of_head<bf16>}
                  : attention_passes{forward_of_head<float>, backward_of_head<float>};
  }
#endif
  using namespace baseline_f32;
  return narrow ? attention_passes{forward_of_head<bf16>, backward_of_head<bf16>}
                : attention_passes{forward_of_head<float>, backward_of_head<float>};
}

std::size_t attention_scratch(attention_sizes const& s, bool backward) {
  auto const queries = static_cast<std::size_t>(s.queries), keys = static_cast<std::size_t>(s.keys);
  std::size_t const row = attention_row(keys), rows = (queries + keys) * s.width(),
                    block = std::size_t{attention_block};
  std::size_t elements = row * (1 + block + s.width()) + rows + (keys + block) * s.value_width();
  if (backward) elements += row * (block + s.value_width()) + rows + (2 * queries + keys) * s.value_width();
  constexpr std::size_t arrays = 16;  // each is padded
  return attention_padded(elements) + arrays * attention_padded(1);
}

}  // namespace cohort::detail
