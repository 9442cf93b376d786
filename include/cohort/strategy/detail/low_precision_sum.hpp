// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cohort/communicator/communicator.hpp>
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

/// q = the nearest number of fewer bits to w + kept, ties to even, then w = w + kept − q; and back.
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
inline void widen(bf16 const* q, float* w, std::size_t n) { widen(best_isa(), q, w, n); }
inline void widen(float const* q, double* w, std::size_t n) { std::copy(q, q + n, w); }
void widen(bf16 const* q, double* w, std::size_t n);

/// Gradients summed over the ranks in fewer bits than they have; what a rank rounds away goes out with its next gradient.
///
/// Shapes    one array of all buckets: dense, canonical, of f32 or f64; the wire's elements have fewer bytes.
/// Order     for each bucket: fill data(), start. When all were started: wait, finite, then keep or not, then mean.
/// Before    e is what was kept, x this rank's weighted gradient.    After  q = round(x + e) was sent, and keep makes e = x + e − q.
/// Exact     x + e is rounded once, to its own type; q and the new e add up to it exactly. Sums of several q are rounded to the
///           wire's type on their way, which nobody keeps. Without keep, e is as it was.
/// Source    Seide et al., Interspeech 2014; Karimireddy et al., ICML 2019.
class low_precision_sum {
 public:
  low_precision_sum(parameter_set const& parameters, element_type wire);

  element_type type() const { return type_; }
  std::byte* data(bucket const& one) const;

  void start(communicator& world, bucket const& one, double weight, std::int64_t expected);

  /// Returns when the last sum was complete.
  std::chrono::steady_clock::time_point wait();
  /// Whether the sums are finite: the same on every rank.  Before: wait.
  bool finite() const;
  /// The step is taken with these sums.
  void keep() { std::swap(kept_, work_); }
  /// In data(one): the sum, made the mean where all weigh otherwise than expected.
  std::byte* mean(bucket const& one, double weight, std::int64_t expected);

  std::span<std::byte const> kept() const { return {kept_.data(), kept_.bytes()}; }
  /// What an earlier run has kept, if it was of such elements.
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

#ifndef COHORT_CORE_COMPILED
#include <cohort/strategy/impl/low_precision_sum.ipp>
#endif
