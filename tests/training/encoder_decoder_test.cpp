// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// Training of attention between two masked sequences: the losses of PyTorch's nn.MultiheadAttention.
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/onednn.hpp>
#include <cohort/training/trainer.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../golden/golden_cases.hpp"

namespace encoder_decoder_test {

using namespace cohort;

constexpr int source_steps = 9, target_steps = 7, words = 11, units = 32, batch = 3;

constexpr auto translator = network<[](builder& net) {
  auto const to = [](int width, char const* name) { return dense{.units = width, .name = name}; };
  tensor s =
      net.masked_input({source_steps}) | embedding{.vocabulary = words, .width = units, .name = "source"};
  s = s + (s | to(3 * units, "packed") | attention{.heads = 4} | to(units, "encoded"));
  tensor const t =
      net.masked_input({target_steps}) | embedding{.vocabulary = words, .width = units, .name = "target"};
  return (t
          + (join(attention{.heads = 4}, t | to(units, "queries"), s | to(units, "keys"),
                  s | to(units, "values"))
             | to(units, "decoded")))
         | to(words, "head") | softmax_cross_entropy{};
}>();

/// Gives all parameters the values of golden/encoder_decoder.py.
template <class T>
void initialise(training& net) {
  parameter_set& all = net.parameters();
  std::size_t i = 0;
  for (char const* layer :
       {"source", "packed", "encoded", "target", "queries", "keys", "values", "decoded", "head"})
    for (std::size_t p = 0; p < all.table().size(); ++p) {
      if (all.table()[p].layer() != layer) continue;
      std::vector<T> values(static_cast<std::size_t>(all.table()[p].spec.dims.elements()));
      for (T& value : values) value = static_cast<T>(std::sin(1.1 * static_cast<double>(i++)) / 3);
      all.write(static_cast<int>(p), reinterpret_cast<std::byte const*>(values.data()), all.master());
    }
  all.mark_changed();
}

/// The sequences of a step of golden/encoder_decoder.py, with their masks.
struct sequence {
  std::vector<std::int32_t> tokens, labels;
  std::vector<std::uint8_t> mask;

  sequence(int step, int length, int factor, bool has_gaps) {
    for (int n = 0; n < batch; ++n) {
      int const existing = 1 + (2 * step + 3 * n) % length;
      for (int t = 0; t < length; ++t) {
        tokens.push_back((factor * step + 17 * n + 7 * t + t * t % 5) % words);
        labels.push_back((3 * tokens.back() + 1 + t) % words);
        mask.push_back(t < existing && !(has_gaps && existing > 3 && t == 1) ? 1 : 0);
      }
    }
  }
};

/// The losses of 20 steps of Adam.
template <class B>
std::vector<double> losses(training_settings settings) {
  settings.optimizer.rule = adam{.learning_rate = 3e-3};
  training net = trainer<B>(translator, settings);
  initialise<typename B::scalar>(net);
  std::vector<double> made;
  for (int step = 0; step < 20; ++step) {
    sequence const source(step, source_steps, 31, true), target(step, target_steps, 13, false);
    batch_view given;
    given.count = batch;
    given.inputs = {tensor_view(source.tokens.data(), {batch, source_steps}),
                    tensor_view(target.tokens.data(), {batch, target_steps})};
    given.targets = {tensor_view(target.labels.data(), {batch, target_steps})};
    given.masks = {tensor_view(source.mask.data(), {batch, source_steps}),
                   tensor_view(target.mask.data(), {batch, target_steps})};
    made.push_back(net.train_on(given).loss);
  }
  return made;
}

/// Compares the losses of the first steps.
void expect_golden(std::vector<double> const& got, std::size_t steps, double tolerance) {
  std::vector<double> const wanted =
      numbers_of(read_golden_cases("encoder_decoder.txt").at("adam"), "losses");
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t k = 0; k < steps; ++k) EXPECT_NEAR(got[k], wanted[k], tolerance) << "step " << k;
}

TEST(encoder_decoder, has_the_losses_of_pytorch) {
  expect_golden(losses<reference<double>>({}), 20, 1e-9);
  for (training_settings const& f32 : {training_settings{}, {.workers = 2}, {.threads = 2}})
    expect_golden(losses<onednn>(f32), 20, 1e-5);
  // 8 significant bits. Adam's first steps depend on the signs of gradients, so differences grow.
  if (onednn_bf16::probe().usable) expect_golden(losses<onednn_bf16>({}), 8, 0.03);
}

}  // namespace encoder_decoder_test
