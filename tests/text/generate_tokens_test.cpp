// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/prediction/stateful_predictions.hpp>
#include <cohort/text/generate_tokens.hpp>
#include <cohort/text/token_crops.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cohort/training/trainer.hpp>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace generate_tokens_test {

using namespace cohort;

constexpr auto next_letter = network<[](builder& net) {
  return net.input({6}) | embedding{.vocabulary = 4, .width = 6} | gru{.units = 12} | dense{.units = 4}
         | softmax_cross_entropy{};
}>();

/// A network trained on repetitions of "abcd".
training taught() {
  std::string text;
  for (int k = 0; k < 60; ++k) text += "abcd";
  tokenizer const letters = tokenizer::characters(text);
  training made = trainer<reference<float>>(next_letter, {.optimizer = {adam{.learning_rate = 0.02}}});
  made.fit(token_crops(token_stream(letters.encode(text)), {.length = 6, .vocabulary = 4}),
           {.batch = 8, .epochs = 30});
  return made;
}

TEST(generate_tokens, continues_the_text_that_the_network_was_trained_on) {
  training const net = taught();
  std::vector<std::int32_t> const prompt = {2};
  EXPECT_EQ(generate_tokens(net, prompt, {.count = 9, .rules = {.temperature = 0}}),
            (std::vector<std::int32_t>{3, 0, 1, 2, 3, 0, 1, 2, 3}));
  std::vector<std::int32_t> const longer = {1, 1, 1, 1, 1, 1, 1, 0, 1, 2, 3};  // reads the last six
  EXPECT_EQ(generate_tokens(net, longer, {.count = 3, .rules = {.temperature = 0}}),
            (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(generate_tokens(net, prompt, {.count = 0}), std::vector<std::int32_t>{});
}

TEST(generate_tokens, continues_a_stateful_stream) {
  training const net = taught();
  std::vector<std::int32_t> const prompt = {0, 1, 2}, more = {3};
  stateful_predictions stream(net);
  EXPECT_EQ(generate_tokens(stream, prompt, {.count = 9, .rules = {.temperature = 0}}),
            (std::vector<std::int32_t>{3, 0, 1, 2, 3, 0, 1, 2, 3}));
  stateful_predictions other(net);  // has read the same tokens
  std::vector<std::int32_t> const read = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  other.advance(tensor_view{read.data(), {1, 12}});
  EXPECT_EQ(stream.advance(tensor_view{more.data(), {1, 1}}).values,
            other.advance(tensor_view{more.data(), {1, 1}}).values);
}

/// Up to the length of the network's window, a stream draws the same tokens as the window.
TEST(generate_tokens, draws_the_same_tokens_from_a_stream_and_from_a_window) {
  training const net = trainer<reference<float>>(next_letter);
  std::vector<std::int32_t> const prompt = {2, 0};
  stateful_predictions stream(net);
  EXPECT_EQ(generate_tokens(stream, prompt, {.count = 4}), generate_tokens(net, prompt, {.count = 4}));
  stateful_predictions two(net, 2);
  EXPECT_EQ(refusal_of<setting_error>([&] { (void)generate_tokens(two, prompt); }),
            "the stream of generate_tokens has several sequences (stateful_predictions): expected 1, got 2");
  EXPECT_EQ(refusal_of<setting_error>([&] { (void)generate_tokens(stream, {}); }),
            "the prompt of generate_tokens is empty: expected at least one token, got none");
}

TEST(generate_tokens, draws_the_same_tokens_with_the_same_seed) {
  training const net = trainer<reference<float>>(next_letter);
  std::vector<std::int32_t> const prompt = {2};
  auto const drawn = [&](std::uint64_t seed) {
    return generate_tokens(net, prompt, {.count = 40, .seed = seed});
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

TEST(generate_tokens, refuses_networks_and_prompts_that_do_not_fit) {
  training const net = trainer<reference<float>>(next_letter);
  std::vector<std::int32_t> const prompt = {2}, wrong = {4};
  EXPECT_EQ(refusal_of<setting_error>([&] { (void)generate_tokens(net, {}); }),
            "the prompt of generate_tokens is empty: expected at least one token, got none");
  EXPECT_EQ(refusal_of<setting_error>([&] { (void)generate_tokens(net, prompt, {.count = -1}); }),
            "invalid setting of generate_tokens (count): expected at least 0, got -1");
  EXPECT_EQ(refusal_of<data_error>([&] { (void)generate_tokens(net, wrong, {.count = 1}); }),
            "an index is not in the vocabulary (example 0 of the batch, index 0): expected an integer from 0 "
            "to 3, got 4");
  training const image = trainer<reference<float>>(network<[](builder& b) {
    return b.input({3, 4}) | flatten{} | dense{.units = 2} | softmax_cross_entropy{};
  }>());
  EXPECT_EQ(
      refusal_of<setting_error>([&] { (void)generate_tokens(image, prompt); }),
      "generate_tokens cannot use this network (input): expected one input of T token indices, got 3x4");
  training const one = trainer<reference<float>>(network<[](builder& b) {
    return b.input({6}) | embedding{.vocabulary = 4, .width = 2} | flatten{} | dense{.units = 4}
           | softmax_cross_entropy{};
  }>());
  EXPECT_EQ(
      refusal_of<setting_error>([&] { (void)generate_tokens(one, prompt); }),
      "generate_tokens cannot use this network (output): expected probabilities at each of 6 steps: 6 x V, "
      "got 4");
}

}  // namespace generate_tokens_test
