// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/optimizer/update_simd.hpp>
#include <initializer_list>
#include <tuple>
#include <type_traits>

namespace cohort::detail {

namespace scalar_f64 {
#include <cohort/optimizer/detail/update_simd.inc>
}
#define COHORT_SIMD_BODY <cohort/optimizer/detail/update_simd.inc>
#include <cohort/detail/simd_variants.inc>

/// Returns the factor of the velocity in addition to the momentum: the state contains v / η, so for
/// `rate_in_velocity` the last step's rate divided by this step's rate; otherwise 1.
double velocity_factor(optimizer_rule const& rule, update_scalars const& scalars) {
  if (rule.number("rate_in_velocity") == 0 || scalars.step == 0) return 1;
  double const rate = rule.learning_rate().value(scalars.step, scalars.epoch);
  return rate > 0 ? rule.learning_rate().value(scalars.step - 1, scalars.epoch) / rate : 1;
}

update_constants constants_of(optimizer_rule const& rule, update_scalars const& now) {
  update_constants k{.scale = now.gradient_scale, .clip = now.clip, .l1 = now.l1, .l2 = now.l2};
  double const rate = now.rate_factor * rule.learning_rate().value(now.step, now.epoch);
  double const a = rule.number(0), b = rule.number(1);
  auto const t = static_cast<double>(now.step + 1);
  auto const put = [&](std::initializer_list<double> constants) {
    double* to = k.c;
    for (double const one : constants) *to++ = one;
  };
  switch (rule.rule()) {
    case update_rule::sgd:
      put({rate});
      break;
    case update_rule::momentum:
    case update_rule::nesterov: {
      double const mu = rule.momentum().value(now.step, now.epoch);
      put({rate, mu * velocity_factor(rule, now), mu});
      break;
    }
    case update_rule::adam:
    case update_rule::adamw:
    case update_rule::amsgrad:
    case update_rule::nadam:
    case update_rule::adabelief: {
      double const root_correction = 1 / std::sqrt(1 - std::pow(b, t));
      put({rate / (1 - std::pow(a, t)), root_correction, a, 1 - a, b, 1 - b,
           rule.number(2) + rule.number("epsilon_hat") * root_correction, rate * rule.number("decay")});
      break;
    }
    case update_rule::adamax:
      put({rate / (1 - std::pow(a, t)), a, 1 - a, b, rule.number(2)});
      break;
    case update_rule::adagrad:
      put({rate, a});
      break;
    case update_rule::adadelta:
    case update_rule::rmsprop:
      put({rate, a, 1 - a, b});
      break;
    case update_rule::lion:
      put({rate, a, 1 - a, b, 1 - b, rate * rule.number(2)});
      break;
    case update_rule::lamb: {
      double const r = now.needed_norm, w = now.parameter_norm;
      double const local = rate * (r > 0 && w > 0 ? w / r : 1);
      put({local / (1 - std::pow(a, t)), 1 / std::sqrt(1 - std::pow(b, t)), a, 1 - a, b, 1 - b,
           rule.number(2), local * rule.number(3)});
      break;
    }
    case update_rule::lars: {
      double const g = now.needed_norm, w = now.parameter_norm;
      double const local = rate * (g > 0 && w > 0 ? b * w / (g + a * w) : 1);
      k = {.scale = local * k.scale, .clip = local * k.clip, .l1 = local * k.l1, .l2 = local * (k.l2 + a)};
      put({1, rule.momentum().value(now.step, now.epoch)});
      break;
    }
    case update_rule::no_op:
      put({1});
      break;
    case update_rule::own:
      rule.own()->constants(rule.numbers().data(), {.step = now.step + 1, .rate = rate}, k.c);
      break;
  }
  return k;
}

update_constants constants_at_rate_1(optimizer_rule const& rule, update_scalars now) {
  now.rate_factor = 1;
  now.needed_norm = now.parameter_norm = 0;
  return constants_of(rule.with_learning_rate(1), now);
}

}  // namespace cohort::detail

namespace cohort {

namespace detail {

/// apply_update for an optimizer of the program. `prepare` computes the gradient of a block.
template <class T, class Prepare>
void apply_own(own_update const& own, update_constants const& k, T* w, T* const* state, std::size_t n,
               Prepare prepare) {
  T g[update_block];
  T* arrays[std::tuple_size_v<decltype(update_row::states)>];
  int const states = count_of(own.row.states);
  for (std::size_t begin = 0; begin < n; begin += update_block) {
    std::size_t const size = std::min(update_block, n - begin);
    prepare(g, begin, size);
    for (int j = 0; j < states; ++j) arrays[j] = state[j] + begin;
    if constexpr (std::is_same_v<T, double>)
      own.run_f64(k.c, g, w + begin, arrays, size);
    else
      own.run_f32(k.c, g, w + begin, arrays, size);
  }
}

}  // namespace detail

template <class T>
void apply_update([[maybe_unused]] isa which, optimizer_rule const& settings, update_scalars const& now, T* w,
                  T const* const* gradient_parts, int parts, T* const* state, std::size_t n) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  if (n % 16 != 0)
    throw shape_error({.what = "the length of an update is not padded",
                       .where = "apply_update",
                       .expected = "a multiple of 16 elements",
                       .got = {n}});
  if (settings.needs_norms() && (now.needed_norm < 0 || now.parameter_norm < 0))
    throw setting_error({.what = "the norms for an optimizer are missing",
                         .where = {settings.name()},
                         .expected = "update_scalars::needed_norm and parameter_norm of at least 0",
                         .got = {now.needed_norm, " and ", now.parameter_norm}});
  detail::update_constants const k = detail::constants_of(settings, now);
  if (detail::own_update const* const own = settings.own())
    return detail::apply_own(*own, k, w, state, n, [&](T* g, std::size_t begin, std::size_t size) {
      auto const prepare = [&](auto of) { of(k, g, w, gradient_parts, parts, begin, size); };
      if constexpr (std::is_same_v<T, double>) {
        prepare(detail::scalar_f64::prepare_gradient);
      } else {
#if defined(__x86_64__) || defined(__i386__)
        if (which == isa::avx512) return prepare(detail::avx512_f32::prepare_gradient);
        if (which == isa::avx2) return prepare(detail::avx2_f32::prepare_gradient);
#endif
        prepare(detail::baseline_f32::prepare_gradient);
      }
    });
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

template <class T>
double square_sum([[maybe_unused]] isa which, T const* const* parts, int count, std::size_t n) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::scalar_f64::square_sum(parts, count, n);
  } else {
#if defined(__x86_64__) || defined(__i386__)
    if (which == isa::avx512) return detail::avx512_f32::square_sum(parts, count, n);
    if (which == isa::avx2) return detail::avx2_f32::square_sum(parts, count, n);
#endif
    return detail::baseline_f32::square_sum(parts, count, n);
  }
}

template <class T>
double step_square_sum([[maybe_unused]] isa which, optimizer_rule const& settings, update_scalars const& now,
                       T* w, T const* const* gradient_parts, int parts, T* const* state, std::size_t n) {
  detail::update_constants const k = detail::constants_at_rate_1(settings, now);
  if constexpr (std::is_same_v<T, double>) {
    return detail::scalar_f64::step_square_sum(k, w, gradient_parts, parts, state, n);
  } else {
#if defined(__x86_64__) || defined(__i386__)
    if (which == isa::avx512)
      return detail::avx512_f32::step_square_sum(k, w, gradient_parts, parts, state, n);
    if (which == isa::avx2) return detail::avx2_f32::step_square_sum(k, w, gradient_parts, parts, state, n);
#endif
    return detail::baseline_f32::step_square_sum(k, w, gradient_parts, parts, state, n);
  }
}

template void apply_update(isa, optimizer_rule const&, update_scalars const&, float*, float const* const*,
                           int, float* const*, std::size_t);
template void apply_update(isa, optimizer_rule const&, update_scalars const&, double*, double const* const*,
                           int, double* const*, std::size_t);
template double square_sum(isa, float const* const*, int, std::size_t);
template double square_sum(isa, double const* const*, int, std::size_t);
template double step_square_sum(isa, optimizer_rule const&, update_scalars const&, float*,
                                float const* const*, int, float* const*, std::size_t);
template double step_square_sum(isa, optimizer_rule const&, update_scalars const&, double*,
                                double const* const*, int, double* const*, std::size_t);

}  // namespace cohort
