// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/codec/detail/coding_formulas.hpp>
#include <cohort/codec/detail/threshold_simd.hpp>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/tensor/finite.hpp>

namespace cohort::detail {

namespace baseline_f32 {
inline constexpr bool compresses = false;
using ints [[gnu::vector_size(16)]] = std::int32_t;
inline unsigned mask_above(ints x, ints bound) {
  ints const above = x > bound;
#if defined(__SSE2__)
  return static_cast<unsigned>(__builtin_ia32_movmskps(reinterpret_cast<real>(above)));
#else
  unsigned mask = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) mask |= static_cast<unsigned>(above[lane] < 0) << lane;
  return mask;
#endif
}
inline sent_element* append(sent_element* to, unsigned, ints) { return to; }
#include <cohort/codec/detail/threshold_simd.inc>
}  // namespace baseline_f32

#if defined(__x86_64__) || defined(__i386__)
#include <cohort/detail/begin_avx2.inc>
namespace avx2_f32 {
inline constexpr bool compresses = false;
using ints [[gnu::vector_size(32)]] = std::int32_t;
inline unsigned mask_above(ints x, ints bound) {
  return static_cast<unsigned>(__builtin_ia32_movmskps256(reinterpret_cast<real>(x > bound)));
}
inline sent_element* append(sent_element* to, unsigned, ints) { return to; }
#include <cohort/codec/detail/threshold_simd.inc>
}  // namespace avx2_f32
#include <cohort/detail/begin_avx512.inc>
namespace avx512_f32 {
inline constexpr bool compresses = true;
using ints [[gnu::vector_size(64)]] = std::int32_t;
inline std::uint16_t mask_above(ints x, ints bound) {
  constexpr int above = 6;
  return static_cast<std::uint16_t>(__builtin_ia32_cmpd512_mask(x, bound, above, all_lanes));
}
/// Compresses in a register, then stores the whole vector: on Zen 4 a compressing store takes some 100
/// cycles.
inline sent_element* append(sent_element* to, std::uint16_t mask, ints elements) {
  using packed [[gnu::aligned(4), gnu::may_alias]] = ints;
  *reinterpret_cast<packed*>(to) = __builtin_ia32_compresssi512_mask(elements, elements, mask);
  return to + __builtin_popcount(mask);
}
#include <cohort/codec/detail/threshold_simd.inc>
}  // namespace avx512_f32
#include <cohort/detail/end_simd.inc>
#endif

void extract_one(float& r, float y, float t, std::uint64_t index, sent_element*& list,
                 std::vector<sent_multiple>& multiples) {
  std::uint32_t const pattern = std::bit_cast<std::uint32_t>(y);
  std::uint32_t const magnitude = pattern & ~sent_element::negative;
  if (!is_finite(y)) refuse_residual(index);
  if (magnitude < std::bit_cast<std::uint32_t>(t)) {
    r = y;
  } else if (magnitude <= std::bit_cast<std::uint32_t>(most_thresholds * t)) {
    r = y - std::bit_cast<float>(std::bit_cast<std::uint32_t>(t) | (pattern & sent_element::negative));
    *list++ = {static_cast<std::uint32_t>(index % block_elements) | (pattern & sent_element::negative)};
  } else {
    double const quotient = double{y} / double{t};
    double const multiple =
        std::bit_cast<double>(std::uint64_t{cut_multiple(std::bit_cast<std::uint64_t>(quotient))});
    r = static_cast<float>(double{y} - multiple * double{t});
    multiples.push_back({index, multiple});
  }
}

void extract_above_threshold([[maybe_unused]] isa which, float* r, float const* x, std::size_t n, float t,
                             std::uint64_t first, sent_element*& list,
                             std::vector<sent_multiple>& multiples) {
  auto const pattern = std::bit_cast<std::int32_t>(t);
  auto const limit = std::bit_cast<std::int32_t>(most_thresholds * t);
  auto const pass =
#if defined(__x86_64__) || defined(__i386__)
      which == isa::avx512 ? avx512_f32::extract
      : which == isa::avx2 ? avx2_f32::extract
                           :
#endif
                           baseline_f32::extract;
  std::size_t i = 0;
  while (i < n) {
    std::size_t const whole = (n - i) / baseline_f32::elements_per_word * baseline_f32::elements_per_word;
    auto const index = static_cast<std::uint32_t>((first + i) % block_elements);
    i += pass(r + i, x + i, whole, pattern, limit, index, &list);
    for (std::size_t const end = std::min(n, i + baseline_f32::elements_per_word); i < end; ++i)
      extract_one(r[i], r[i] + x[i], t, first + i, list, multiples);
  }
}

}  // namespace cohort::detail
