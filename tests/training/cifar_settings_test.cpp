// SPDX-License-Identifier: Apache-2.0
// label: slow
// The settings of SKIL's CIFAR-10 notebook, which use nearly all settings of single layers. Builds the page's
// network with relu and drop probability 0.2. The first update of a reduced network on small images must
// equal the formulas. examples/cifar10_original_test.py tests the page's network itself.
#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/optimizer/optimizer.hpp>
#include <cohort/optimizer/rate_schedule.hpp>
#include <cohort/plan/detail/parameter_rules.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_set.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/training/training.hpp>
#include <memory>
#include <vector>

namespace cifar_settings_test {

using namespace cohort;

/// The page's network with relu and drop probability 0.2, on images of side × side. Its layers have 1/part
/// of the filters and units.
constexpr tensor page(builder& net, int side, int part) {
  auto const conv = [&](int kernel, int filters) {
    return [=](tensor x) {
      return x
             | conv2d{.filters = filters / part,
                      .kernel = kernel,
                      .padding = padding::same,
                      .settings = {.bias = init::constant{1e-2}}}
             | relu{};
    };
  };
  return net.input({3, side, side}) | conv(4, 64) | conv(4, 64) | max_pool{.window = 2} | conv(4, 96)
         | conv(4, 96) | conv(3, 128) | conv(3, 128) | conv(2, 256) | conv(2, 256) | max_pool{.window = 2}
         | dense{.units = 1024 / part, .settings = {.bias = init::constant{1e-3}}} | relu{}
         | dropout{.rate = 0.2} | dense{.units = 1024 / part, .settings = {.bias = init::constant{1e-2}}}
         | relu{} | dropout{.rate = 0.2} | dense{.units = 10} | softmax_cross_entropy{};
}
constexpr auto whole = network<[](builder& net) { return page(net, 32, 1); }>();
constexpr auto reduced = network<[](builder& net) { return page(net, 8, 16); }>();
static_assert(whole.parameter_count() == 18'804'810);

training_settings page_settings() {
  return {.optimizer = {.rule = adam{.learning_rate = 1e-2},
                        .bias_rule = adam{.learning_rate = 2e-2},
                        .l1 = 1e-4,
                        .l2 = 5e-4,
                        .normalisation = normalise::renormalize_l2_per_layer{},
                        .layers = {{.layer = "dense_1",
                                    .rule = adam{.learning_rate = 1e-3},
                                    .bias_rule = adam{.learning_rate = 2e-3}}}},
          .weights = init::xavier_uniform{},
          .seed = 123};
}

template <class T>
std::vector<T> dense_of(parameter_set const& from, std::size_t p, std::byte const* arena) {
  std::vector<T> values(static_cast<std::size_t>(from.table()[p].spec.dims.elements()));
  from.read(static_cast<int>(p), arena, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

TEST(cifar_settings, set_the_initial_values_and_rules_of_the_full_network) {
  training const made = trainer<reference<float>>(whole, page_settings());
  auto const table = made.parameters().table();
  ASSERT_EQ(table.size(), 2U * 11);
  for (std::size_t p = 0; p < table.size(); ++p) {
    std::vector<float> const values = dense_of<float>(made.parameters(), p, made.parameters().master());
    if (table[p].spec.role == parameter_role::biases) {
      float const wanted = table[p].layer() == "dense_1"   ? 1e-3F
                           : table[p].layer() == "dense_3" ? 0.0F
                                                           : 1e-2F;
      EXPECT_EQ(values, std::vector<float>(values.size(), wanted)) << table[p].name;
      continue;
    }
    double const bound = std::sqrt(6.0 / (table[p].spec.fan_in + table[p].spec.fan_out));
    auto const [least, most] = std::ranges::minmax(values);
    EXPECT_LE(std::max(-least, most), bound * (1 + 1e-6)) << table[p].name;
    EXPECT_GT(std::min(-least, most), bound * 0.98) << table[p].name;
  }
  optimizer_settings const settings = page_settings().optimizer;
  detail::parameter_rules const rules(table, settings);
  EXPECT_EQ(rules.state_arrays(), 2);
  for (std::size_t p = 0; p < table.size(); ++p) {
    double const own = table[p].layer() == "dense_1" ? 0.1 : 1;
    bool const bias = table[p].spec.role == parameter_role::biases;
    EXPECT_EQ(rules[p].rule, optimizer_rule(adam{.learning_rate = own * (bias ? 2e-2 : 1e-2)}))
        << table[p].name;
    EXPECT_EQ(rules[p].penalty, bias ? penalties{} : (penalties{1e-4, 5e-4})) << table[p].name;
  }
}

TEST(cifar_settings, update_parameters_as_computed_by_hand) {
  using B = reference<double>;
  constexpr int count = 4;
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  random_stream const chance(1, "pictures");
  for (std::uint64_t i = 0; i < count * 3 * 8 * 8; ++i) pixels.push_back(chance.uniform01(i));
  for (std::uint64_t n = 0; n < count; ++n) labels.push_back(static_cast<std::int32_t>(3 * n));

  // Mean gradient of the four images, with the masks of the first step.
  training_settings const settings = page_settings();
  auto const store = std::make_shared<parameter_store<B>>(B{}, reduced);
  auto const run = make_plan(store, reduced, {.batch = count})->make_context();
  store->initialise(settings.seed, {.weights = settings.weights});
  store->refresh_stale();
  std::vector<std::int64_t> const indices{0, 1, 2, 3};
  tensor_view const input(pixels.data(), shape{count, 3, 8, 8}), target(labels.data(), shape{count});
  run->forward(
      {.inputs = {&input, 1}, .targets = {&target, 1}, .indices = indices, .seed = settings.seed, .step = 0});
  run->backward({.gradient_scale = 1.0 / count});

  for (int const workers : {1, 3}) {
    training_settings with = settings;
    with.workers = workers;
    training made = trainer<B>(reduced, with);
    dataset const data =
        arrays(std::span<float const>(pixels), shape{3, 8, 8}, std::span<std::int32_t const>(labels), 10);
    ASSERT_EQ(made.fit(data, {.batch = count, .epochs = 1, .shuffle = false}).steps, 1);

    auto const table = store->table();
    for (std::size_t p = 0; p < table.size(); p += 2) {  // weights and bias of a layer
      std::vector<double> const gradients[]{dense_of<double>(*store, p, run->gradients()),
                                            dense_of<double>(*store, p + 1, run->gradients())};
      double squares = 0;
      for (auto const& g : gradients)
        for (double const x : g) squares += x * x;
      ASSERT_GT(squares, 0) << table[p].name;
      for (std::size_t of : {p, p + 1}) {
        auto const before = dense_of<double>(*store, of, store->master());
        auto const after = dense_of<double>(made.parameters(), of, made.parameters().master());
        double const rate = (table[p].layer() == "dense_1" ? 1e-3 : 1e-2) * (of == p ? 1 : 2);
        for (std::size_t i = 0; i < before.size(); ++i) {
          double const w = before[i], sign = w > 0 ? 1 : w < 0 ? -1 : 0;
          double const g = gradients[of - p][i] / std::sqrt(squares) + (of == p ? 1e-4 * sign + 5e-4 * w : 0);
          // Adam's first m̂ is g, and its √v̂ is |g|. If g is nearly 0, its rounding determines the step.
          double const step = rate * g / (std::abs(g) + 1e-8);
          ASSERT_NEAR(w - after[i], step, std::abs(g) > 1e-6 ? 1e-9 : 1e-5)
              << table[of].name << '[' << i << ']';
        }
      }
    }
  }
}

}  // namespace cifar_settings_test
