// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cmath>

/// The kernels' source is compiled twice: here for the processor, and as a string by NVRTC for the GPU.
///
/// A kernel is a struct whose members are its arguments; a launch passes an object of this type. The struct
/// has one of these element functions:
/// `operator()(i)`  call i computes element i, which may be a value, a channel or a block. Calls run in
///                  parallel.
/// `term(i)`        returns the term that element i contributes to its chunk's sum; finish(slot, sum)
///                  receives the sum. A member `terms`, if present, defines the layout of the terms and the
///                  slots of their sums; otherwise each chunk has one sum (channels.inc).
/// `add(state, at, sums)`  processes the elements at a position of a walk over a tensor's channels
///                  (channels.inc). A kernel with `sum_count` adds terms to `sums` (sums.inc), and
///                  finish(channel, chunk, totals) receives the totals. Other kernels write elements.
/// `row(i, team)`   processes row i together with the other lanes of its team: a warp on the GPU, one lane on
///                  the processor. Lane k processes the elements k, k + lanes, …. team.sum and team.largest
///                  return the same number to all lanes; team.sum_before and team.largest_before return the
///                  result over the preceding lanes (0 for the first lane).
/// `marks(i)`       returns two bits of element i; finish(word, first, second) receives the bits of 32
///                  elements.
/// Each call writes separate memory. Exceptions: several calls may set bits of one word by or_into, or write
/// the same value. The source may use the language subset of update_formulas.inc, templates, pointers,
/// block_threads, sum_chunk, `size`, and the functions below, such as exponential. pattern_of and number_of
/// convert an f32 to its bits and back; wide_pattern_of and wide_number_of convert a double.
namespace cohort::detail {

/// Number of threads per block, and number of elements whose terms one block sums.
inline constexpr int block_threads = 256;
inline constexpr unsigned long long sum_chunk = 4096;

namespace kernels {

using number = float;
using real = float;
using size = unsigned long long;
inline real root(real x) { return std::sqrt(x); }
inline double root(double x) { return std::sqrt(x); }
inline real quotient(real a, real b) { return a / b; }
inline real power(real x, real y) { return std::pow(x, y); }
inline real exponential(real x) { return std::exp(x); }
inline real logarithm(real x) { return std::log(x); }
inline double logarithm(double x) { return std::log(x); }
inline double cosine(double x) { return std::cos(x); }
inline double sine(double x) { return std::sin(x); }
inline real exponential_less_1(real x) { return std::expm1(x); }
inline real logarithm_of_1_and(real x) { return std::log1p(x); }
inline real hyperbolic_tangent(real x) { return std::tanh(x); }
inline real error_complement(real x) { return std::erfc(x); }
inline real absolute(real x) { return std::abs(x); }
inline unsigned pattern_of(number x) { return std::bit_cast<unsigned>(x); }
inline number number_of(unsigned pattern) { return std::bit_cast<number>(pattern); }
inline size wide_pattern_of(double x) { return std::bit_cast<size>(x); }
inline double wide_number_of(size pattern) { return std::bit_cast<double>(pattern); }
inline unsigned bits_set(unsigned x) { return static_cast<unsigned>(std::popcount(x)); }
inline unsigned lowest_bit(unsigned x) { return static_cast<unsigned>(std::countr_zero(x)); }
inline unsigned highest_bit(unsigned x) { return static_cast<unsigned>(std::bit_width(x) - 1); }
inline void or_into(unsigned* to, unsigned bits) { *to |= bits; }
// Product of two f32, which no compiler fuses with a sum, and the rounding error of this product. Both are
// computed from the exact product in double.
inline number product_of(number x, number y) {
  return static_cast<number>(static_cast<double>(x) * static_cast<double>(y));
}
inline number product_error(number x, number y, number product) {
  return static_cast<number>(static_cast<double>(x) * static_cast<double>(y) - static_cast<double>(product));
}
struct one_lane {
  static constexpr size lane = 0;
  static constexpr size lanes = 1;
  template <class T>
  T sum(T x) const {
    return x;
  }
  template <class T>
  T largest(T x) const {
    return x;
  }
  template <class T>
  T sum_before(T) const {
    return 0;
  }
  template <class T>
  T largest_before(T) const {
    return 0;
  }
};
// Upper 64 bits of the product.
inline size high_product(size a, size b) {
  __extension__ using wide = unsigned __int128;
  return static_cast<size>(static_cast<wide>(a) * b >> 64);
}

#define COHORT_FORMULA(...) __VA_ARGS__
#include <cohort/codec/detail/coding_formulas.inc>
#include <cohort/codec/detail/residual_formulas.inc>
#include <cohort/cudnn/detail/kernels/philox.inc>
#include <cohort/cudnn/detail/kernels/steps.inc>
#include <cohort/optimizer/detail/update_formulas.inc>
#include <cohort/plan/detail/statistics_formulas.inc>
#include <cohort/tensor/detail/bf16_formulas.inc>
// The next two files use the files above.
#include <cohort/cudnn/detail/kernels/sums.inc>
#include <cohort/cudnn/detail/kernels/values.inc>
// The next files use values.inc and sums.inc.
#include <cohort/cudnn/detail/kernels/activations.inc>
#include <cohort/cudnn/detail/kernels/attention.inc>
#include <cohort/cudnn/detail/kernels/channels.inc>
#include <cohort/cudnn/detail/kernels/elementwise.inc>
#include <cohort/cudnn/detail/kernels/joins.inc>
#include <cohort/cudnn/detail/kernels/layers.inc>
#include <cohort/cudnn/detail/kernels/lookups.inc>
#include <cohort/cudnn/detail/kernels/losses.inc>
#include <cohort/cudnn/detail/kernels/norms.inc>
#include <cohort/cudnn/detail/kernels/places.inc>
#include <cohort/cudnn/detail/kernels/pools.inc>
#include <cohort/cudnn/detail/kernels/randoms.inc>
#include <cohort/cudnn/detail/kernels/recurrent.inc>
#include <cohort/cudnn/detail/kernels/residuals.inc>
#include <cohort/cudnn/detail/kernels/sequences.inc>
#include <cohort/cudnn/detail/kernels/updates.inc>
// Kernels of threshold sharing.
#include <cohort/cudnn/detail/kernels/bits.inc>
#include <cohort/cudnn/detail/kernels/thresholds.inc>
// messages.inc uses bits.inc and thresholds.inc.
#include <cohort/cudnn/detail/kernels/messages.inc>
#undef COHORT_FORMULA

}  // namespace kernels

inline constexpr char kernel_text[] =
    "using number = float;\n"
    "using real = float;\n"
    "using size = unsigned long long;\n"
    "inline real root(real x) { return sqrtf(x); }\n"
    "inline double root(double x) { return sqrt(x); }\n"
    "inline real quotient(real a, real b) { return a / b; }\n"
    "inline real power(real x, real y) { return powf(x, y); }\n"
    "inline real exponential(real x) { return expf(x); }\n"
    "inline real logarithm(real x) { return logf(x); }\n"
    "inline double logarithm(double x) { return log(x); }\n"
    "inline double cosine(double x) { return cos(x); }\n"
    "inline double sine(double x) { return sin(x); }\n"
    "inline real exponential_less_1(real x) { return expm1f(x); }\n"
    "inline real logarithm_of_1_and(real x) { return log1pf(x); }\n"
    "inline real hyperbolic_tangent(real x) { return tanhf(x); }\n"
    "inline real error_complement(real x) { return erfcf(x); }\n"
    "inline real absolute(real x) { return fabsf(x); }\n"
    "inline unsigned pattern_of(number x) { return __float_as_uint(x); }\n"
    "inline number number_of(unsigned pattern) { return __uint_as_float(pattern); }\n"
    "inline size wide_pattern_of(double x) { return (size)__double_as_longlong(x); }\n"
    "inline double wide_number_of(size pattern) { return __longlong_as_double((long long)pattern); }\n"
    "inline unsigned bits_set(unsigned x) { return (unsigned)__popc(x); }\n"
    "inline unsigned lowest_bit(unsigned x) { return (unsigned)__ffs((int)x) - 1; }\n"
    "inline unsigned highest_bit(unsigned x) { return 31 - (unsigned)__clz((int)x); }\n"
    "inline void or_into(unsigned* to, unsigned bits) { atomicOr(to, bits); }\n"
    "inline size high_product(size a, size b) { return __umul64hi(a, b); }\n"
    "inline number product_of(number x, number y) { return __fmul_rn(x, y); }\n"
    "inline number product_error(number x, number y, number product) { return __fmaf_rn(x, y, -product); }\n"
    "struct warp {\n"
    "  size lane;\n"
    "  static constexpr size lanes = 32;\n"
    "  template <class T>\n"
    "  T sum(T x) const {\n"
    "    for (int apart = 16; apart > 0; apart /= 2) x += __shfl_xor_sync(~0U, x, apart);\n"
    "    return x;\n"
    "  }\n"
    "  template <class T>\n"
    "  T largest(T x) const {\n"
    "    for (int apart = 16; apart > 0; apart /= 2) {\n"
    "      T const other = __shfl_xor_sync(~0U, x, apart);\n"
    "      x = other > x ? other : x;\n"
    "    }\n"
    "    return x;\n"
    "  }\n"
    "  template <class T>\n"
    "  T sum_before(T x) const {\n"
    "    T const own = x;\n"
    "    for (unsigned apart = 1; apart < 32; apart *= 2) {\n"
    "      T const other = __shfl_up_sync(~0U, x, apart);\n"
    "      x += lane >= apart ? other : T(0);\n"
    "    }\n"
    "    return x - own;\n"
    "  }\n"
    "  template <class T>\n"
    "  T largest_before(T x) const {\n"
    "    for (unsigned apart = 1; apart < 32; apart *= 2) {\n"
    "      T const other = __shfl_up_sync(~0U, x, apart);\n"
    "      x = lane >= apart && other > x ? other : x;\n"
    "    }\n"
    "    T const before = __shfl_up_sync(~0U, x, 1);\n"
    "    return lane == 0 ? T(0) : before;\n"
    "  }\n"
    "};\n"
#define COHORT_FORMULA(...) #__VA_ARGS__ "\n"
#include <cohort/codec/detail/coding_formulas.inc>
#include <cohort/codec/detail/residual_formulas.inc>
#include <cohort/cudnn/detail/kernels/philox.inc>
#include <cohort/cudnn/detail/kernels/steps.inc>
#include <cohort/optimizer/detail/update_formulas.inc>
#include <cohort/plan/detail/statistics_formulas.inc>
#include <cohort/tensor/detail/bf16_formulas.inc>
// The next two files use the files above.
#include <cohort/cudnn/detail/kernels/sums.inc>
#include <cohort/cudnn/detail/kernels/values.inc>
// The next files use values.inc and sums.inc.
#include <cohort/cudnn/detail/kernels/activations.inc>
#include <cohort/cudnn/detail/kernels/attention.inc>
#include <cohort/cudnn/detail/kernels/channels.inc>
#include <cohort/cudnn/detail/kernels/elementwise.inc>
#include <cohort/cudnn/detail/kernels/joins.inc>
#include <cohort/cudnn/detail/kernels/layers.inc>
#include <cohort/cudnn/detail/kernels/lookups.inc>
#include <cohort/cudnn/detail/kernels/losses.inc>
#include <cohort/cudnn/detail/kernels/norms.inc>
#include <cohort/cudnn/detail/kernels/places.inc>
#include <cohort/cudnn/detail/kernels/pools.inc>
#include <cohort/cudnn/detail/kernels/randoms.inc>
#include <cohort/cudnn/detail/kernels/recurrent.inc>
#include <cohort/cudnn/detail/kernels/residuals.inc>
#include <cohort/cudnn/detail/kernels/sequences.inc>
#include <cohort/cudnn/detail/kernels/updates.inc>
// Kernels of threshold sharing.
#include <cohort/cudnn/detail/kernels/bits.inc>
#include <cohort/cudnn/detail/kernels/thresholds.inc>
// messages.inc uses bits.inc and thresholds.inc.
#include <cohort/cudnn/detail/kernels/messages.inc>
#undef COHORT_FORMULA
    ;

}  // namespace cohort::detail
