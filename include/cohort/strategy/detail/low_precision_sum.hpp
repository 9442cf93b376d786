// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/communicator.hpp>
#include <cohort/detail/chrono.hpp>
#include <cohort/execution/detail/bf16_simd.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/strategy/detail/split_allreduce.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Rounds with error feedback: q = w + kept, rounded to the nearest Q, ties to even; then w = w + kept − q.
void narrow(float* w, float const* kept, bf16* q, std::size_t n);
template <class Q>
void narrow(double* w, double const* kept, Q* q, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    double const y = w[i] + kept[i];
    if constexpr (std::is_same_v<Q, float>) {
      q[i] = static_cast<float>(y);
      w[i] = y - double{q[i]};
    } else {
      q[i] = bf16::nearest(static_cast<float>(y));
      w[i] = y - double{q[i].value()};
    }
  }
}
/// w = q.
inline void widen(bf16 const* q, float* w, std::size_t n) { widen(best_isa(), q, w, n); }
inline void widen(float const* q, double* w, std::size_t n) { std::copy(q, q + n, w); }
void widen(bf16 const* q, double* w, std::size_t n);

/// Sums gradients over the ranks in a type of lower precision, with error feedback: a rank adds its rounding
/// error to its next gradient.
///
/// Shapes    one array of all buckets: dense, canonical, of f32 or f64; an element of `wire` has fewer bytes.
/// Order     for each bucket: fill data(), start. After all buckets have started: wait, is_finite, keep if
///           the step is taken, mean.
/// Before    e is the rounding error so far, and x is this rank's weighted gradient.
/// After     q = round(x + e) was sent; keep sets e to x + e − q. Without keep, e is unchanged.
/// Exact     x + e is rounded once, to the gradients' type; q and the new e add up to the rounded sum
///           exactly. Partial sums of several q are rounded to the wire's type, and these errors are not
///           kept.
/// Source    Seide et al., Interspeech 2014; Karimireddy et al., ICML 2019.
class low_precision_sum {
 public:
  low_precision_sum(parameter_set const& parameters, element_type wire);

  element_type type() const { return type_; }
  std::byte* data(bucket const& one) const;

  void start(communicator& world, bucket const& one, double weight, std::int64_t expected);

  /// Waits for all sums. Returns the time when the last sum was complete.
  std::chrono::steady_clock::time_point wait();
  /// Returns whether the sums are finite: the same on every rank.  Before: wait.
  bool is_finite() const;
  /// Keeps the rounding errors of this step.  Before: the step is taken.
  void keep() { std::swap(kept_, work_); }
  /// Writes the mean to data(one) and returns its address. The mean is the sum, scaled if the ranks' weight
  /// differs from `expected`.
  std::byte* mean(bucket const& one, double weight, std::int64_t expected);

  std::span<std::byte const> kept() const { return {kept_.data(), kept_.bytes()}; }
  /// Restores the rounding errors of a checkpoint; ignores errors of another type or size.
  void restore(std::span<std::byte const> saved, element_type type);

 private:
  static std::size_t first_of(bucket const& one) { return static_cast<std::size_t>(one.first); }
  static std::size_t count_of(bucket const& one) { return static_cast<std::size_t>(one.elements); }

  template <class F>
  void by_types(F f) const {
    if (type_ == element_type::f32)
      f(work_.as<float>(), kept_.as<float const>(), sent_.as<bf16>());
    else if (wire_ == element_type::f32)
      f(work_.as<double>(), kept_.as<double const>(), sent_.as<float>());
    else
      f(work_.as<double>(), kept_.as<double const>(), sent_.as<bf16>());
  }

  element_type type_, wire_;
  std::span<bucket const> buckets_;
  buffer kept_, work_, sent_;
  std::vector<split_allreduce> pending_;
};

}  // namespace cohort::detail
