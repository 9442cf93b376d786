// SPDX-License-Identifier: Apache-2.0
// covers: optimizer/layer_override
#include <gtest/gtest.h>

#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/optimizer/constraint.hpp>
#include <cohort/optimizer/gradient_normalisation.hpp>
#include <cohort/plan/detail/arena_sums.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "trial.hpp"

namespace parameter_update_test {

using namespace cohort;

/// dense_1.weights has 96·64 elements: more than one chunk.
graph net() {
  return graph::build([](builder& net) {
    return net.input({96}) | dense{.units = 64} | relu{} | dense{.units = 3, .bias = false} | relu{}
           | dense{.units = 2} | softmax_cross_entropy{};
  });
}

/// Parameters, two gradient parts and their sum, all dense. Layer `frozen` is excluded from training.
template <class T>
struct fixture {
  trial<reference<T>> run;
  parameter_store<reference<T>>& store = *run.store;
  std::vector<buffer> arenas;
  std::vector<std::byte*> parts;
  std::vector<std::vector<T>> sum;

  explicit fixture(std::vector<std::string> const& frozen = {}) : run(net(), {.batch = 1}, 1, {}, frozen) {
    for (int part = 0; part < 2; ++part) {
      arenas.emplace_back(store.arena_bytes());
      std::memset(arenas.back().data(), 0, store.arena_bytes());
      parts.push_back(arenas.back().data());
    }
    for (int p = 0; p < run.parameters(); ++p) {
      random_stream const numbers(9, run.parameter(p).name);
      auto& both = sum.emplace_back(static_cast<std::size_t>(run.parameter(p).spec.dims.elements()));
      for (std::size_t part = 0; part < 2; ++part) {
        std::vector<T> one(both.size());
        for (std::size_t i = 0; i < one.size(); ++i) {
          one[i] = static_cast<T>(numbers.template normal<float>(2 * i + part));
          both[i] += one[i];
        }
        store.write(p, reinterpret_cast<std::byte const*>(one.data()), parts[part]);
      }
    }
  }
  std::vector<std::vector<T>> parameters() const {
    std::vector<std::vector<T>> list;
    for (int p = 0; p < run.parameters(); ++p) list.push_back(run.dense(p, store.master()));
    return list;
  }
  void update(optimizer_settings const& settings, int workers, int steps = 1) {
    parameter_update updates(store, settings);
    for (int step = 0; step < steps; ++step) {
      for (int phase = 0; phase < updates.phases(workers); ++phase)
        for (int w = 0; w < workers; ++w) updates.measure(phase, {w, workers, parts, step});
      for (int w = 0; w < workers; ++w) updates.apply({w, workers, parts, step});
      for (int w = 0; updates.constrains(workers) && w < workers; ++w)
        updates.constrain({w, workers, parts, step});
    }
  }
};

template <class T>
class any_parameter_update : public testing::Test {};
using elements = testing::Types<float, double>;
TYPED_TEST_SUITE(any_parameter_update, elements);

std::vector<gradient_normalisation> normalisations() {
  return {{},
          normalise::renormalize_l2_per_layer{},
          normalise::renormalize_l2_per_parameter{},
          normalise::clip_elementwise{0.5},
          normalise::clip_l2_per_layer{20},
          normalise::clip_l2_per_parameter{5},
          normalise::clip_global_norm{10}};
}

TYPED_TEST(any_parameter_update, with_normalisation_equals_separate_normalisation) {
  using T = TypeParam;
  ASSERT_EQ(normalisations().size(), gradient_normalisation::rows.size());
  for (gradient_normalisation const& how : normalisations()) {
    fixture<T> all;
    auto const before = all.parameters();
    auto expected = all.sum;
    std::vector<layer_gradient<T>> list;
    for (std::size_t p = 0; p < expected.size(); ++p)
      list.push_back({expected[p], all.run.parameter(static_cast<int>(p)).node});
    apply_normalisation<T>(how, list);
    all.update({.rule = sgd{.learning_rate = 1}, .normalisation = how}, 2);
    auto const after = all.parameters();
    for (std::size_t p = 0; p < before.size(); ++p)
      for (std::size_t i = 0; i < before[p].size(); ++i)
        ASSERT_NEAR(before[p][i] - after[p][i], expected[p][i], sizeof(T) == 4 ? 2e-6 : 1e-14)
            << how.name() << " parameter " << p << " element " << i;
  }
}

TYPED_TEST(any_parameter_update, counts_only_changing_parameters_in_the_norm_of_the_network) {
  using T = TypeParam;
  fixture<T> all;
  auto const before = all.parameters();
  double whole = 0;
  auto const changes = [&](std::size_t p) {
    return all.run.parameter(static_cast<int>(p)).spec.role == parameter_role::weights;
  };
  for (std::size_t p = 0; p < before.size(); ++p)
    for (T const g : all.sum[p]) whole += changes(p) ? static_cast<double>(g) * g : 0;
  all.update({.rule = sgd{.learning_rate = 1},
              .bias_rule = sgd{.learning_rate = 0},
              .normalisation = normalise::clip_global_norm{3}},
             2);
  auto const after = all.parameters();
  for (std::size_t p = 0; p < before.size(); ++p)
    for (std::size_t i = 0; i < before[p].size(); ++i)
      ASSERT_NEAR(before[p][i] - after[p][i], changes(p) ? 3 / std::sqrt(whole) * all.sum[p][i] : 0,
                  sizeof(T) == 4 ? 1e-7 : 1e-14)
          << "parameter " << p << " element " << i;
}

TYPED_TEST(any_parameter_update, is_bitwise_equal_for_any_number_of_workers) {
  using T = TypeParam;
  std::vector<optimizer_settings> cases{
      {.rule = lars{.learning_rate = 1, .trust = 0.1}, .bias_rule = adamw{}},
      {.rule = lamb{}, .normalisation = normalise::clip_l2_per_layer{3}},
      {.rule = lamb{}, .bias_rule = lars{}}};
  parameter_constraint const constraints[]{
      {}, constraint::max_norm{0.5}, constraint::unit_norm{}, constraint::non_negative{}};
  for (optimizer_rule const& rule : detail::default_rules)
    for (parameter_constraint const& held : constraints)
      cases.push_back({.rule = sgd{.learning_rate = 0.01},
                       .constraint = constraint::non_negative{},
                       .layers = {{.layer = "dense_1", .rule = rule, .l1 = 1e-3, .constraint = held},
                                  {.layer = "dense_3", .bias_rule = rule, .bias_constraint = held}}});
  for (gradient_normalisation const& how : normalisations())
    cases.push_back({.rule = adam{}, .l2 = 1e-3, .normalisation = how});
  for (optimizer_settings const& settings : cases) {
    fixture<T> one;
    one.update(settings, 1, 3);
    for (int const workers : {2, 3, 7}) {
      fixture<T> many;
      many.update(settings, workers, 3);
      EXPECT_EQ(many.parameters(), one.parameters()) << settings.normalisation.name() << ' ' << workers;
    }
  }
}

TYPED_TEST(any_parameter_update, by_consecutive_ranges_is_bitwise_equal_to_a_whole_update) {
  using T = TypeParam;
  optimizer_settings const settings{.rule = adam{.learning_rate = 0.01}, .l2 = 1e-3};
  for (int const workers : {1, 2, 3}) {
    fixture<T> whole, apart;
    parameter_update at_once(whole.store, settings), later(apart.store, settings);
    EXPECT_TRUE(later.can_update_ranges());
    for (int step = 0; step < 3; ++step) {
      for (int w = 0; w < workers; ++w) at_once.run({w, workers, whole.parts, step}, [] {});
      auto const before = apart.parameters();
      for (int w = 0; w < workers; ++w) later.run({w, workers, apart.parts, step, 0, {.last = 2}}, [] {});
      auto const between = apart.parameters();
      for (std::size_t p = 0; p < before.size(); ++p) EXPECT_EQ(between[p] == before[p], p >= 2) << p;
      for (int w = 0; w < workers; ++w) later.run({w, workers, apart.parts, step, 0, {.first = 2}}, [] {});
    }
    EXPECT_EQ(apart.parameters(), whole.parameters());
  }
  fixture<T> any;
  auto const can_update_ranges = [&](optimizer_settings const& how) {
    return parameter_update(any.store, how).can_update_ranges();
  };
  EXPECT_TRUE(can_update_ranges({.normalisation = normalise::clip_elementwise{1}}));
  EXPECT_FALSE(can_update_ranges({.normalisation = normalise::clip_global_norm{1}}));
  EXPECT_FALSE(can_update_ranges({.rule = lars{}}));
  EXPECT_FALSE(can_update_ranges({.rule = sgd{}, .constraint = constraint::max_norm{1}}));
}

TYPED_TEST(any_parameter_update, with_lars_uses_norms_of_whole_tensors) {
  using T = TypeParam;
  fixture<T> all;
  auto const before = all.parameters();
  all.update({.rule = lars{.learning_rate = 2, .momentum = 0, .decay = 0.01, .trust = 0.1},
              .normalisation = normalise::clip_global_norm{3}},
             2);
  auto const after = all.parameters();
  double whole = 0;
  for (auto const& g : all.sum)
    for (T const x : g) whole += static_cast<double>(x) * x;
  for (std::size_t p = 0; p < before.size(); ++p) {
    double w2 = 0, g2 = 0;
    for (T const x : before[p]) w2 += static_cast<double>(x) * x;
    for (T const x : all.sum[p]) g2 += static_cast<double>(x) * x;
    double const clip = 3 / std::sqrt(whole), w = std::sqrt(w2), g = clip * std::sqrt(g2);
    for (std::size_t i = 0; i < before[p].size(); ++i)
      ASSERT_NEAR(before[p][i] - after[p][i],
                  2 * 0.1 * w / (g + 0.01 * w) * (clip * all.sum[p][i] + 0.01 * before[p][i]),
                  sizeof(T) == 4 ? 1e-6 : 1e-14)
          << "parameter " << p << " element " << i;
  }
}

TYPED_TEST(any_parameter_update, with_lars_uses_the_norm_of_the_gradient_without_penalties) {
  using T = TypeParam;
  fixture<T> all;
  auto const before = all.parameters();
  all.update({.rule = lars{.learning_rate = 2, .momentum = 0, .decay = 0, .trust = 0.1},
              .l1 = 0.25,
              .l2 = 0.5,
              .bias_l1 = 0.25,
              .bias_l2 = 0.5},
             2);
  auto const after = all.parameters();
  for (std::size_t p = 0; p < before.size(); ++p) {
    double w2 = 0, g2 = 0;
    for (T const x : before[p]) w2 += static_cast<double>(x) * x;
    for (T const x : all.sum[p]) g2 += static_cast<double>(x) * x;
    for (std::size_t i = 0; i < before[p].size(); ++i) {
      double const w = before[p][i], sign = w > 0 ? 1 : w < 0 ? -1 : 0;
      ASSERT_NEAR(w - after[p][i], 2 * 0.1 * std::sqrt(w2 / g2) * (all.sum[p][i] + 0.25 * sign + 0.5 * w),
                  sizeof(T) == 4 ? 1e-6 : 1e-14)
          << "parameter " << p << " element " << i;
    }
  }
}

// In the first step m̂ = g and v̂ = g².
TYPED_TEST(any_parameter_update, with_lamb_uses_norms_of_whole_tensors) {
  using T = TypeParam;
  fixture<T> all;
  auto const before = all.parameters();
  all.update({.rule = lamb{.learning_rate = 0.5, .epsilon = 0.1, .decay = 0.2}}, 2);
  auto const after = all.parameters();
  for (std::size_t p = 0; p < before.size(); ++p) {
    std::vector<double> r;
    double w2 = 0, r2 = 0;
    for (std::size_t i = 0; i < before[p].size(); ++i) {
      double const w = before[p][i], g = all.sum[p][i];
      r.push_back(g / (std::abs(g) + 0.1) + 0.2 * w);
      w2 += w * w;
      r2 += r[i] * r[i];
    }
    for (std::size_t i = 0; i < r.size(); ++i)
      ASSERT_NEAR(before[p][i] - after[p][i], 0.5 * std::sqrt(w2 / r2) * r[i], sizeof(T) == 4 ? 2e-6 : 1e-13)
          << "parameter " << p << " element " << i;
  }
}

TYPED_TEST(any_parameter_update, uses_layer_settings_instead_of_network_settings) {
  using T = TypeParam;
  fixture<T> all;
  auto const before = all.parameters();
  all.update({.rule = sgd{.learning_rate = 1},
              .l2 = 0.5,
              .layers = {{.layer = "dense_*", .bias_rule = sgd{.learning_rate = 3}, .l1 = 0.25},
                         {.layer = "dense_3", .rule = sgd{.learning_rate = 2}, .l2 = 0, .bias_l2 = 0.75}}},
             2);
  auto const after = all.parameters();
  struct wanted {
    double rate, l1, l2;
  };
  std::vector<wanted> const rows{{1, 0.25, 0.5}, {3, 0, 0}, {1, 0.25, 0.5}, {2, 0.25, 0}, {3, 0, 0.75}};
  ASSERT_EQ(rows.size(), before.size());
  for (std::size_t p = 0; p < before.size(); ++p)
    for (std::size_t i = 0; i < before[p].size(); ++i) {
      double const w = before[p][i], sign = w > 0 ? 1 : w < 0 ? -1 : 0;
      ASSERT_NEAR(w - after[p][i], rows[p].rate * (all.sum[p][i] + rows[p].l1 * sign + rows[p].l2 * w),
                  sizeof(T) == 4 ? 4e-6 : 1e-14)
          << "parameter " << p << " element " << i;
    }
}

TYPED_TEST(any_parameter_update, fulfils_the_constraints) {
  using T = TypeParam;
  optimizer_settings settings{.rule = adam{.learning_rate = 0.2}};
  fixture<T> free;
  free.update(settings, 3);
  auto expected = free.parameters();
  apply_constraint<T>(constraint::max_norm{1.5}, expected[0], 64);
  apply_constraint<T>(constraint::unit_norm{}, expected[2], 3);
  apply_constraint<T>(constraint::max_norm{1.5}, expected[3], 2);
  for (std::size_t const bias : {1, 4}) apply_constraint<T>(constraint::non_negative{}, expected[bias], 1);
  settings.constraint = constraint::max_norm{1.5};
  settings.bias_constraint = constraint::non_negative{};
  settings.layers = {{.layer = "dense_2", .constraint = constraint::unit_norm{}}};
  for (int const workers : {1, 3}) {
    fixture<T> held;
    held.update(settings, workers);
    EXPECT_EQ(held.parameters(), expected) << workers;
    EXPECT_NE(held.parameters(), free.parameters());
  }
}

TYPED_TEST(any_parameter_update, averages_a_constrained_parameter_once_per_step) {
  using T = TypeParam;
  optimizer_settings const settings{.rule = sgd{.learning_rate = 0.5}, .constraint = constraint::max_norm{1}};
  for (int const workers : {1, 3}) {
    fixture<T> held;
    parameter_update updates(held.store, settings, 0.5);
    std::vector<std::vector<T>> expected;
    for (int step = 0; step < 3; ++step) {
      for (int w = 0; w < workers; ++w) updates.apply({w, workers, held.parts, step});
      for (int w = 0; updates.constrains(workers) && w < workers; ++w)
        updates.constrain({w, workers, held.parts, step});
      updates.constrain(0, 1);  // not an update
      auto const now = held.parameters();
      if (step == 0) expected = now;
      for (std::size_t p = 0; p < now.size(); ++p)
        for (std::size_t i = 0; i < now[p].size(); ++i) expected[p][i] = (expected[p][i] + now[p][i]) / 2;
    }
    for (std::size_t p = 0; p < expected.size(); ++p) {
      std::vector<T> const found = held.run.dense(static_cast<int>(p), updates.average());
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[p][i], sizeof(T) == 4 ? 1e-5 : 1e-13)
            << "parameter " << p << " element " << i << ", workers " << workers;
    }
  }
}

TYPED_TEST(any_parameter_update, leaves_frozen_layers_unchanged_and_excludes_them_from_norms) {
  using T = TypeParam;
  optimizer_settings const settings{.rule = adam{.learning_rate = 0.1},
                                    .l2 = 1e-2,
                                    .normalisation = normalise::clip_global_norm{3},
                                    .constraint = constraint::max_norm{0.1},
                                    .layers = {{.layer = "dense_1", .frozen = true}}};
  fixture<T> frozen({"dense_1"}), silent;
  auto const before = frozen.parameters();
  parameter_update updates(frozen.store, settings);
  for (int step = 0; step < 10; ++step) updates.run({.parts = frozen.parts, .step = step}, [] {});
  EXPECT_EQ(frozen.parameters()[0], before[0]);
  EXPECT_EQ(frozen.parameters()[1], before[1]);
  for (int k = 0; k < updates.state_arrays(); ++k)
    for (T const x : frozen.run.dense(0, updates.state(k))) ASSERT_EQ(x, 0);
  // A gradient of zeros does not change a norm either.
  for (std::byte* const part : silent.parts) std::memset(part, 0, silent.store.table()[2].offset * sizeof(T));
  optimizer_settings all = settings;
  all.layers.clear();
  silent.update(all, 1, 10);
  for (std::size_t p = 2; p < before.size(); ++p)
    EXPECT_EQ(frozen.parameters()[p], silent.parameters()[p]) << p;
}

TEST(parameter_update, scales_learning_rates_by_a_factor) {
  fixture<double> all;
  auto const before = all.parameters();
  parameter_update updates(all.store, {.rule = sgd{.learning_rate = 2}});
  updates.scale_rates(0.25);
  updates.run({.parts = all.parts}, [] {});
  EXPECT_NEAR(before[0][5] - all.parameters()[0][5], 0.5 * all.sum[0][5], 1e-14);
}

/// Error of creating an update with these rows.
std::string refusal_of(std::vector<layer_override> rows) {
  fixture<float> all;
  try {
    parameter_update(all.store, {.layers = std::move(rows)});
  } catch (setting_error const& refused) {
    return refused.what();
  }
  return {};
}

TEST(parameter_update, refuses_rows_of_unknown_layers_and_of_layers_frozen_too_late) {
  EXPECT_EQ(
      refusal_of({{.layer = "dense_3", .l2 = 1}, {.layer = "dense_9", .l2 = 1}}),
      "no layer with parameters has this name (layers[1]): expected one of dense_1, dense_2, dense_3, got "
      "dense_9");
  EXPECT_NE(refusal_of({{.layer = "relu_*", .l2 = 1}}), "");
  EXPECT_NE(refusal_of({{.layer = "", .l2 = 1}}), "");
  EXPECT_EQ(
      refusal_of({{.layer = "dense_2", .l2 = 1}, {.layer = "dense_3", .bias_rule = adam{.epsilon = 0}}}),
      "a setting is out of range (layers[1] dense_3: adam.epsilon): expected a finite number, at least "
      "1.2e-38; or 0 if epsilon_hat is at least 1.2e-38, got 0");
  EXPECT_EQ(refusal_of({{.layer = "dense_2", .frozen = true}}),
            "the optimizer settings freeze a layer that the parameter set does not freeze (dense_2.weights): "
            "expected parameter_set::freeze before the "
            "first plan");
  EXPECT_EQ(refusal_of({{.layer = "*", .frozen = true}}),
            "every layer with parameters is frozen (layers): expected at least 1 layer to train, got none");
  EXPECT_EQ(refusal_of({{.layer = "*", .frozen = true}, {.layer = "dense_*", .frozen = false}}), "");
}

TEST(parameter_update, allocates_state_arrays_for_the_largest_optimizer) {
  fixture<float> all;
  EXPECT_EQ(parameter_update(all.store, {.rule = sgd{}}).state_arrays(), 0);
  EXPECT_EQ(parameter_update(all.store, {.layers = {{.layer = "dense_2", .rule = momentum{}},
                                                    {.layer = "dense_3", .bias_rule = amsgrad{}}}})
                .state_arrays(),
            3);
}

TEST(arena_sums, cover_parameters_layers_and_the_whole_model) {
  fixture<float> all;
  detail::arena_sums sums(all.store);
  std::vector<double> elements(all.store.table().size());
  auto const count = [&](std::size_t p, std::size_t begin, std::size_t n, double* to) {
    EXPECT_GE(begin, all.store.table()[p].offset);
    EXPECT_LE(begin + n, all.store.table()[p].offset + all.store.table()[p].room);
    elements[p] += static_cast<double>(n);
    for (; n > 0; n -= std::min(n, detail::arena_sums::block))
      *to++ = static_cast<double>(std::min(n, detail::arena_sums::block));
  };
  for (int worker = 0; worker < 3; ++worker) sums.measure(worker, 3, count);
  double whole = 0;
  for (std::size_t p = 0; p < elements.size(); ++p) {
    EXPECT_EQ(elements[p], static_cast<double>(all.store.table()[p].room));
    EXPECT_EQ(sums.of_parameter(p), elements[p]);
    whole += elements[p];
  }
  EXPECT_GT(elements[0], detail::arena_sums::block);
  EXPECT_EQ(sums.of_all(), whole);
  ASSERT_EQ(elements.size(), 5U);  // dense_1: weights and bias; dense_2: weights; dense_3: weights and bias
  for (std::size_t const p : {0, 1}) EXPECT_EQ(sums.of_layer(p), elements[0] + elements[1]);
  EXPECT_EQ(sums.of_layer(2), elements[2]);
  for (std::size_t const p : {3, 4}) EXPECT_EQ(sums.of_layer(p), elements[3] + elements[4]);
}

}  // namespace parameter_update_test
