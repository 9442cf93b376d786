// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/detail/config.hpp>
#include <cohort/execution/detail/simd_vector.hpp>
#include <cohort/optimizer/update_simd.hpp>
#include <initializer_list>
#include <string>

namespace cohort::detail {

COHORT_CORE_INLINE update_constants constants_of(updater const& rule, update_scalars const& now) {
  update_constants k{.scale = now.gradient_scale, .clip = now.clip, .l1 = now.l1, .l2 = now.l2};
  double const rate = now.rate_factor * rule.rate().value(now.step, now.epoch);
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
    case update_rule::nesterov:
      put({rate, rule.momentum().value(now.step, now.epoch)});
      break;
    case update_rule::adam:
    case update_rule::adamw:
    case update_rule::amsgrad:
    case update_rule::nadam:
    case update_rule::adabelief:
      put({rate / (1 - std::pow(a, t)), 1 / std::sqrt(1 - std::pow(b, t)), a, 1 - a, b, 1 - b, rule.number(2),
           rate * rule.number(3)});
      break;
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
  }
  return k;
}

COHORT_CORE_INLINE update_constants constants_at_rate_1(updater const& rule, update_scalars now) {
  now.rate_factor = 1;
  now.needed_norm = now.parameter_norm = 0;
  return constants_of(rule.with_rate(1), now);
}

}  // namespace cohort::detail
