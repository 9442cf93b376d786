// SPDX-License-Identifier: Apache-2.0
// covers: layer/mask_rule layer/step_mask layer/zero_masked layer/input
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/layer/attention.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "../data/refused.hpp"
#include "../plan/trial.hpp"

namespace mask_test {

using namespace cohort;
using B = reference<double>;

constexpr auto tagger = network<[](builder& b) {
  return b.masked_input({9, 3}) | conv1d{.filters = 4, .kernel = 3, .padding = padding::same} | relu{}
         | conv1d{.filters = 4, .kernel = 2, .padding = padding::same} | dense{.units = 5}
         | softmax_cross_entropy{};
}>();
static_assert(tagger.view()[0].mask == 0, "a mask begins at a masked input");
static_assert(tagger.view().kind(1) == kind_of<zero_masked> && tagger.view()[1].mask == 0,
              "a convolution reads padding, which becomes 0");
static_assert(tagger.view().kind(4) == kind_of<zero_masked> && tagger.view().size() == 8);
static_assert(tagger.view()[6].mask == 0 && tagger.view()[7].mask == -1, "it ends at the loss");
static_assert(tagger.view().masks() == std::vector{0} && tagger.view().averaged_mask(7) == 0);

constexpr auto words = network<[](builder& b) {
  return b.input({9}) | embedding{.vocabulary = 5, .width = 2, .mask_zero = true} | global_max_pool{}
         | dense{.units = 2} | softmax_cross_entropy{};
}>();
static_assert(words.view()[0].mask == -1 && words.view()[1].mask == 1 && words.view()[2].mask == -1);
static_assert(words.view().averaged_mask(4) == -1, "a loss after a pool is a mean over examples");

constexpr auto plain = network<[](builder& b) {
  return b.input({9, 3}) | conv1d{.filters = 4, .kernel = 3} | flatten{} | dense{.units = 5}
         | softmax_cross_entropy{};
}>();
static_assert(plain.view().size() == 5 && plain.view().masks().empty(), "no masks, no further layers");

/// A user's layer whose rule depends on a field, and which counts the steps of each example.
struct counting {
  static constexpr std::string_view kind_name = "counting";
  static constexpr bool reads_mask = true;

  bool strict = false;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"strict", &counting::strict}}; }
  constexpr inference infer(std::span<shape const>) const { return shape{2}; }
  constexpr mask_rule masks(std::span<shape const>) const {
    if (strict) return "a strict counting layer accepts no mask";
    return mask_use::ends;
  }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    step_mask const& mask = *a.mask;
    for (int n = 0; n < a.batch; ++n) {
      a.output[2 * n] = static_cast<T>(mask.counts[n]);
      a.output[2 * n + 1] = static_cast<T>(mask.has_gaps ? -mask.lengths[n] : mask.lengths[n]);
    }
  }
  template <class T>
  void backward(host_arguments<T> const&) const {}
};

TEST(mask, is_passed_to_user_defined_layers) {
  graph const net = graph::build([](builder& b) { return b.masked_input({3, 1}) | counting{}; });
  trial<B> t(net, {.batch = 2, .training = false});
  std::uint8_t const gaps[]{1, 0, 1, 0, 0, 0}, none[]{1, 1, 0, 1, 1, 1};
  tensor_view mask{gaps, shape{2, 3}};
  t.run->forward({.inputs = t.batch.input_views, .masks = {&mask, 1}});
  EXPECT_EQ(t.output(), (std::vector<double>{2, -3, 0, 0}));
  mask = {none, shape{2, 3}};
  t.run->forward({.inputs = t.batch.input_views, .masks = {&mask, 1}});
  EXPECT_EQ(t.output(), (std::vector<double>{2, 2, 3, 3}));
  expect_parts(refused<graph_error>([] {
                 graph::build([](builder& b) { return b.masked_input({3, 1}) | counting{.strict = true}; });
               }),
               {"counting: a strict counting layer accepts no mask (input 3x1)"});
}

template <class F>
std::string refusal(F describe) {
  return refused<graph_error>([&] { graph::build(describe); });
}

TEST(mask, is_refused_by_layers_that_would_mix_padding_with_steps) {
  auto const text = [](auto layer, shape const& extents = {6, 2}) {
    return refusal([=](builder& b) { b.masked_input(extents) | layer; });
  };
  expect_parts(text(reshape{.extents = {12}}),
               {"reshape: this layer does not accept a masked sequence (input 6x2)"});
  expect_parts(
      text(conv1d{.filters = 2, .kernel = 3}),
      {"conv1d: a convolution of a masked sequence must keep its steps: stride 1 and padding::same"});
  expect_parts(text(conv1d{.filters = 2, .kernel = 3, .stride = 2, .padding = padding::same}),
               {"stride 1 and padding::same (input 6x2)"});
  expect_parts(text(layer_norm{.axes = 2}),
               {"layer normalisation over several axes mixes the steps of a masked sequence"});
  expect_parts(
      text(relu{}, {6}),
      {"relu: a masked input T contains indices, for an embedding: values need the shape TxC (input 6)"});
  expect_parts(text(relu{}, {6, 2, 2}),
               {"a masked input is a sequence: T or TxC, with T steps (input 6x2x2)"});
  expect_parts(text(embedding{.vocabulary = 3, .width = 2, .mask_zero = true}, {6}),
               {"a mask begins at this layer, but its input already has one"});
  expect_parts(refusal([](builder& b) {
                 b.input({6}) | relu{} | embedding{.vocabulary = 3, .width = 2, .mask_zero = true};
               }),
               {"a mask begins at this layer, but it does not read an input of the network (input 6)"});
}

TEST(mask, of_a_join_is_refused_if_the_inputs_have_different_masks) {
  graph const net = graph::build([](builder& b) {
    tensor const x = b.masked_input({6, 2}), y = b.input({6, 2});
    return (x + y) | mean_squared_error{};
  });
  EXPECT_EQ(net.view()[2].mask, 0);
  expect_parts(refusal([](builder& b) {
                 tensor const x = b.masked_input({6, 2}), y = b.masked_input({6, 2});
                 x + y;
               }),
               {"add: the inputs of this layer have different masks (mask of layer 0, mask of layer 1)"});
  expect_parts(refusal([](builder& b) {
                 b.masked_input({1, 2}) + b.input({6, 2});
               }),
               {"a layer that passes a mask must keep the number of steps (input 1x2, output 6x2)"});
}

TEST(mask, of_attention_is_the_mask_of_the_queries) {
  auto const attend = [](tensor q, tensor k, tensor v) { return join(attention{.heads = 1}, q, k, v); };
  graph const net = graph::build([&](builder& b) {
    tensor const x = b.masked_input({6, 2}), y = b.masked_input({4, 2}), z = b.input({6, 2}),
                 w = b.input({4, 2});
    return std::tuple{attend(x, y, y), attend(z, y, w), attend(x, w, w), attend(x, z, x)};
  });
  graph_view const v = net;
  struct row {
    int output, kernels;  // inputs whose masks the output has, and the kernels get
  };
  row const expected[]{{0, 1}, {-1, 1}, {0, -1}, {0, 0}};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(v[4 + i].mask, expected[i].output) << i;
    EXPECT_EQ(v.input_mask(4 + i), expected[i].kernels) << i;
  }
  expect_parts(
      refusal([&](builder& b) {
        tensor const q = b.input({6, 2}), k = b.masked_input({6, 2}), v_masked = b.masked_input({6, 2});
        attend(q, k, v_masked);
      }),
      {"attention: the inputs of this layer have different masks (mask of layer 1, mask of layer 2)"});
}

TEST(mask, requires_all_losses_to_be_means_over_steps_or_all_over_examples) {
  auto const two = [](bool sum) {
    return [=](builder& b) {
      tensor const x = b.masked_input({6, 2});
      return std::tuple{x | dense{.units = 3} | softmax_cross_entropy{.sum_steps = sum},
                        x | global_avg_pool{} | dense{.units = 3} | softmax_cross_entropy{}};
    };
  };
  expect_parts(
      refusal(two(false)),
      {"softmax_cross_entropy: all losses must be means over the same steps, or all over examples: set "
       "sum_steps for losses of masked sequences (input 3, first loss 6x3)"});
  EXPECT_EQ(graph::build(two(true)).view().masks().size(), 1U);
  expect_parts(refusal([](builder& b) { b.input({6}) | mean_squared_error{.sum_steps = true}; }),
               {"sum_steps needs the steps of a sequence: an input TxC, with T steps (input 6)"});
}

/// Loss and gradients of a network on given examples.
struct result {
  double loss;
  std::vector<double> gradients;
};

/// Runs a network on examples padded with `padding` to its number of steps. The batch has a mask, unless a
/// padded_input marks padding by this value.
///
/// `examples`  a row of numbers per step; targets are class 1 at each step, or a row of ones
result run(graph const& net, std::vector<std::vector<double>> const& examples, double padding) {
  graph_view const v = net;
  shape const dims = v[v.with_role(layer_role::input)[0]].output;
  int const batch = static_cast<int>(examples.size()), length = dims[0], width = dims.rank == 2 ? dims[1] : 1;
  trial<B> t(net, {.batch = batch});
  auto& x = t.batch.inputs[0];
  std::vector<std::uint8_t> mask;
  std::fill(x.begin(), x.end(), padding);
  for (int n = 0; n < batch; ++n) {
    std::vector<double> const& row = examples[static_cast<std::size_t>(n)];
    std::copy(row.begin(), row.end(), x.begin() + n * length * width);
    for (int i = 0; i < length; ++i) mask.push_back(i < static_cast<int>(row.size()) / width ? 1 : 0);
  }
  for (auto& labels : t.batch.indices) std::fill(labels.begin(), labels.end(), 1);
  for (auto& numbers : t.batch.targets) std::fill(numbers.begin(), numbers.end(), 1.0);
  bool const is_marked =
      v.kind(0) == kind_of<padded_input> && detail::decode<padded_input>(v.fields(0)).value == padding;
  if (is_marked) {
    t.batch.mask_views.clear();
  } else if (!t.batch.mask_views.empty()) {
    t.batch.masks.front() = mask;
    t.batch.mask_views[0].data = reinterpret_cast<std::byte const*>(t.batch.masks.front().data());
  }
  t.batch.divisor =
      detail::loss_divisor(v).of(t.batch.input_views, t.batch.mask_views, t.batch.target_views, {}, batch);
  double const mean = t.step();
  return {mean, t.all_gradients()};
}

/// The networks whose padding must have no effect. `length`: length of the input. If `masked` is false, the
/// input has no mask.
using described = tensor (*)(tensor);
tensor start(builder& b, int length, bool masked) {
  return masked ? b.masked_input({length, 2}) : b.input({length, 2});
}
constexpr described bodies[]{
    [](tensor x) {
      return x | dense{.units = 3} | tanh_activation{}
             | conv1d{.filters = 4, .kernel = 3, .padding = padding::same} | relu{}
             | conv1d{.filters = 3, .kernel = 2, .padding = padding::same} | softmax_cross_entropy{};
    },
    [](tensor x) {
      return x | dense{.units = 3} | batch_norm{} | softplus{} | synchronised_batch_norm{}
             | mean_squared_error{};
    },
    [](tensor x) {
      tensor const y =
          x | dense{.units = 3} | layer_norm{} | sigmoid{} | prelu{} | dropout{} | spatial_dropout{};
      return concat(y | global_avg_pool{}, y | global_max_pool{}) | dense{.units = 2}
             | softmax_cross_entropy{};
    },
    [](tensor x) {
      return x | dense{.units = 3} | cohort::scale{.factor = 1, .learned = true} | softmax{}
             | binary_cross_entropy{.sum_steps = true};
    },
    [](tensor x) { return x | dense{.units = 3} | softsign{} | kullback_leibler{.sum_steps = true}; },
    [](tensor x) { return x | dense{.units = 3} | huber{}; },
    [](tensor x) { return x | dense{.units = 3} | mean_absolute_error{}; },
    [](tensor x) { return x | dense{.units = 3} | hinge{}; },
};

TEST(mask, excludes_padding_from_loss_and_gradients) {
  std::vector<std::vector<double>> const examples{{0.5, -1, 2, 0.25}, {1, 0.5, -0.75, 3, 0.1, -0.2}, {-1, 2}};
  for (std::size_t i = 0; i < std::size(bodies); ++i) {
    SCOPED_TRACE(i);
    auto const of_length = [&](int length) {
      return graph::build([&](builder& b) { return bodies[i](start(b, length, true)); });
    };
    result const shortest = run(of_length(3), examples, 0), longer = run(of_length(8), examples, 0),
                 dirty = run(of_length(8), examples, 1e3);
    EXPECT_EQ(longer.loss, dirty.loss) << "the same bits with other numbers in the padding";
    EXPECT_EQ(longer.gradients, dirty.gradients);
    EXPECT_NEAR(shortest.loss, longer.loss, 1e-14);
    ASSERT_EQ(shortest.gradients.size(), longer.gradients.size());
    for (std::size_t g = 0; g < longer.gradients.size(); ++g)
      EXPECT_NEAR(shortest.gradients[g], longer.gradients[g], 1e-14) << g;
  }
}

TEST(padded_input, masks_the_steps_with_the_padding_value) {
  std::vector<std::vector<double>> const examples{{0.5, -1, 2, 0.25}, {1, 0.5, -0.75, 3, 0.1, -0.2}, {-1, 2}};
  for (std::size_t i = 0; i < std::size(bodies); ++i) {
    SCOPED_TRACE(i);
    graph const given = graph::build([&](builder&b) {
      return bodies[i](b.masked_input({8, 2}));
    }),
                marked = graph::build([&](builder&b) {
                  return bodies[i](b.padded_input({8, 2}, 0.1));
                });
    result const wanted = run(given, examples, 0.1);
    for (double const padding : {0.1, 1e3}) {  // without and with a mask in the batch
      result const got = run(marked, examples, padding);
      EXPECT_EQ(got.loss, wanted.loss) << padding;
      EXPECT_EQ(got.gradients, wanted.gradients) << padding;
    }
  }
}

TEST(padded_input, compares_all_numbers_of_a_step_in_f32) {
  graph const net = graph::build([](builder& b) { return b.padded_input({3, 2}, 0.1, "x") | counting{}; });
  trial<B> t(net, {.batch = 2, .training = false});
  t.batch.inputs[0] = {0.1, 1, 0.1, 0.1, 2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
  t.run->forward(t.batch.input_views, {});
  EXPECT_EQ(t.output(), (std::vector<double>{2, -3, 0, 0}));
  std::vector<float> numbers(t.batch.inputs[0].begin(), t.batch.inputs[0].end());
  tensor_view const same[]{{numbers.data(), shape{2, 3, 2}}};
  t.run->forward({.inputs = same});
  EXPECT_EQ(t.output(), (std::vector<double>{2, -3, 0, 0})) << "f32 numbers";
  std::uint8_t const steps[]{1, 1, 0, 0, 0, 1};
  tensor_view const masks[]{{steps, shape{2, 3}}};
  t.run->forward({.inputs = same, .masks = masks});
  EXPECT_EQ(t.output(), (std::vector<double>{2, -2, 1, -3})) << "the mask of a batch precedes the values";
  for (double const wrong : {__builtin_nan(""), __builtin_inf(), 1e300})
    expect_parts(refusal([=](builder& b) {
                   b.padded_input({3, 2}, wrong) | relu{};
                 }),
                 {"padded_input: the value that marks padding must be a finite number of f32 (input 3x2)"});
}

TEST(mask, of_full_sequences_changes_neither_loss_nor_gradients) {
  std::vector<std::vector<double>> const examples{{0.5, -1, 2, 0.25, 1, 1}, {1, 0.5, -0.75, 3, 0.1, -0.2}};
  for (std::size_t i = 0; i < std::size(bodies); ++i) {
    SCOPED_TRACE(i);
    auto const with = [&](bool masked) {
      return run(graph::build([&](builder& b) { return bodies[i](start(b, 3, masked)); }), examples, 0);
    };
    result const masked = with(true), plainly = with(false);
    EXPECT_NEAR(masked.loss, plainly.loss, 1e-14);
    for (std::size_t g = 0; g < masked.gradients.size(); ++g)
      EXPECT_NEAR(masked.gradients[g], plainly.gradients[g], 1e-14) << g;
  }
}

/// Loss and gradients of a network that attends from one masked sequence to another one.
///
/// `longest`  steps of both inputs, which have up to 3 and 4 unmasked steps
result attended(int longest, double padding) {
  graph const net = graph::build([=](builder& b) {
    tensor const target = b.masked_input({longest, 2}) | dense{.units = 4},
                 source = b.masked_input({longest, 2}) | dense{.units = 4};
    return join(attention{.heads = 2}, target, source, source) | dense{.units = 3} | softmax_cross_entropy{};
  });
  constexpr int batch = 2, lengths[2][batch]{{3, 1}, {2, 4}};
  trial<B> t(net, {.batch = batch});
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<std::uint8_t> mask;
    std::vector<double>& x = t.batch.inputs[i];
    for (int n = 0; n < batch; ++n)
      for (int step = 0; step < longest; ++step) {
        bool const exists = step < lengths[i][n];
        mask.push_back(exists);
        for (int c = 0; c < 2; ++c)
          x[static_cast<std::size_t>((n * longest + step) * 2 + c)] =
              exists ? std::sin(1.0 + step + 3 * c + 7 * n) : padding;
      }
    auto& to = *std::next(t.batch.masks.begin(), static_cast<std::ptrdiff_t>(i));
    to = mask;
    t.batch.mask_views[i].data = reinterpret_cast<std::byte const*>(to.data());
  }
  for (auto& labels : t.batch.indices) std::fill(labels.begin(), labels.end(), 1);
  t.batch.divisor =
      detail::loss_divisor(net).of(t.batch.input_views, t.batch.mask_views, t.batch.target_views, {}, batch);
  double const mean = t.step();
  return {mean, t.all_gradients()};
}

TEST(mask, of_keys_excludes_padding_from_attention) {
  result const shortest = attended(4, 0), longer = attended(7, 0), dirty = attended(7, 1e3);
  EXPECT_EQ(longer.loss, dirty.loss) << "the same bits with other numbers in the padding";
  EXPECT_EQ(longer.gradients, dirty.gradients);
  EXPECT_NEAR(shortest.loss, longer.loss, 1e-14);
  ASSERT_EQ(shortest.gradients.size(), longer.gradients.size());
  for (std::size_t g = 0; g < longer.gradients.size(); ++g)
    EXPECT_NEAR(shortest.gradients[g], longer.gradients[g], 1e-14) << g;
}

TEST(mask, makes_the_loss_a_mean_over_steps_or_a_sum_per_example) {
  auto const net = [](bool sum) {
    return graph::build([=](builder& b) {
      return b.masked_input({3, 2}) | mean_squared_error{.sum_steps = sum};
    });
  };
  // three steps in two examples; squared errors of a step: (0 + 1)/2, (4 + 0)/2, (1 + 1)/2
  std::vector<std::vector<double>> const examples{{1, 2, 3, 1}, {0, 0}};
  EXPECT_DOUBLE_EQ(run(net(false), examples, 7).loss, (0.5 + 2 + 1) / 3);
  EXPECT_DOUBLE_EQ(run(net(true), examples, 7).loss, (0.5 + 2 + 1) / 2);
}

TEST(mask, of_zeros_only_results_in_finite_loss_and_gradients) {
  for (std::size_t i = 0; i < std::size(bodies); ++i) {
    graph const net = graph::build([&](builder& b) { return bodies[i](start(b, 3, true)); });
    result const some = run(net, {{1, 2}, {}}, 1);
    EXPECT_TRUE(std::isfinite(some.loss)) << i;
    for (double const g : some.gradients) EXPECT_TRUE(std::isfinite(g)) << i;
  }
}

TEST(zero_masked, is_the_identity_without_a_mask) {
  graph const net = graph::build([](builder& b) { return b.input({2, 2}) | zero_masked{}; });
  trial<B> t(net, {.batch = 1, .training = false});
  t.batch.inputs[0] = {1, 2, 3, 4};
  t.run->forward(t.batch.input_views, {});
  EXPECT_EQ(t.output(), (std::vector<double>{1, 2, 3, 4}));
}

TEST(mask, is_checked_and_all_ones_by_default) {
  graph const net = graph::build([](builder& b) { return b.masked_input({2, 2}) | zero_masked{}; });
  trial<B> t(net, {.batch = 2, .training = false});
  t.batch.inputs[0] = {1, 2, 3, 4, 5, 6, 7, 8};
  t.run->forward(t.batch.input_views, {});
  EXPECT_EQ(t.output(), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
  std::uint8_t const steps[]{1, 0, 0, 9};
  tensor_view masks[]{{steps, shape{2, 2}}};
  t.run->forward({.inputs = t.batch.input_views, .masks = masks});
  EXPECT_EQ(t.output(), (std::vector<double>{1, 2, 0, 0, 0, 0, 7, 8})) << "any number but 0 is a step";
  tensor_view const one[]{{t.batch.inputs[0].data(), shape{1, 2, 2}}};
  tensor_view const of_one[]{{steps, shape{1, 2}}};
  t.run->forward({.inputs = one, .masks = of_one});
  EXPECT_EQ(t.output(), (std::vector<double>{1, 2, 0, 0})) << "fewer examples than the plan's batch";

  masks[0].dims = {2, 3};
  expect_parts(refused<shape_error>([&] { t.run->forward({.inputs = t.batch.input_views, .masks = masks}); }),
               {"a mask of the batch has the wrong shape or element type", "mask 0", "2x2 x u8", "2x3 x u8"});
  tensor_view const two[]{of_one[0], of_one[0]};
  expect_parts(refused<shape_error>([&] { t.run->forward({.inputs = t.batch.input_views, .masks = two}); }),
               {"the batch has the wrong number of masks", "1, one for each masked input", "2"});
}

TEST(embedding, masks_index_zero) {
  graph const net = graph::build([](builder& b) {
    return b.input({3}) | embedding{.vocabulary = 4, .width = 1, .mask_zero = true} | global_avg_pool{};
  });
  trial<B> t(net, {.batch = 2, .training = false});
  double const rows[]{100, 1, 2, 4};
  t.store->write(0, reinterpret_cast<std::byte const*>(rows), t.store->master());
  t.store->mark_changed();
  t.store->refresh_stale();
  std::int32_t const indices[]{1, 3, 0, 0, 2, 0};
  tensor_view const input[]{{indices, shape{2, 3}}};
  t.run->forward({.inputs = input});
  EXPECT_EQ(t.output(), (std::vector<double>{2.5, 2})) << "i32 indices";
  double const numbers[]{1, 3, 0, 0, 2, 0};
  tensor_view const same[]{{numbers, shape{2, 3}}};
  t.run->forward({.inputs = same});
  EXPECT_EQ(t.output(), (std::vector<double>{2.5, 2}));
}

}  // namespace mask_test
