// SPDX-License-Identifier: Apache-2.0
// needs: onednn
// Steps of a training_loop whose gradients of outputs come from the program, and gradients of inputs.
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/onednn.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/training/training_loop.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "parameters_of.hpp"

namespace output_gradients_test {

using namespace cohort;
using cohort_test::parameters_of;

constexpr int width = 3, rows = 8;

tensor trunk(builder& net) {
  return net.input({2, 8, 8}, "image") | conv2d{.filters = 4, .kernel = 3} | batch_norm{} | relu{}
         | max_pool{.window = 2} | dropout{.rate = 0.25} | dense{.units = 10} | relu{}
         | dense{.units = width, .name = "numbers"};
}
graph const with_loss = graph::build([](builder& net) { return trunk(net) | mean_squared_error{}; });
graph const without_loss = graph::build([](builder& net) { return trunk(net); });

/// Smooth, so that finite differences are exact.
graph const smooth = graph::build([](builder& net) {
  return net.input({2, 6, 6}, "image") | conv2d{.filters = 3, .kernel = 3} | tanh_activation{}
         | avg_pool{.window = 2} | dense{.units = 4} | tanh_activation{}
         | dense{.units = width, .name = "numbers"} | mean_squared_error{};
});

std::vector<float> numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<float> made;
  random_stream const drawn(seed, "output gradients");
  for (std::int64_t i = 0; i < count; ++i)
    made.push_back(static_cast<float>(drawn.normal(static_cast<std::uint64_t>(i))));
  return made;
}

struct examples {
  std::vector<float> pixels = numbers(rows * 128, 1), wanted = numbers(rows * width, 2);
  tensor_view images{pixels.data(), {rows, 2, 8, 8}}, targets{wanted.data(), {rows, width}};
};

/// The slope of mean_squared_error in a batch of `count` examples, rounded as its kernel does.
template <class T>
std::vector<T> slope(tensor_view output, tensor_view target, int count) {
  std::vector<T> made;
  T const scale = static_cast<T>((1.0 / width) * (1.0 / count));
  for (std::size_t i = 0; i < output.as<T>().size(); ++i)
    made.push_back(scale * (2 * (output.as<T>()[i] - static_cast<T>(target.as<float>()[i]))));
  return made;
}

enum class by : std::uint8_t { loss, given, named };

/// The parameters after `steps` steps over `parts` micro-batches each, by the loss or by its slope.
template <class B>
std::string trained(by how, int ranks, int workers, int parts) {
  using T = typename B::scalar;
  examples const all;
  std::string sum;
  launch<threads>(ranks, [&](communicator& world) {
    graph const& net = how == by::given ? without_loss : with_loss;
    training run =
        trainer<B>(net, world, allreduce{},
                   {.optimizer = {.rule = nesterov{.learning_rate = 0.05}, .l2 = 1e-3}, .workers = workers});
    training_loop loop(run, {.outputs = how == by::named ? std::vector<std::string>{"numbers"}
                                                         : std::vector<std::string>{}});
    int const mine = rows / ranks, count = mine / parts;
    std::int64_t indices[rows];
    for (int i = 0; i < rows; ++i) indices[i] = i;
    for (int step = 0; step < 4; ++step) {
      for (int part = 0; part < parts; ++part) {
        int const first = world.rank() * mine + part * count;
        batch_view batch(all.images.rows(first, count), all.targets.rows(first, count));
        batch.indices = std::span<std::int64_t const>(indices).subspan(static_cast<std::size_t>(first),
                                                                       static_cast<std::size_t>(count));
        loop.forward(batch);
        if (how == by::loss) {
          EXPECT_TRUE(loop.outputs().empty());
          loop.backward();
          continue;
        }
        EXPECT_EQ(loop.outputs().size(), 1U);
        EXPECT_EQ(loop.loss(), 0);
        std::vector<T> const given = slope<T>(loop.outputs()[0], batch.targets[0], count);
        loop.backward(tensor_view(given.data(), {count, width}));
      }
      if (step == 2) EXPECT_GT(loop.clip_norm(0.5), 0);
      EXPECT_TRUE(loop.step().updated);
    }
    if (world.rank() == 0) sum = run.checksum();
    EXPECT_EQ(run.step(), 4);
  });
  return sum;
}

template <class B>
void expect_equal_bits() {
  for (int ranks : {1, 2})
    for (int workers : {1, 2, 3})
      for (int parts : {1, 2}) {
        std::string const expected = trained<B>(by::loss, ranks, workers, parts);
        EXPECT_EQ(trained<B>(by::given, ranks, workers, parts), expected)
            << ranks << ' ' << workers << ' ' << parts;
        EXPECT_EQ(trained<B>(by::named, ranks, workers, parts), expected)
            << ranks << ' ' << workers << ' ' << parts;
      }
}

TEST(output_gradients, train_with_the_bits_of_the_loss_on_the_reference_backend) {
  expect_equal_bits<reference<float>>();
  expect_equal_bits<reference<double>>();
}
TEST(output_gradients, train_with_the_bits_of_the_loss_on_onednn) { expect_equal_bits<onednn>(); }

TEST(output_gradients, of_unequal_micro_batches_are_weighted_by_their_examples) {
  examples const all;
  auto const gradient = [&](by how, std::vector<int> const& parts) {
    training run = trainer<reference<double>>(smooth, {.optimizer = {sgd{}}, .workers = 2});
    training_loop loop(run, {.outputs = how == by::named ? std::vector<std::string>{"numbers"}
                                                         : std::vector<std::string>{}});
    int first = 0;
    for (int count : parts) {
      tensor_view const images(all.pixels.data() + 72 * first, {count, 2, 6, 6});
      tensor_view const targets = all.targets.rows(first, count);
      loop.forward({images, targets});
      if (how == by::loss) {
        loop.backward();
      } else {
        std::vector<double> const given = slope<double>(loop.outputs()[0], targets, count);
        loop.backward(tensor_view(given.data(), {count, width}));
      }
      first += count;
    }
    std::span<double const> const found = loop.gradients<double>();
    return std::vector<double>(found.begin(), found.end());
  };
  std::vector<double> const expected = gradient(by::loss, {8});
  for (auto const& parts : {std::vector{8}, {1, 7}, {5, 2, 1}}) {
    std::vector<double> const found = gradient(by::named, parts);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-14) << i;
  }
}

/// Expects input_gradients to be the finite differences of the mean loss of the last micro-batch.
template <class B>
void expect_finite_differences(double epsilon, double tolerance, int workers) {
  using T = typename B::scalar;
  constexpr int first_rows = 3, count = 4;
  std::vector<float> const pixels = numbers((first_rows + count) * 72, 3), wanted = numbers(7 * width, 4);
  training run = trainer<B>(smooth, {.optimizer = {sgd{}}, .workers = workers});
  tensor_view const images(pixels.data(), {first_rows + count, 2, 6, 6}),
      targets(wanted.data(), {first_rows + count, width});
  training_loop loop(run, {.input_gradients = true});
  loop.forward({images.rows(0, first_rows), targets.rows(0, first_rows)});
  loop.backward();
  loop.forward({images.rows(first_rows, count), targets.rows(first_rows, count)});
  loop.backward();
  ASSERT_EQ(loop.input_gradients().size(), 1U);
  tensor_view const found = loop.input_gradients()[0];
  ASSERT_EQ(found.dims, (shape{count, 2, 6, 6}));
  ASSERT_EQ(found.type, element_of<T>);
  std::vector<T> const slopes(found.as<T>().begin(), found.as<T>().end());
  loop.step();
  training same = trainer<B>(smooth, {.optimizer = {sgd{}}, .workers = workers});
  std::vector<double> moved(pixels.begin() + first_rows * 72, pixels.end());
  auto const loss = [&] {
    std::vector<T> const as_elements(moved.begin(), moved.end());
    return same.loss_of({tensor_view(as_elements.data(), {count, 2, 6, 6}), targets.rows(first_rows, count)});
  };
  double largest = 0;
  for (std::size_t i = 0; i < slopes.size(); i += 5) {
    double const before = moved[i];
    moved[i] = before + epsilon;
    double const above = loss();
    moved[i] = before - epsilon;
    double const below = loss();
    moved[i] = before;
    EXPECT_NEAR(static_cast<double>(slopes[i]), (above - below) / (2 * epsilon), tolerance) << i;
    largest = std::max(largest, std::abs(static_cast<double>(slopes[i])));
  }
  EXPECT_GT(largest, 10 * tolerance);
}

TEST(input_gradients, are_the_finite_differences_of_the_loss) {
  for (int workers : {1, 2, 3, 5}) expect_finite_differences<reference<double>>(1e-5, 1e-9, workers);
  expect_finite_differences<onednn>(1e-2, 1e-4, 2);
}

graph const generator = graph::build([](builder& net) {
  return net.input({5}, "noise") | dense{.units = 7, .name = "first"} | tanh_activation{}
         | dense{.units = 6, .name = "second"};
});
tensor judge(tensor const& from) {
  return from | dense{.units = 4, .name = "third"} | tanh_activation{} | dense{.units = 2, .name = "fourth"}
         | softmax_cross_entropy{};
}
graph const critic = graph::build([](builder& net) { return judge(net.input({6}, "made")); });
graph const joined = graph::build([](builder& net) {
  return judge(net.input({5}, "noise") | dense{.units = 7, .name = "first"} | tanh_activation{}
               | dense{.units = 6, .name = "second"});
});

TEST(output_gradients, of_two_networks_are_chained_like_one_network) {
  std::vector<float> const noise = numbers(8 * 5, 5);
  std::vector<std::int32_t> const labels{0, 1, 1, 0, 1, 0, 0, 0};
  tensor_view const inputs(noise.data(), {8, 5}), targets(labels.data(), shape{8});
  for (int workers : {1, 3}) {
    training_settings const settings{.optimizer = {sgd{}}, .workers = workers};
    training whole = trainer<reference<double>>(joined, settings);
    training made = trainer<reference<double>>(generator, settings);
    training judged = trainer<reference<double>>(critic, settings);
    made.load_matching(whole);
    judged.load_matching(whole);
    training_loop whole_loop(whole), critic_loop(judged, {.input_gradients = true}), loop(made);
    whole_loop.forward({inputs, targets});
    whole_loop.backward();
    loop.forward({{inputs}, {}});
    critic_loop.forward({loop.outputs()[0], targets});
    EXPECT_DOUBLE_EQ(critic_loop.loss(), whole_loop.loss());
    critic_loop.backward();
    loop.backward(critic_loop.input_gradients()[0]);
    std::string const before = judged.checksum();
    critic_loop.discard();
    EXPECT_EQ(judged.checksum(), before);
    for (char const* name : {"first", "second"}) {
      std::span<double const> const expected = whole_loop.gradient<double>(name),
                                    found = loop.gradient<double>(name);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-15);
    }
    loop.step();
  }
}

graph const two_heads = graph::build([](builder& net) {
  tensor const shared = net.input({5}, "state") | dense{.units = 6, .name = "shared"} | tanh_activation{};
  return std::tuple(shared | dense{.units = 3, .name = "policy"},
                    shared | dense{.units = 1, .name = "value"} | mean_squared_error{.name = "loss"});
});

TEST(output_gradients, are_added_to_those_of_the_losses_that_are_named) {
  std::vector<float> const states = numbers(8 * 5, 6), values = numbers(8, 7);
  std::vector<double> slopes(8 * 3);
  for (std::size_t i = 0; i < slopes.size(); ++i) slopes[i] = 0.01 * static_cast<double>(i) - 0.1;
  tensor_view const inputs(states.data(), {8, 5}), targets(values.data(), {8, 1}),
      given(slopes.data(), {8, 3});
  training run = trainer<reference<double>>(two_heads, {.optimizer = {sgd{}}, .workers = 2});
  auto const gradient = [&](std::vector<std::string> const& outputs) {
    training_loop loop(run, {.outputs = outputs});
    loop.forward({inputs, targets});
    if (loop.outputs().empty())
      loop.backward();
    else
      loop.backward(given);
    std::vector<double> const found(loop.gradients<double>().begin(), loop.gradients<double>().end());
    std::size_t const policy = loop.gradient<double>("policy").size();
    EXPECT_EQ(policy, 21U);
    return found;
  };
  std::vector<double> const value = gradient({}), policy = gradient({"policy"}),
                            both = gradient({"policy", "loss"}), again = gradient({});
  EXPECT_EQ(again, value) << "gradients of layers that this step does not compute are 0";
  double largest = 0;
  for (std::size_t i = 0; i < both.size(); ++i) {
    EXPECT_NEAR(both[i], value[i] + policy[i], 1e-15) << i;
    largest = std::max(largest, std::min(std::abs(value[i]), std::abs(policy[i])));
  }
  EXPECT_GT(largest, 1e-3) << "the shared layer has both gradients";
}

TEST(output_gradients, of_a_step_without_examples_are_not_exchanged_in_later_steps) {
  std::vector<float> const states = numbers(8 * 5, 6), values = numbers(8, 7), slopes = numbers(8 * 3, 17);
  tensor_view const inputs(states.data(), {8, 5}), targets(values.data(), {8, 1}),
      given(slopes.data(), {8, 3});
  for (int workers : {1, 2})
    launch<threads>(2, [&](communicator& world) {
      training run = trainer<reference<double>>(two_heads, world, allreduce{},
                                                {.optimizer = {sgd{}}, .workers = workers});
      training_loop policy(run, {.outputs = {"policy"}}), value(run);
      int const count = world.rank() == 0 ? 8 : 0;
      policy.forward(count == 0 ? batch_view() : batch_view({inputs}, {}));
      policy.backward(given.rows(0, count));
      EXPECT_NE(policy.gradient<double>("policy")[0], 0) << "the exchanged gradient, on both ranks";
      policy.step();
      value.forward({inputs, targets});
      value.backward();
      for (double const g : value.gradient<double>("policy")) EXPECT_EQ(g, 0) << world.rank() << workers;
      value.step();
    });
}

TEST(output_gradients, of_an_output_and_of_its_consumer_are_added) {
  graph const deep = graph::build([](builder& net) {
    return net.input({5}, "x") | dense{.units = 4, .name = "inner"} | tanh_activation{.name = "bounded"}
           | dense{.units = 2, .name = "outer"};
  });
  std::vector<float> const x = numbers(4 * 5, 8), inner = numbers(4 * 4, 9), outer = numbers(4 * 2, 10);
  std::vector<float> const no_inner(16), no_outer(8);
  training run = trainer<reference<double>>(deep, {.optimizer = {sgd{}}});
  training_loop loop(run, {.outputs = {"outer", "bounded"}});
  auto const gradient = [&](std::vector<float> const& of_outer, std::vector<float> const& of_inner) {
    loop.forward({{tensor_view(x.data(), {4, 5})}, {}});
    EXPECT_EQ(loop.outputs()[0].dims, (shape{4, 2}));
    EXPECT_EQ(loop.outputs()[1].dims, (shape{4, 4}));
    tensor_view const given[]{{of_outer.data(), {4, 2}}, {of_inner.data(), {4, 4}}};
    loop.backward(given);
    std::vector<double> const found(loop.gradients<double>().begin(), loop.gradients<double>().end());
    loop.step();
    return found;
  };
  run.parameters();
  std::vector<double> const before = parameters_of(run);
  auto const restore = [&] {
    run.parameters().write_all(reinterpret_cast<std::byte const*>(before.data()), run.parameters().master());
    run.parameters().mark_changed();
  };
  std::vector<double> const first = gradient(outer, no_inner);
  restore();
  std::vector<double> const second = gradient(no_outer, inner);
  restore();
  std::vector<double> const both = gradient(outer, inner);
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_NEAR(both[i], first[i] + second[i], 1e-15) << i;
  EXPECT_NE(first, both);
  EXPECT_NE(second, both);
}

TEST(input_gradients, of_indices_and_of_unused_inputs_are_zero) {
  graph const net = graph::build([](builder& b) {
    tensor const words =
        b.input({4}, "words") | embedding{.vocabulary = 9, .width = 3} | flatten{} | dense{.units = 2};
    tensor const more = b.input({2}, "more") | dense{.units = 2, .name = "of_more"};
    return (words + more) | dense{.units = 1} | mean_squared_error{};
  });
  std::vector<std::int32_t> const words{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> const more = numbers(4, 11), wanted = numbers(2, 12);
  training run = trainer<reference<float>>(net, {.optimizer = {sgd{}}});
  batch_view const batch({{words.data(), {2, 4}}, {more.data(), {2, 2}}}, {{wanted.data(), {2, 1}}});
  auto const all_zero = [](tensor_view of) {
    return std::ranges::all_of(of.as<float>(), [](float x) { return x == 0; });
  };
  training_loop loop(run, {.input_gradients = true});
  loop.forward(batch);
  loop.backward();
  EXPECT_TRUE(all_zero(loop.input_gradients()[0]));
  EXPECT_FALSE(all_zero(loop.input_gradients()[1]));
  loop.step();
  training_loop part(run, {.outputs = {"of_more"}, .input_gradients = true});
  part.forward(batch);
  part.backward(tensor_view(more.data(), {2, 2}));
  EXPECT_TRUE(all_zero(part.input_gradients()[0]));
  EXPECT_FALSE(all_zero(part.input_gradients()[1]));
}

TEST(input_gradients, pass_frozen_layers) {
  training run = trainer<reference<double>>(
      critic, {.optimizer = {.rule = sgd{}, .layers = {{.layer = "third", .frozen = true}}}});
  training other = trainer<reference<double>>(critic, {.optimizer = {sgd{}}});
  std::vector<float> const made = numbers(4 * 6, 13);
  std::vector<std::int32_t> const labels{0, 1, 1, 0};
  batch_view const batch{{made.data(), {4, 6}}, {labels.data(), shape{4}}};
  training_loop frozen(run, {.input_gradients = true}), trained(other, {.input_gradients = true});
  for (training_loop* loop : {&frozen, &trained}) {
    loop->forward(batch);
    loop->backward();
  }
  std::span<double const> const found = frozen.input_gradients()[0].as<double>();
  EXPECT_TRUE(std::ranges::equal(found, trained.input_gradients()[0].as<double>()));
  EXPECT_GT(std::abs(found[0]), 1e-6);
}

TEST(training_loop, discards_a_step) {
  examples const all;
  auto const checksum = [&](bool discards) {
    training run = trainer<reference<float>>(with_loss, {.optimizer = {nesterov{}}, .workers = 2});
    training_loop loop(run);
    for (int step = 0; step < 2; ++step) {
      if (discards) {
        loop.forward({all.images.rows(0, 5), all.targets.rows(3, 5)});
        if (step == 0) loop.backward();
        loop.discard();
      }
      loop.forward({all.images, all.targets});
      loop.backward();
      loop.step();
    }
    EXPECT_EQ(run.step(), 2);
    return run.checksum();
  };
  EXPECT_EQ(checksum(true), checksum(false));
  training run = trainer<reference<float>>(with_loss, {.optimizer = {sgd{}}});
  training_loop loop(run);
  loop.discard();
  loop.forward({all.images, all.targets});
  loop.backward();
  loop.gradients();
  EXPECT_NE(
      refusal_of<setting_error>([&] { loop.discard(); }).find("discard after the exchange of gradients"),
      std::string::npos);
}

TEST(output_gradients, are_refused_unless_they_fit_the_outputs) {
  examples const all;
  training run = trainer<reference<float>>(with_loss, {.optimizer = {sgd{}}});
  std::vector<float> const given = numbers(rows * width, 14);
  tensor_view const right(given.data(), {rows, width});
  auto const refused = [&](auto const& backward) {
    training_loop loop(run, {.outputs = {"numbers"}});
    loop.forward({all.images, all.targets});
    std::string const text = refusal_of<shape_error>([&] { backward(loop); });
    loop.backward(right);  // the refused call has changed nothing
    loop.discard();
    return text;
  };
  auto const contains = [](std::string const& text, std::vector<std::string> const& parts) {
    for (std::string const& part : parts) EXPECT_NE(text.find(part), std::string::npos) << text << part;
  };
  contains(refused([](training_loop& loop) { loop.backward(); }),
           {"wrong number", "1, one for each", "numbers"});
  contains(refused([&](training_loop& loop) { loop.backward(right.rows(0, 4)); }),
           {"training_loop::backward, numbers", "8x3", "4x3"});
  std::vector<std::int32_t> const indices(rows * width);
  contains(refused([&](training_loop& loop) {
             loop.backward({indices.data(), {rows, width}});
           }),
           {"f32", "i32"});
  training_loop whole(run);
  whole.forward({all.images, all.targets});
  EXPECT_NE(refusal_of<shape_error>([&] { whole.backward(right); }), "");

  EXPECT_NE(refusal_of<setting_error>([&] { training_loop(run, {.outputs = {"nambers"}}); }).find("numbers"),
            std::string::npos);
  graph const two_losses = graph::build([](builder& net) {
    tensor const x = net.input({2}, "x");
    return std::tuple(x | dense{.units = 1} | mean_squared_error{.name = "first"},
                      x | dense{.units = 1} | mean_squared_error{.name = "second"});
  });
  training two = trainer<reference<float>>(two_losses, {.optimizer = {sgd{}}});
  contains(refusal_of<setting_error>([&] { training_loop(two, {.outputs = {"first"}}); }),
           {"all 2 losses", "got 1"});
  training open = trainer<reference<float>>(without_loss, {.optimizer = {sgd{}}});
  contains(refusal_of<graph_error>([&] { open.train_on({all.images, all.targets}); }), {"training_loop"});
}

TEST(output_gradients, that_are_not_finite_are_reported_like_those_of_a_loss) {
  examples const all;
  training run = trainer<reference<float>>(without_loss, {.optimizer = {sgd{}}, .workers = 2});
  std::string const before = run.checksum();
  std::vector<float> given(rows * width);
  given[7] = std::numeric_limits<float>::quiet_NaN();
  training_loop loop(run);
  loop.forward({{all.images}, {}});
  loop.backward(tensor_view(given.data(), {rows, width}));
  EXPECT_NE(refusal_of<numeric_error>([&] { loop.step(); }), "");
  EXPECT_EQ(run.checksum(), before);
}

TEST(output_gradients, without_a_loss_do_not_count_in_the_loss_of_the_epoch) {
  examples const all;
  std::vector<float> const given = numbers(rows * width, 18);
  tensor_view const slopes(given.data(), {rows, width});
  std::vector<std::string> lines;
  training_settings const settings{.optimizer = {sgd{}},
                                   .plateau = reduce_on_plateau{.patience = 0},
                                   .log = [&](std::string_view line) { lines.emplace_back(line); }};
  training open = trainer<reference<float>>(without_loss, settings);
  training_loop loop(open);
  for (int epoch = 0; epoch < 3; ++epoch) {
    loop.forward({{all.images}, {}});
    loop.backward(slopes);
    EXPECT_EQ(loop.step().loss, 0);
    epoch_report const done = open.end_epoch();
    EXPECT_TRUE(std::isnan(done.loss));
    EXPECT_EQ(done.weight, 0);
    EXPECT_EQ(done.examples, rows);
  }
  for (std::string const& line : lines) EXPECT_EQ(line.find("plateau"), std::string::npos) << line;

  training both = trainer<reference<float>>(with_loss, {.optimizer = {sgd{}}});
  training_loop whole(both), part(both, {.outputs = {"numbers"}});
  whole.forward({all.images, all.targets});
  whole.backward();
  double const loss = whole.step().loss;
  part.forward({{all.images}, {}});
  part.backward(slopes);
  part.step();
  EXPECT_GT(loss, 0);
  EXPECT_DOUBLE_EQ(both.end_epoch().loss, loss);
}

TEST(output_gradients, are_refused_if_only_some_synchronised_layers_are_computed) {
  graph const net = graph::build([](builder& b) {
    return b.input({4}, "x") | dense{.units = 4} | synchronised_batch_norm{.name = "inner"}
           | dense{.units = 4} | synchronised_batch_norm{} | dense{.units = 2, .name = "last"}
           | mean_squared_error{};
  });
  std::vector<float> const x = numbers(8 * 4, 15), given = numbers(16, 16);
  training run = trainer<reference<float>>(net, {.optimizer = {sgd{}}, .workers = 3});
  batch_view const batch({tensor_view(x.data(), {8, 4})}, {});
  training_loop part(run, {.outputs = {"inner"}}), whole(run, {.outputs = {"last"}});
  EXPECT_NE(refusal_of<setting_error>([&] { part.forward(batch); }).find("synchronised"), std::string::npos);
  for (int count : {8, 2}) {
    batch_view const some = batch.rows(0, count);
    whole.forward(some);
    whole.backward(tensor_view(given.data(), {count, 2}));
    EXPECT_TRUE(whole.step().updated);
  }
}

}  // namespace output_gradients_test
