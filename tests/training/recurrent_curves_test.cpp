// SPDX-License-Identifier: Apache-2.0
// label: slow
// uses: onednn
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/layer/recurrent.hpp>
#if __has_include(<cohort/onednn.hpp>)
#include <cohort/onednn.hpp>
#endif

#include "../golden/golden_cases.hpp"
#include "../plan/trial.hpp"
#include "golden_curves.hpp"

namespace recurrent_curves_test {

using namespace cohort;
using golden_curves::drawn, golden_curves::hashed, golden_curves::expect_curve;

#if __has_include(<cohort/onednn.hpp>)
using fast = onednn;
#else
using fast = reference<float>;
#endif

/// One network of golden/recurrent_curves.py or golden/keras_recurrent.py, and its data. `words`: number of
/// different words of a text; 0: the data are series of numbers. `first`: index of the first parameter's
/// tensor.
struct curve {
  graph net;
  training_settings settings;
  int length;
  int columns = 1;
  int classes = 0;
  int words = 0;
  bool masked = false;
  std::uint32_t first = 2;
};

graph characters(auto const& cell) {
  return graph::build([&](builder& b) {
    return b.input({12}) | embedding{.vocabulary = 11, .width = 8} | cell | cell | dense{.units = 11}
           | softmax_cross_entropy{};
  });
}
training_settings with_adam(adam const& how) {
  return {.optimizer = {.rule = how, .normalisation = normalise::clip_global_norm{1}}};
}

curve uci() {
  return {.net = graph::build([](builder& b) {
            return b.input({20, 1}) | lstm{.units = 12, .last_step = true} | dense{.units = 6}
                   | softmax_cross_entropy{};
          }),
          .settings = with_adam({.learning_rate = 5e-3}),
          .length = 20,
          .classes = 6};
}
curve text(graph net) {
  return {.net = std::move(net),
          .settings = with_adam({.learning_rate = 2e-3, .beta2 = 0.99}),
          .length = 12,
          .classes = 11,
          .words = 11};
}
curve vowels() {
  return {.net = graph::build([](builder& b) {
            tensor const x = b.masked_input({29, 12});
            return concat(x | lstm{.units = 6, .last_step = true},
                          x | lstm{.units = 6, .last_step = true, .reverse = true})
                   | dense{.units = 9} | softmax_cross_entropy{};
          }),
          .settings = with_adam({.learning_rate = 5e-3, .epsilon = 1e-30}),
          .length = 29,
          .columns = 12,
          .classes = 9,
          .masked = true,
          .first = 3};
}

template <class T>
void draw_parameters(parameter_set& all, std::uint32_t number) {
  for (int p = 0; p < static_cast<int>(all.table().size()); ++p, ++number) {
    shape const& dims = all.table()[static_cast<std::size_t>(p)].spec.dims;
    double const scale = dims.rank > 1 ? 2 / std::floor(std::sqrt(dims[1])) : 1.0 / 8;
    std::vector<T> values(static_cast<std::size_t>(dims.elements()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(drawn(number, i) * scale);
    all.write(p, reinterpret_cast<std::byte const*>(values.data()), all.master());
  }
  all.mark_changed();
}

/// Losses of the first steps, on 5 batches in turn.
template <class B>
std::vector<double> losses_of(curve const& what, int steps) {
  constexpr int batch = golden_curves::batch_size, batches = golden_curves::batches;
  int const all = batches * batch;
  auto const elements = static_cast<std::size_t>(all * what.length * what.columns);
  std::vector<float> series(elements);
  std::vector<std::int32_t> indices(elements), labels;
  std::vector<std::uint8_t> masks(static_cast<std::size_t>(all * what.length), 1);
  for (std::size_t i = 0; i < masks.size() && what.masked; ++i) {
    auto const length = static_cast<std::size_t>(what.length);
    masks[i] = i % length < 7 + hashed(2, i / length) % 23;
  }
  for (std::size_t i = 0; i < elements; ++i) {
    bool const exists = masks[i / static_cast<std::size_t>(what.columns)] != 0;
    series[i] = exists ? static_cast<float>(drawn(0, i) * 4) : 0;
    if (what.words > 0)
      indices[i] = static_cast<std::int32_t>(hashed(0, i) % static_cast<std::uint32_t>(what.words));
  }
  int const targets = what.words > 0 ? what.length : 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(all * targets); ++i)
    labels.push_back(static_cast<std::int32_t>(hashed(1, i) % static_cast<std::uint32_t>(what.classes)));
  training run = trainer<B>(what.net, what.settings);
  draw_parameters<typename B::scalar>(run.parameters(), what.first);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    auto const first = static_cast<std::size_t>(step % batches * batch);
    auto const length = static_cast<std::size_t>(what.length),
               columns = static_cast<std::size_t>(what.columns);
    batch_view now;
    now.count = batch;
    if (what.words > 0) {
      now.inputs = {tensor_view(indices.data() + first * length, {batch, what.length})};
      now.targets = {tensor_view(labels.data() + first * length, {batch, what.length})};
    } else {
      now.inputs = {
          tensor_view(series.data() + first * length * columns, {batch, what.length, what.columns})};
      now.targets = {tensor_view(labels.data() + first, shape(batch))};
    }
    if (what.masked) now.masks = {tensor_view(masks.data() + first * length, {batch, what.length})};
    losses.push_back(run.train_on(now).loss);
  }
  return losses;
}

template <class B>
void expect_all(int steps, double tolerance, double of_keras) {
  auto const expect = [&](curve const& what, std::vector<double> const& wanted, char const* name) {
    std::vector<double> const got = losses_of<B>(what, steps);
    ASSERT_GE(wanted.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], wanted[i], what.masked ? of_keras : tolerance) << name << ", step " << i;
  };
  expect(uci(), golden_curves::golden("uci", "recurrent_curves.txt"), "uci");
  expect(text(characters(lstm{.units = 8})), golden_curves::golden("char_lstm", "recurrent_curves.txt"),
         "char_lstm");
  expect(text(characters(gru{.units = 8})), golden_curves::golden("char_gru", "recurrent_curves.txt"),
         "char_gru");
  expect(vowels(), numbers_of(read_golden_cases("keras_recurrent.txt").at("vowels"), "losses"), "vowels");
}

TEST(recurrent_curves, in_double_equal_the_curves_of_pytorch_and_keras) {
  expect_all<reference<double>>(20, 1e-9, 2e-8);  // Keras has about 8 digits
}
TEST(recurrent_curves, in_single_precision_approximate_the_curves_of_pytorch_and_keras) {
  expect_all<fast>(20, 1e-4, 1e-4);
}

/// Embedding, convolution, LSTM and dense on sequences of indices.
graph tagger(bool masked) {
  return graph::build([=](builder& b) {
    return (masked ? b.masked_input({6}) : b.input({6})) | embedding{.vocabulary = 7, .width = 4}
           | conv1d{.filters = 5, .kernel = 3, .padding = padding::same} | relu{} | lstm{.units = 3}
           | dense{.units = 3} | softmax_cross_entropy{};
  });
}

template <class B>
void compare_tagger(std::string const& name, bool masked, double tolerance) {
  SCOPED_TRACE(name);
  golden_case const wanted = read_golden_cases("keras_recurrent.txt").at(name);
  graph const net = tagger(masked);
  int const batch = static_cast<int>(numbers_of(wanted, "batch").at(0));
  trial<B> trained(net, {.batch = batch});
  using T = typename B::scalar;
  for (int p = 0; p < trained.parameters(); ++p) {
    std::vector<double> const& values = numbers_of(wanted, "parameter " + trained.parameter(p).name);
    std::vector<T> const narrow(values.begin(), values.end());
    trained.store->write(p, reinterpret_cast<std::byte const*>(narrow.data()), trained.store->master());
  }
  trained.store->mark_changed();
  trained.store->refresh_stale();
  std::ranges::copy(numbers_of(wanted, "input"), trained.batch.inputs[0].begin());
  std::ranges::copy(numbers_of(wanted, "target"), trained.batch.indices[0].begin());
  if (masked) std::ranges::copy(numbers_of(wanted, "mask"), trained.batch.masks.front().begin());
  trained.batch.divisor = detail::loss_divisor(net).of(trained.batch.input_views, trained.batch.mask_views,
                                                       trained.batch.target_views, {}, batch);
  EXPECT_NEAR(trained.step(), numbers_of(wanted, "loss").at(0), tolerance);
  for (int p = 0; p < trained.parameters(); ++p) {
    std::string const parameter = trained.parameter(p).name;
    auto const got = trained.gradient(p);
    std::vector<double> const& expected = numbers_of(wanted, "gradient " + parameter);
    ASSERT_EQ(got.size(), expected.size()) << parameter;
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], expected[i], tolerance) << parameter << ' ' << i;
  }
}

TEST(recurrent_curves, embedding_convolution_lstm_and_dense_agree_with_keras) {
  for (bool const masked : {false, true}) {
    std::string const name = masked ? "masked_tagger" : "tagger";
    compare_tagger<reference<double>>(name, masked, 1e-8);  // Keras has about 8 digits
    compare_tagger<fast>(name, masked, 1e-6);
  }
}

}  // namespace recurrent_curves_test
