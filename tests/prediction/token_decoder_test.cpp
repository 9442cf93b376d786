// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/rms_norm.hpp>
#include <cohort/prediction/detail/decoder_passes.hpp>
#include <cohort/prediction/token_decoder.hpp>
#include <cohort/text/generate_tokens.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace token_decoder_test {

using namespace cohort;

constexpr int window = 13, words = 9;

/// Heads of 5 columns, so that no row is a whole number of SIMD vectors.
graph transformer(bool rotates) {
  return graph::build([&](builder& net) {
    tensor x = net.input({window}) | embedding{.vocabulary = words, .width = 15, .name = "words"};
    x = rotates ? x | sinusoidal_positions{} : x | learned_positions{};
    int const columns = rotates ? 18 : 15;  // rotation needs pairs of columns
    for (int block = 0; block < 2; ++block) {
      x = x
          + (x | layer_norm{} | dense{.units = 3 * columns}
             | attention{.heads = 3, .causal = true, .rotary = rotates ? 100.0 : 0} | dense{.units = 15});
      x = x + (x | rms_norm{} | dense{.units = 33} | gelu_tanh{} | dropout{.rate = 0.5} | dense{.units = 15});
    }
    return x | dense{.units = 7} | relu{} | leaky_relu{} | dense{.units = words} | softmax_cross_entropy{};
  });
}

training made_of(graph const& net, int workers = 1) {
  return trainer<reference<float>>(net, {.weights = init::normal{.deviation = 0.4}, .workers = workers});
}

std::vector<std::int32_t> some_tokens(int count) {
  std::vector<std::int32_t> made;
  for (int k = 0; k < count; ++k) made.push_back((5 * k + k * k) % words);
  return made;
}

TEST(token_decoder, agrees_with_the_predictions_of_the_network) {
  for (bool const rotates : {false, true})
    for (int const workers : {1, 3}) {
      training const net = made_of(transformer(rotates), workers);
      std::vector<std::int32_t> const tokens = some_tokens(window);
      predictions const whole = net.predict(tensor_view{tokens.data(), shape(1, window)});
      token_decoder decoder(net);
      EXPECT_EQ(decoder.window(), window);
      for (std::vector<int> const& pieces : {std::vector{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                                             std::vector{4, 1, 8}, std::vector{13}, std::vector{6, 7}}) {
        decoder.reset();
        int read = 0;
        for (int const piece : pieces) {
          std::span<float const> const made = decoder.advance(
              std::span(tokens).subspan(static_cast<std::size_t>(read), static_cast<std::size_t>(piece)));
          read += piece;
          EXPECT_EQ(decoder.steps(), read);
          ASSERT_EQ(made.size(), static_cast<std::size_t>(words));
          for (int word = 0; word < words; ++word)
            ASSERT_NEAR(made[static_cast<std::size_t>(word)],
                        whole.values[static_cast<std::size_t>((read - 1) * words + word)], 2e-6)
                << read << ' ' << word;
        }
      }
    }
}

TEST(token_decoder, reads_changed_parameters_after_reset) {
  training net = made_of(transformer(false));
  token_decoder decoder(net);
  std::vector<std::int32_t> const tokens = some_tokens(window);
  auto const read = [&] {
    std::span<float const> const made = decoder.advance(tokens);
    return std::vector<float>(made.begin(), made.end());
  };
  std::vector<float> const before = read();
  decoder.reset();
  EXPECT_EQ(read(), before);
  net.train_on({tensor_view{tokens.data(), shape(1, window)}, tensor_view{tokens.data(), shape(1, window)}});
  decoder.reset();
  std::vector<float> const after = read();
  EXPECT_NE(after, before);
  predictions const whole = net.predict(tensor_view{tokens.data(), shape(1, window)});
  for (std::size_t word = 0; word < words; ++word)
    EXPECT_NEAR(after[word], whole.values[(window - 1) * words + word], 2e-6);
}

TEST(token_decoder, agrees_with_plain_sums_on_every_instruction_set) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  auto const drawn = [&](std::size_t count) {
    std::vector<float> made(count);
    for (float& one : made) one = normal(random);
    return made;
  };
  for (std::size_t const inputs : {1U, 15U, 16U, 70U}) {
    constexpr std::size_t rows = 6, units = 11;
    std::vector<float> const x = drawn(rows * inputs), weights = drawn(units * inputs), bias = drawn(units);
    std::vector<float> const keys = drawn(rows * inputs), values = drawn(rows * inputs);
    std::vector<std::vector<float>> results;
    for (isa const which : {isa::baseline, isa::avx2, isa::avx512}) {
      if (which > machine_isa()) continue;
      detail::decoder_passes const passes = detail::decoder_passes_for(which);
      std::vector<float> y(rows * units), scores(rows), read(inputs);
      passes.multiply({rows, inputs, units, x.data(), weights.data(), bias.data(), y.data()}, 0, 3);
      passes.multiply({rows, inputs, units, x.data(), weights.data(), bias.data(), y.data()}, 3, units);
      passes.attend({rows, inputs, 0.5F, x.data(), keys.data(), values.data(), scores.data(), read.data()});
      y.insert(y.end(), read.begin(), read.end());
      results.push_back(y);
    }
    for (std::size_t n = 0; n < units; ++n) {
      double sum = static_cast<double>(bias[n]);
      for (std::size_t k = 0; k < inputs; ++k)
        sum += static_cast<double>(x[k]) * static_cast<double>(weights[n * inputs + k]);
      EXPECT_NEAR(results[0][n], sum, 1e-4);
    }
    for (auto const& one : results)
      for (std::size_t i = 0; i < one.size(); ++i)
        EXPECT_NEAR(one[i], results[0][i], 1e-4) << inputs << ' ' << i;
  }
}

/// A user-defined layer whose member in_place declares that it computes each element separately.
struct doubling {
  static constexpr std::string_view kind_name = "doubling";
  static constexpr bool in_place = true;

  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_input(); ++i) a.output[i] = 2 * a.inputs[0][i];
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < a.elements_of_input(); ++i) a.diff_inputs[0][i] = 2 * a.diff_output[i];
  }
};

TEST(token_decoder, supports_every_layer_that_computes_each_step_separately) {
  using body = tensor (*)(tensor x);
  std::vector<body> const bodies{
      [](tensor x) { return concat(x, x | dense{.units = 3}, x | relu{}); },
      [](tensor x) { return x | subset{.first = 1, .last = 5}; },
      [](tensor x) { return x + (x | relu{}) + (x | dense{.units = 6}); },
      [](tensor x) { return join(multiply{}, x, x | leaky_relu{}); },
      [](tensor x) { return join(average{}, x, x | dense{.units = 6}); },
      [](tensor x) { return join(maximum{}, x, x | dense{.units = 6}); },
      [](tensor x) { return x | softmax{}; },
      [](tensor x) { return x | cohort::scale{.factor = 2, .learned = true}; },
      [](tensor x) { return x | prelu{}; },
      [](tensor x) { return x | batch_norm{}; },
      [](tensor x) { return x | synchronised_batch_norm{}; },
      [](tensor x) { return x | layer_norm{}; },
      [](tensor x) { return x | rms_norm{}; },
      [](tensor x) { return x | dropout{} | spatial_dropout{} | gaussian_noise{}; },
      [](tensor x) { return x | relu6{} | elu{}; },
      [](tensor x) { return x | selu{} | sigmoid{}; },
      [](tensor x) { return x | hard_sigmoid{} | tanh_activation{}; },
      [](tensor x) { return x | hard_tanh{} | softplus{}; },
      [](tensor x) { return x | softsign{} | swish{}; },
      [](tensor x) { return x | gelu{} | gelu_tanh{}; },
      [](tensor x) { return x | mish{} | identity_activation{}; },
      [](tensor x) { return x | doubling{}; },
  };
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    SCOPED_TRACE(i);
    graph const described = graph::build([&](builder& b) {
      tensor const x = b.input({5}) | embedding{.vocabulary = words, .width = 6};
      return bodies[i](x) | dense{.units = words} | softmax_cross_entropy{};
    });
    training const net = made_of(described);
    std::vector<std::int32_t> const tokens = some_tokens(5);
    predictions const whole = net.predict(tensor_view{tokens.data(), shape(1, 5)});
    token_decoder decoder(net);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      std::span<float const> const made = decoder.advance(std::span(tokens).subspan(t, 1));
      for (std::size_t w = 0; w < made.size(); ++w)
        ASSERT_NEAR(made[w], whole.values[t * words + w], 1e-6) << t << ' ' << w;
    }
  }
}

TEST(token_decoder, generates_the_same_tokens_as_without_a_cache) {
  training const net = made_of(transformer(false));
  std::vector<std::int32_t> const prompt = some_tokens(4);
  for (sampling const& rules : {sampling{.temperature = 0}, sampling{.temperature = 0.7},
                                sampling{.top_k = 3}, sampling{.top_p = 0.8}})
    for (std::uint64_t const seed : {1U, 2U}) {
      generation_settings how{.count = 30, .rules = rules, .seed = seed};  // beyond the window, too
      std::vector<std::int32_t> const cached = generate_tokens(net, prompt, how);
      how.cached = false;
      EXPECT_EQ(generate_tokens(net, prompt, how), cached);
    }
}

TEST(token_decoder, reports_unsupported_layers_and_inputs) {
  auto const refused = [](graph const& net) {
    training const made = trainer<reference<float>>(net);
    return refusal_of<setting_error>([&] { (void)token_decoder(made); });
  };
  std::string const expected =
      "token_decoder cannot run this network step by step: expected one input of T token indices, causal "
      "attention, and layers that process each step separately, got ";
  EXPECT_EQ(refused(graph::build([](builder& b) {
              return b.input({6}) | embedding{.vocabulary = 4, .width = 6} | gru{.units = 12}
                     | dense{.units = 4} | softmax_cross_entropy{};
            })),
            expected + "gru_1, a layer that reads several steps, or a user-defined layer");
  EXPECT_EQ(refused(graph::build([](builder& b) {
              return b.input({6}) | embedding{.vocabulary = 4, .width = 6}
                     | attention{.heads = 1, .name = "both"} | softmax_cross_entropy{};
            })),
            expected + "both, attention that is not causal");
  EXPECT_EQ(refused(graph::build([](builder& b) {
              return b.input({6}) | embedding{.vocabulary = 4, .width = 6} | layer_norm{.axes = 2}
                     | softmax_cross_entropy{};
            })),
            expected + "layer_norm_1, a layer that reads several steps, or a user-defined layer");
  EXPECT_EQ(refused(graph::build([](builder& b) {
              return b.input({3, 4}) | dense{.units = 2} | softmax_cross_entropy{};
            })),
            expected + "an input 3x4");
}

TEST(token_decoder, refuses_calls_beyond_the_window) {
  training const net = made_of(transformer(false));
  token_decoder decoder(net);
  std::vector<std::int32_t> const tokens = some_tokens(window);
  decoder.advance(std::span(tokens).first(10));
  EXPECT_EQ(refusal_of<setting_error>([&] { decoder.advance(std::span(tokens).first(4)); }),
            "token_decoder::advance exceeds the network's steps (after 10 steps): expected at most 3 tokens, "
            "got 4");
  EXPECT_EQ(refusal_of<setting_error>([&] { decoder.advance({}); }),
            "token_decoder::advance got no tokens: expected at least one token, got none");
  std::vector<std::int32_t> const wrong = {words};
  EXPECT_EQ(
      refusal_of<data_error>([&] { decoder.advance(wrong); }),
      "an index is not in the vocabulary (example 0 of the batch, index 0): expected an integer from 0 to "
      "8, got 9");
  EXPECT_EQ(decoder.steps(), 10);
}

}  // namespace token_decoder_test
