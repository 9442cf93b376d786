// SPDX-License-Identifier: Apache-2.0
#include "golden_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cohort/optimizer/detail/optimizer_fields.hpp>
#include <cohort/optimizer/update_simd.hpp>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace update_simd_test {

using cohort::isa;
using cohort::nesterov;
using cohort::detail::norm_of;
namespace schedule = cohort::schedule;
using cohort::optimizer_rule;
using cohort::update_scalars;

std::vector<isa> usable() {
  std::vector<isa> list;
  for (isa const which : {isa::baseline, isa::avx2, isa::avx512})
    if (which <= cohort::machine_isa()) list.push_back(which);
  return list;
}

/// Every optimizer, with this rate if it has one.
std::vector<optimizer_rule> all_optimizers(cohort::rate_schedule const& rate) {
  std::vector<optimizer_rule> list;
  for (optimizer_rule const& one : cohort::detail::default_rules)
    list.push_back(one.name() == "no_op" ? one : one.with_learning_rate(rate));
  list.push_back(
      nesterov{.learning_rate = rate, .momentum = schedule::step{0.9, 0.5, 3, schedule::unit::step}});
  list.push_back(cohort::lion{.learning_rate = rate, .decay = 0.1});
  list.push_back(cohort::adam{.learning_rate = rate, .epsilon = 0, .epsilon_hat = 0.1});
  list.push_back(cohort::adamw{.learning_rate = rate, .epsilon = 0.01, .epsilon_hat = 0.1});
  list.push_back(cohort::amsgrad{.learning_rate = rate, .epsilon = 0, .epsilon_hat = 0.1});
  return list;
}

/// Update of one element, written in double from the formulas of the papers.
struct oracle {
  double w, first = 0, second = 0, third = 0;

  void step(optimizer_rule const& rule, update_scalars const& now, double gradient) {
    double const scaled = gradient * now.gradient_scale;
    double const clipped = now.clip > 0 ? std::clamp(scaled, -now.clip, now.clip) : scaled;
    double const g = clipped + now.l2 * w + (w > 0 ? now.l1 : w < 0 ? -now.l1 : 0);
    double const epsilon_hat = rule.number("epsilon_hat");
    double const rate = now.rate_factor * rule.learning_rate().value(now.step, now.epoch);
    double const momentum = rule.momentum().value(now.step, now.epoch);
    double const a = rule.number(0), b = rule.number(1), t = static_cast<double>(now.step) + 1;
    auto const mean = [&] {
      first = a * first + (1 - a) * g;
      return first / (1 - std::pow(a, t));
    };
    auto const mean_square = [&](double x) {
      second = b * second + (1 - b) * x * x;
      return second / (1 - std::pow(b, t));
    };
    std::string const name(rule.name());
    if (name == "sgd") {
      w -= rate * g;
    } else if (name == "momentum") {
      first = momentum * first + g;
      w -= rate * first;
    } else if (name == "nesterov") {
      first = momentum * first + g;
      w -= rate * (g + momentum * first);
    } else if (name == "adam") {
      double const m = mean();
      w -= rate * m
           / (std::sqrt(mean_square(g)) + rule.number(2) + epsilon_hat / std::sqrt(1 - std::pow(b, t)));
    } else if (name == "adamw") {
      double const m = mean();
      w -= rate * m
               / (std::sqrt(mean_square(g)) + rule.number(2) + epsilon_hat / std::sqrt(1 - std::pow(b, t)))
           + rate * rule.number(3) * w;
    } else if (name == "amsgrad") {
      double const m = mean();
      mean_square(g);
      third = std::max(third, second);
      w -= rate * m / ((std::sqrt(third) + epsilon_hat) / std::sqrt(1 - std::pow(b, t)) + rule.number(2));
    } else if (name == "adamax") {
      double const m = mean();
      second = std::max(b * second, std::abs(g));
      w -= rate * m / (second + rule.number(2));
    } else if (name == "nadam") {
      double const m = a * mean() + (1 - a) * g / (1 - std::pow(a, t));
      w -= rate * m / (std::sqrt(mean_square(g)) + rule.number(2));
    } else if (name == "adabelief") {
      double const m = mean();
      mean_square(g - first);
      second += rule.number(2);
      w -= rate * m / (std::sqrt(second / (1 - std::pow(b, t))) + rule.number(2));
    } else if (name == "adagrad") {
      first += g * g;
      w -= rate * g / (std::sqrt(first) + a);
    } else if (name == "adadelta") {
      first = a * first + (1 - a) * g * g;
      double const x = g * std::sqrt(second + b) / std::sqrt(first + b);
      second = a * second + (1 - a) * x * x;
      w -= rate * x;
    } else if (name == "rmsprop") {
      first = a * first + (1 - a) * g * g;
      w -= rate * g / (std::sqrt(first) + b);
    } else if (name == "lion") {
      double const c = a * first + (1 - a) * g;
      first = b * first + (1 - b) * g;
      w -= rate * ((c > 0 ? 1 : c < 0 ? -1 : 0) + rule.number(2) * w);
    } else if (name == "lamb") {
      double const m = mean();
      double const r = m / (std::sqrt(mean_square(g)) + rule.number(2)) + rule.number(3) * w;
      w -= rate * now.parameter_norm / now.needed_norm * r;
    } else if (name == "lars") {
      double const ratio = b * now.parameter_norm / (now.needed_norm + a * now.parameter_norm);
      first = momentum * first + rate * ratio * (g + a * w);
      w -= first;
    } else if (name == "no_op") {
      w -= g;
    } else {
      ADD_FAILURE() << "no oracle for " << name;
    }
  }
};

/// A parameter array with its gradient parts and state.
template <class T>
struct arrays {
  std::vector<T> w;
  std::vector<std::vector<T>> gradients;
  std::vector<std::vector<T>> states;

  arrays(optimizer_rule const& rule, std::size_t n, int parts, std::size_t padding = 0) : w(n) {
    for (std::size_t i = 0; i + padding < n; ++i)
      w[i] = i % 11 == 5 ? T(0) : static_cast<T>(std::sin(static_cast<double>(i) * 0.7) * 2);
    gradients.assign(static_cast<std::size_t>(parts), std::vector<T>(n));
    for (int k = 0; k < rule.state_arrays(); ++k)
      states.emplace_back(n, static_cast<T>(rule.initial_state(k)));
    draw(0, padding);
  }
  void draw(int step, std::size_t padding = 0) {
    for (std::size_t p = 0; p < gradients.size(); ++p)
      for (std::size_t i = 0; i + padding < w.size(); ++i)
        gradients[p][i] =
            i % 13 == 7 ? T(0)
                        : static_cast<T>(
                            std::cos(static_cast<double>(i * (p + 1) + static_cast<std::size_t>(step) * 17)));
  }
  void update(isa which, optimizer_rule const& rule, update_scalars const& now, std::size_t from,
              std::size_t n) {
    std::vector<T const*> g;
    std::vector<T*> s;
    for (auto& part : gradients) g.push_back(part.data() + from);
    for (auto& state : states) s.push_back(state.data() + from);
    cohort::apply_update(which, rule, now, w.data() + from, g.data(), static_cast<int>(g.size()), s.data(),
                         n);
  }
  /// The same array, with the current norms of all elements if the rule needs them.
  update_scalars with_norms(optimizer_rule const& rule, update_scalars now) {
    std::vector<T const*> g;
    std::vector<T*> s;
    for (auto const& part : gradients) g.push_back(part.data());
    for (auto& state : states) s.push_back(state.data());
    int const parts = static_cast<int>(g.size());
    if (rule.needed_norm() == norm_of::step)
      now.needed_norm = std::sqrt(
          cohort::step_square_sum(isa::baseline, rule, now, w.data(), g.data(), parts, s.data(), w.size()));
    if (rule.needed_norm() == norm_of::gradient)
      now.needed_norm =
          now.gradient_scale * std::sqrt(cohort::square_sum(isa::baseline, g.data(), parts, w.size()));
    T const* const parameter[]{w.data()};
    now.parameter_norm = std::sqrt(cohort::square_sum(isa::baseline, parameter, 1, w.size()));
    return now;
  }
  void update(isa which, optimizer_rule const& rule, update_scalars const& now) {
    update(which, rule, with_norms(rule, now), 0, w.size());
  }
};

template <class T>
class update_simd : public testing::Test {};
using elements = testing::Types<float, double>;
TYPED_TEST_SUITE(update_simd, elements);

// Sixteen units of rounding for values of size 4: ten steps round the parameter ten times by half a unit, and
// the error of the step is smaller. The oracle starts from the same rounded numbers and adds the gradient
// parts in the order of the contract.
template <class T>
constexpr double bound = (sizeof(T) == 4 ? 0x1p-24 : 0x1p-53) * 4 * 16;

TYPED_TEST(update_simd, agrees_with_a_scalar_oracle_on_every_instruction_set) {
  using T = TypeParam;
  std::size_t const n = 96;
  for (isa const which : usable()) {
    for (optimizer_rule const& rule :
         all_optimizers(schedule::inverse{.initial = 0.1, .gamma = 1, .by = schedule::unit::step})) {
      for (int const parts : {1, 2, 3, 5}) {
        arrays<T> a(rule, n, parts);
        std::vector<oracle> expected;
        for (T const w : a.w)
          expected.push_back({.w = w, .first = rule.state_arrays() ? rule.initial_state(0) : 0});
        for (int step = 0; step < 10; ++step) {
          a.draw(step);
          update_scalars const now = a.with_norms(rule, {.step = step,
                                                         .rate_factor = 0.9,
                                                         .l1 = 0.01,
                                                         .l2 = 0.03,
                                                         .gradient_scale = 0.5,
                                                         .clip = parts == 1 ? 0 : 0.3});
          a.update(which, rule, now);
          for (std::size_t i = 0; i < n; ++i) {
            T g = a.gradients[0][i];
            for (std::size_t p = 1; p < a.gradients.size(); ++p) g += a.gradients[p][i];
            expected[i].step(rule, now, g);
            ASSERT_NEAR(a.w[i], expected[i].w, bound<T>) << rule.name() << ' ' << name_of(which) << " parts "
                                                         << parts << " step " << step << " element " << i;
          }
        }
      }
    }
  }
}

TYPED_TEST(update_simd, is_bitwise_equal_for_any_split_of_the_range) {
  using T = TypeParam;
  std::size_t const n = 16 * 9;
  update_scalars const now{.step = 3, .l1 = 0.001, .l2 = 0.01, .gradient_scale = 0.25};
  for (isa const which : usable()) {
    for (optimizer_rule const& rule : all_optimizers(0.05)) {
      for (int const parts : {1, 2, 3}) {
        arrays<T> whole(rule, n, parts);
        update_scalars const of_all = whole.with_norms(rule, now);
        whole.update(which, rule, now);
        for (std::size_t const piece : {16, 32, 80}) {
          arrays<T> cut(rule, n, parts);
          for (std::size_t from = 0; from < n; from += piece)
            cut.update(which, rule, of_all, from, std::min(piece, n - from));
          EXPECT_EQ(std::memcmp(cut.w.data(), whole.w.data(), n * sizeof(T)), 0)
              << rule.name() << ' ' << piece;
          EXPECT_EQ(cut.states, whole.states) << rule.name() << ' ' << piece;
        }
      }
    }
  }
}

TYPED_TEST(update_simd, is_bitwise_equal_for_any_number_of_parts_with_the_same_sum) {
  using T = TypeParam;
  std::size_t const n = 16 * 67;  // more than a block
  for (isa const which : usable())
    for (update_scalars const& given : {update_scalars{.step = 3, .l2 = 0.01, .gradient_scale = 0.3},
                                        update_scalars{.l1 = 0.001, .l2 = 0.01, .gradient_scale = 0.3},
                                        update_scalars{.l2 = 0.01, .clip = 0.2}})
      for (optimizer_rule const& rule : all_optimizers(0.05)) {
        arrays<T> one(rule, n, 1);
        update_scalars const now = one.with_norms(rule, given);
        for (int const parts : {2, 3, 5}) {
          arrays<T> several = one;
          several.gradients.resize(static_cast<std::size_t>(parts), std::vector<T>(n));
          several.update(which, rule, now, 0, n);
          arrays<T> alone = one;
          alone.update(which, rule, now, 0, n);
          EXPECT_EQ(std::memcmp(several.w.data(), alone.w.data(), n * sizeof(T)), 0)
              << rule.name() << ' ' << name_of(which) << ", " << parts << " parts";
          EXPECT_EQ(several.states, alone.states) << rule.name() << ' ' << name_of(which) << ' ' << parts;
        }
      }
}

TYPED_TEST(update_simd, keeps_padding_exactly_zero) {
  using T = TypeParam;
  std::size_t const n = 64, padding = 23;
  for (isa const which : usable()) {
    for (optimizer_rule const& rule : all_optimizers(10)) {
      arrays<T> a(rule, n, 2, padding);
      auto const states = a.states;
      for (int step = 0; step < 20; ++step) {
        a.draw(step, padding);
        a.update(which, rule, {.step = step, .l1 = 0.1, .l2 = 0.1, .gradient_scale = 3});
      }
      for (std::size_t i = n - padding; i < n; ++i) {
        T const zero = 0;
        EXPECT_EQ(std::memcmp(&a.w[i], &zero, sizeof zero), 0) << rule.name() << ' ' << name_of(which);
        for (std::size_t k = 0; k < states.size() && rule.name() != "adabelief";
             ++k)  // which adds ε in each step
          EXPECT_EQ(a.states[k][i], states[k][i]) << rule.name();
      }
      EXPECT_NE(a.w[0], T(0));
    }
  }
}

TYPED_TEST(update_simd, propagates_nan) {
  using T = TypeParam;
  for (isa const which : usable()) {
    for (optimizer_rule const& rule : all_optimizers(0.1)) {
      arrays<T> a(rule, 32, 1);
      a.gradients[0][17] = std::numeric_limits<T>::quiet_NaN();
      a.update(which, rule, {.l1 = 0.1, .clip = 0.5});
      for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(std::isnan(a.w[i]), i == 17) << rule.name();
    }
  }
}

TYPED_TEST(update_simd, refuses_an_unpadded_range_and_writes_nothing) {
  using T = TypeParam;
  optimizer_rule const rule = cohort::sgd{};
  arrays<T> a(rule, 32, 1);
  auto const before = a.w;
  EXPECT_THROW(a.update(isa::baseline, rule, {}, 0, 24), cohort::shape_error);
  EXPECT_EQ(a.w, before);
  EXPECT_NO_THROW(a.update(isa::baseline, rule, {}, 0, 0));
  EXPECT_EQ(a.w, before);
}

// Numbers made by tests/golden/optimizers.py. In double, about 10 roundings a step differ between the two
// sides; the error after ten steps is below 1e-14 here. In float, the bound is that of ten steps with about
// ten roundings of values below 4.
TYPED_TEST(update_simd, agrees_with_pytorch_and_the_papers) {
  using T = TypeParam;
  double const tolerance = sizeof(T) == 4 ? 5e-6 : 1e-14;
  auto cases = golden::read("optimizers.txt");
  auto const& gradients = cases.at(0).rows;
  ASSERT_EQ(gradients.size(), 10U);
  std::set<std::string> seen;
  for (std::size_t k = 1; k < cases.size(); ++k) {
    golden::one_case& one = cases[k];
    ASSERT_EQ(one.rows.size(), 11U);
    seen.insert(one.name);
    double const rate = one.take("rate"), l2 = one.take("l2");
    auto const& rows = cohort::detail::update_rows;
    auto const kind = std::ranges::find(rows, one.name, &cohort::detail::update_row::name) - rows.begin();
    optimizer_rule const rule =
        std::visit([](auto const& alternative) { return optimizer_rule(alternative); },
                   cohort::detail::alternative_of<cohort::detail::any_rule>(static_cast<std::size_t>(kind),
                                                                            one.fields()))
            .with_learning_rate(
                schedule::step{.initial = rate, .factor = 0.5, .every = 4, .by = schedule::unit::step});
    for (isa const which : usable()) {
      arrays<T> a(rule, 16, 1);
      for (std::size_t i = 0; i < 16; ++i) a.w[i] = i < 6 ? static_cast<T>(one.rows[0].numbers[i]) : T(0);
      for (std::size_t step = 0; step < 10; ++step) {
        for (std::size_t i = 0; i < 16; ++i)
          a.gradients[0][i] = i < 6 ? static_cast<T>(gradients[step].numbers[i]) : T(0);
        a.update(which, rule, {.step = static_cast<std::int64_t>(step), .l2 = l2});
        for (std::size_t i = 0; i < 6; ++i)
          ASSERT_NEAR(a.w[i], one.rows[step + 1].numbers[i], tolerance)
              << one.name << " l2 " << l2 << " step " << step << " element " << i << ' ' << name_of(which);
      }
    }
  }
  for (auto const& row : cohort::detail::update_rows)
    EXPECT_TRUE(seen.count(std::string(row.name))) << row.name << " has no golden case";
}

TYPED_TEST(update_simd, adamw_without_decay_equals_adam) {
  using T = TypeParam;
  for (isa const which : usable()) {
    optimizer_rule const plain = cohort::adam{}, decaying = cohort::adamw{.decay = 0};
    arrays<T> a(plain, 64, 2), b(decaying, 64, 2);
    for (int step = 0; step < 5; ++step) {
      a.update(which, plain, {.step = step});
      b.update(which, decaying, {.step = step});
    }
    for (std::size_t i = 0; i < a.w.size(); ++i)  // a compiler may contract only one of the two
      ASSERT_NEAR(a.w[i], b.w[i], 4 * std::numeric_limits<T>::epsilon()) << "element " << i;
  }
}

// The momentum of each step is the schedule's value at that step or epoch.
TYPED_TEST(update_simd, applies_a_momentum_schedule) {
  using T = TypeParam;
  optimizer_rule const rule =
      cohort::momentum{.learning_rate = 1, .momentum = schedule::map{.values = {{0, 0}, {1, 0.5}}}};
  arrays<T> a(rule, 16, 1);
  std::fill(a.w.begin(), a.w.end(), T(0));
  std::fill(a.gradients[0].begin(), a.gradients[0].end(), T(1));
  double expected = 0;
  for (int const v : {1, 1}) {
    a.update(isa::baseline, rule, {});
    EXPECT_EQ(a.w[3], static_cast<T>(expected -= v));
  }
  a.update(isa::baseline, rule, {.epoch = 1});
  EXPECT_EQ(a.w[3], static_cast<T>(expected - 1.5));
}

// Caffe's formulas: v = μ·v + η·g; u = v, or u = (1 + μ)·v − μ·v₀ with the velocity v₀ before the step.
TYPED_TEST(update_simd, keeps_the_rates_of_earlier_steps_in_the_velocity) {
  using T = TypeParam;
  cohort::rate_schedule const rate = schedule::step{0.5, 0.25, 2, schedule::unit::step};
  for (optimizer_rule const& rule :
       {optimizer_rule(cohort::momentum{.learning_rate = rate, .rate_in_velocity = true}),
        optimizer_rule(nesterov{.learning_rate = rate, .rate_in_velocity = true})}) {
    arrays<T> a(rule, 16, 1);
    double w = static_cast<double>(a.w[3]), v = 0;
    for (std::int64_t step = 0; step < 6; ++step) {
      double const g = static_cast<double>(a.gradients[0][3]), before = v;
      v = 0.9 * v + rate.value(step, 0) * g;
      w -= rule.name() == "momentum" ? v : 1.9 * v - 0.9 * before;
      a.update(isa::baseline, rule, {.step = step});
      EXPECT_NEAR(static_cast<double>(a.w[3]), w, 1e-6) << rule.name() << ", step " << step;
    }
  }
}

TYPED_TEST(update_simd, refuses_lars_and_lamb_without_their_norms) {
  using T = TypeParam;
  for (optimizer_rule const& rule : {optimizer_rule(cohort::lars{}), optimizer_rule(cohort::lamb{})}) {
    arrays<T> a(rule, 16, 1);
    EXPECT_THROW(a.update(isa::baseline, rule, {}, 0, 16), cohort::setting_error);
    EXPECT_THROW(a.update(isa::baseline, rule, {.needed_norm = 1}, 0, 16), cohort::setting_error);
    EXPECT_NO_THROW(a.update(isa::baseline, rule, {.needed_norm = 0, .parameter_norm = 1}, 0, 16));
  }
}

// Tests several learning rates, and an n that is larger than a block of the pass.
TYPED_TEST(update_simd, computes_the_squared_norm_of_a_lamb_step_without_applying_it) {
  using T = TypeParam;
  std::size_t const n = 1200 / 16 * 16;
  optimizer_rule const adam = cohort::adamw{.learning_rate = 1, .epsilon = 1e-6},
                       rule = cohort::lamb{.learning_rate = 0.3};
  update_scalars const now{.step = 2, .rate_factor = 0.5, .l2 = 0.01, .gradient_scale = 0.5};
  for (isa const which : usable()) {
    arrays<T> a(rule, n, 2);
    arrays<T> const before = a;
    std::vector<T const*> g{a.gradients[0].data(), a.gradients[1].data()};
    std::vector<T*> s{a.states[0].data(), a.states[1].data()};
    double const got = cohort::step_square_sum(which, rule, now, a.w.data(), g.data(), 2, s.data(), n);
    EXPECT_EQ(a.w, before.w);
    EXPECT_EQ(a.states, before.states);
    a.update(which, adam, {.step = 2, .l2 = 0.01, .gradient_scale = 0.5});
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double const u = static_cast<double>(before.w[i]) - a.w[i];
      expected += u * u;
    }
    EXPECT_NEAR(got / expected, 1, sizeof(T) == 4 ? 1e-6 : 1e-14) << name_of(which);
  }
}

TYPED_TEST(update_simd, computes_square_sums_of_summed_parts_in_double) {
  using T = TypeParam;
  std::size_t const n = 16 * 300;
  std::vector<T> a(n), b(n), c(n);
  double expected = 0;
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = static_cast<T>(std::sin(static_cast<double>(i)) * 1e15);
    b[i] = static_cast<T>(i) / 7;
    c[i] = i == 77 ? T(1e18) : T(-3);
    double const sum = a[i] + b[i] + c[i];
    expected += sum * sum;
  }
  T const* const parts[]{a.data(), b.data(), c.data()};
  for (isa const which : usable()) {
    double const got = cohort::square_sum(which, parts, 3, n);
    EXPECT_NEAR(got / expected, 1, 1e-12) << name_of(which);
    EXPECT_EQ(cohort::square_sum(which, parts, 3, std::size_t{0}), 0);
  }
}

}  // namespace update_simd_test
