// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/execution/isa.hpp>
#include <cstddef>
#include <type_traits>

namespace cohort::detail {

/// The largest logit of a row, and Σ e^(logit − largest).
template <class T>
struct softmax_sums {
  T largest, total;
};

/// p ← softmax of `count` logits, with the SIMD instructions of `which`.
///
/// Before    `which` is at most machine_isa(); count ≥ 1; p does not overlap x.
/// After     if a logit is NaN or ∞, or if all of them are −∞, then `total` and all p are NaN.
/// Exact     the bits depend on the instruction set.
softmax_sums<float> softmax_in_vectors(isa which, float const* x, float* p, std::size_t count);

/// p ← softmax of a row of `count` logits: softmax_in_vectors for long rows of float, otherwise plain loops,
/// which are faster for rows of a few vectors.
template <class T>
class softmax_of_row {
 public:
  explicit softmax_of_row(std::size_t count)
      : count_(count),
        in_vectors_(std::is_same_v<T, float> && count >= 64),
        isa_(in_vectors_ ? best_isa() : isa::baseline) {}

  softmax_sums<T> operator()(T const* x, T* p) const {
    if constexpr (std::is_same_v<T, float>)
      if (in_vectors_) return softmax_in_vectors(isa_, x, p, count_);
    T largest = x[0], total = 0;
    for (std::size_t i = 1; i < count_; ++i) largest = x[i] > largest ? x[i] : largest;
    for (std::size_t i = 0; i < count_; ++i) total += p[i] = std::exp(x[i] - largest);
    T const factor = 1 / total;
    for (std::size_t i = 0; i < count_; ++i) p[i] *= factor;
    return {largest, total};
  }

 private:
  std::size_t count_;
  bool in_vectors_;
  isa isa_;
};

}  // namespace cohort::detail
