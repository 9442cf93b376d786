// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/execution/vector.hpp>
#include <cohort/optimizer/updater.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace cohort {

/// What an update needs besides the updater: the rate and the step (from 0) of now, the penalties of the
/// role, and a factor on the gradient (1 / examples where gradients come as sums, or a clipped norm's).
struct update_scalars {
  double rate = 0;
  std::int64_t step = 0;
  double l1 = 0;
  double l2 = 0;
  double gradient_scale = 1;
};

namespace detail {

/// The scalars of one step, computed once in double; `c` in the order in which the rule's formula reads them.
struct update_constants {
  static constexpr int size = 8;
  double c[size] = {};
  double scale = 1;
  double l1 = 0;
  double l2 = 0;
};

inline update_constants constants_of(updater const& settings, update_scalars const& now) {
  update_constants k{.scale = now.gradient_scale, .l1 = now.l1, .l2 = now.l2};
  k.c[0] = now.rate;
  switch (settings.rule()) {
    case update_rule::sgd:
      break;
    case update_rule::momentum:
    case update_rule::nesterov:
    case update_rule::adagrad:
      k.c[1] = settings.number(0);
      break;
    case update_rule::adam: {
      double const beta1 = settings.number(0);
      double const beta2 = settings.number(1);
      auto const steps = static_cast<double>(now.step + 1);
      k.c[0] = now.rate / (1 - std::pow(beta1, steps));
      k.c[1] = 1 / std::sqrt(1 - std::pow(beta2, steps));
      k.c[2] = beta1;
      k.c[3] = 1 - beta1;
      k.c[4] = beta2;
      k.c[5] = 1 - beta2;
      k.c[6] = settings.number(2);
      break;
    }
  }
  return k;
}

namespace baseline_f32 {
#include <cohort/optimizer/update_pass.inc>
}
namespace scalar_f64 {
#include <cohort/optimizer/update_pass.inc>
}

static_assert(scalar_f64::sgd::states == updater(cohort::sgd{}).state_arrays());
static_assert(scalar_f64::momentum::states == updater(cohort::momentum{}).state_arrays());
static_assert(scalar_f64::nesterov::states == updater(cohort::nesterov{}).state_arrays());
static_assert(scalar_f64::adagrad::states == updater(cohort::adagrad{}).state_arrays());
static_assert(scalar_f64::adam::states == updater(cohort::adam{}).state_arrays());

#if defined(__x86_64__) || defined(__i386__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace avx2_f32 {
#include <cohort/optimizer/update_pass.inc>
}
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq"))), \
                             apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq")
#endif
namespace avx512_f32 {
#include <cohort/optimizer/update_pass.inc>
}
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

}  // namespace detail

/// Updates n parameters in one pass over memory: g = (Σ gradient parts, in order)·gradient_scale + l2·w +
/// l1·sign(w); u and the new state by the updater's rule; w −= u.
///
/// Shapes    w, each gradient part and each of the updater's state_arrays() state arrays (n), n a multiple of 16.
/// Before    state arrays begun at initial_state(k); parts ≥ 1; `which` is at most machine_isa() (double: ignored).
/// Moves     (2 + parts + 2·state_arrays())·n elements.
/// Errors    shape_error if n is no multiple of 16.
/// Exact     the same bits wherever the range is cut at multiples of 16; padding (w = g = 0) stays zero. Between
///           instruction sets a few units in the last place differ (fused multiply-add).
template <class T>
void apply_update([[maybe_unused]] isa which, updater const& settings, update_scalars const& now, T* w,
                  T const* const* gradient_parts, int parts, T* const* state, std::size_t n) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  if (n % 16 != 0)
    throw shape_error(
        {.what = "an updater's range is not padded", .expected = "a multiple of 16 elements", .got = {n}});
  detail::update_constants const k = detail::constants_of(settings, now);
  if constexpr (std::is_same_v<T, double>) {
    detail::scalar_f64::update(settings.rule(), k, w, gradient_parts, parts, state, n);
  } else {
#if defined(__x86_64__) || defined(__i386__)
    if (which == isa::avx512)
      return detail::avx512_f32::update(settings.rule(), k, w, gradient_parts, parts, state, n);
    if (which == isa::avx2)
      return detail::avx2_f32::update(settings.rule(), k, w, gradient_parts, parts, state, n);
#endif
    detail::baseline_f32::update(settings.rule(), k, w, gradient_parts, parts, state, n);
  }
}

}  // namespace cohort
