// SPDX-License-Identifier: Apache-2.0
// covers: plan/plan
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/plan/make_plan.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "../data/refused.hpp"
#include "trial.hpp"

namespace context_test {

using namespace cohort;
using B = reference<double>;

std::vector<std::string> record;

/// The layer x·scale, with one scale per element. Records when its backward runs, and whether its input
/// gradient is needed.
struct recorded {
  static constexpr std::string_view kind_name = "recorded";

  required<int> number;
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() { return field_list{field{"number", &recorded::number}}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
  constexpr parameter_list parameters(std::span<shape const> inputs) const {
    parameter_list list;
    list.add({"scale", inputs[0], parameter_role::weights, 1, 1, init::ones{}});
    return list;
  }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    for (std::size_t i = 0; i < count(a); ++i) a.output[i] = a.inputs[0][i] * a.parameters[0][i % size(a)];
  }
  template <class T>
  void backward(host_arguments<T> const& a) const {
    record.push_back("backward " + std::to_string(number.value) + (a.diff_inputs[0] ? " with" : " without")
                     + " its input's");
    for (std::size_t i = 0; i < size(a); ++i) a.diff_parameters[0][i] = 0;
    for (std::size_t i = 0; i < count(a); ++i) {
      a.diff_parameters[0][i % size(a)] += a.diff_output[i] * a.inputs[0][i];
      if (a.diff_inputs[0]) a.diff_inputs[0][i] = a.diff_output[i] * a.parameters[0][i % size(a)];
    }
  }

 private:
  template <class T>
  static std::size_t size(host_arguments<T> const& a) {
    return static_cast<std::size_t>(a.output_shape.elements());
  }
  template <class T>
  static std::size_t count(host_arguments<T> const& a) {
    return static_cast<std::size_t>(a.batch) * size(a);
  }
};

graph branched() {
  return graph::build([](builder& net) {
    tensor const x =
        net.input({2, 7, 7}) | conv2d{.filters = 5, .kernel = 2} | relu{} | max_pool{.window = 2};
    tensor const y = x | conv2d{.filters = 5, .kernel = 3, .padding = 1};
    (x + y) | leaky_relu{} | dense{.units = 3} | softmax_cross_entropy{};
  });
}

TEST(context, reports_each_bucket_during_backward_as_soon_as_it_is_complete) {
  record.clear();
  graph const net = graph::build([](builder& b) {
    return b.input({300}) | recorded{1} | dense{.units = 200} | recorded{2} | dense{.units = 10}
           | softmax_cross_entropy{};
  });
  trial<B> t(net, {.batch = 2});
  std::vector<std::vector<double>> early;
  std::vector<bucket> seen;
  ready_function const ready = [&](bucket const& b) {
    record.push_back("ready " + std::to_string(b.index));
    auto const all = t.all_gradients();
    early.emplace_back(all.begin() + b.first, all.begin() + b.first + b.elements);
    seen.push_back(b);
  };
  t.step(false, &ready);
  EXPECT_EQ(record, (std::vector<std::string>{"backward 2 with its input's", "ready 0",
                                              "backward 1 without its input's", "ready 1"}))
      << "bucket 0 before the first layer's backward, which computes no gradient of the batch";
  auto const last = t.all_gradients();
  for (std::size_t b = 0; b < seen.size(); ++b)
    EXPECT_EQ(early[b], std::vector<double>(last.begin() + seen[b].first,
                                            last.begin() + seen[b].first + seen[b].elements));
  EXPECT_EQ(seen[0].elements + seen[1].elements, t.store->elements());
}

TEST(context, calls_the_hook_finish_late_before_forward_uses_a_late_parameter) {
  graph const net = graph::build([](builder& b) {
    return b.input({6}) | recorded{1} | dense{.units = 4} | recorded{2} | dense{.units = 3}
           | softmax_cross_entropy{};
  });
  trial<B> t(net, {.batch = 2}), other(net, {.batch = 2}, 5);
  double const before = t.forward(), everything = other.forward();
  auto const forward = [&](int from) {
    int calls = 0;
    auto const initial =
        std::vector<std::byte>(t.store->master(), t.store->master() + t.store->arena_bytes());
    std::function<void()> const late = [&] {
      ++calls;
      for (int p = from; p < t.parameters(); ++p)
        t.store->write(p, reinterpret_cast<std::byte const*>(other.dense(p, other.store->master()).data()),
                       t.store->master());
      t.store->refresh(0, 1, {.first = from});
    };
    t.run->forward({.inputs = t.batch.input_views,
                    .targets = t.batch.target_views,
                    .first_late = from,
                    .finish_late = &late});
    double const loss = t.run->loss() / 2;
    EXPECT_EQ(calls, 1);
    for (int p = 0; p < t.parameters(); ++p)
      EXPECT_EQ(t.dense(p, t.store->master()),
                p < from ? t.dense(p, initial.data()) : other.dense(p, other.store->master()));
    double const again = t.forward();
    EXPECT_EQ(loss, again) << "what came late was there in time";
    std::memcpy(t.store->master(), initial.data(), initial.size());
    t.store->mark_changed();
    t.store->refresh(0, 1);
    return loss;
  };
  EXPECT_EQ(forward(t.parameters()), before) << "none";
  for (int from = 1; from < t.parameters(); ++from) EXPECT_NE(forward(from), before) << from;
  other.batch = t.batch;
  EXPECT_EQ(forward(0), other.forward()) << "all, but for those of the input";
  EXPECT_NE(everything, before);
}

TEST(context, sums_the_gradients_of_micro_batches) {
  graph const net = branched();
  trial<B> t(net, {.batch = 3});
  t.step();
  auto const once = t.all_gradients();
  t.step(true);
  auto const twice = t.all_gradients();
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(twice[i], 2 * once[i]);
  t.step();
  EXPECT_EQ(t.all_gradients(), once) << "without `accumulate` they are replaced";

  trial<B> other(net, {.batch = 3}, 9, t.store);
  other.step();
  auto const others = other.all_gradients();
  t.batch = other.batch;
  t.step(true);
  auto const sum = t.all_gradients();
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(sum[i], once[i] + others[i]);
}

TEST(context, shares_memory_with_contexts_of_other_plans) {
  graph const net = branched();
  trial<B> small(net, {.batch = 2}), large(net, {.batch = 5}, 1, small.store);
  auto const run = [](trial<B>& t) {
    t.step();
    t.step(true);
    return t.all_gradients();
  };
  auto const of_small = run(small), of_large = run(large);
  context_memory memory;
  small.run = small.plan->make_context(nullptr, &memory);
  EXPECT_EQ(run(small), of_small);
  EXPECT_EQ(memory.arena.capacity(), small.plan->memory().activations);
  large.run = large.plan->make_context(nullptr, &memory);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(run(small), of_small);
    EXPECT_EQ(run(large), of_large);
  }
  EXPECT_EQ(memory.arena.capacity(), large.plan->memory().activations);
  EXPECT_EQ(memory.sums.capacity(), large.plan->memory().accumulation);
}

TEST(context, scales_gradients_linearly) {
  trial<B> t(branched(), {.batch = 3});
  t.step();
  auto const mean = t.all_gradients();
  t.forward();
  t.run->backward({.gradient_scale = 1.0});
  auto const sum = t.all_gradients();
  for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(sum[i], 3 * mean[i], 1e-14);
}

TEST(context, computes_equal_gradients_in_a_whole_batch_or_in_parts) {
  graph const net = branched();
  trial<B> whole(net, {.batch = 6});
  trial<B> part(net, {.batch = 2}, 1, whole.store);
  double const loss = whole.step();
  auto const wanted = whole.all_gradients();
  double sum = 0;
  for (int first = 0; first < 6; first += 2) {
    tensor_view const input = whole.batch.input_views[0].rows(first, 2),
                      target = whole.batch.target_views[0].rows(first, 2);
    part.run->forward(input, target);
    sum += part.run->loss();
    part.run->backward({.gradient_scale = 1.0 / 6, .accumulate = first > 0});
  }
  EXPECT_NEAR(sum / 6, loss, 1e-14);
  auto const got = part.all_gradients();
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-14);
}

TEST(context, accumulates_gradients_in_an_arena_shared_with_another_context) {
  graph const net = branched();
  trial<B> t(net, {.batch = 3});
  t.step();
  buffer arena(t.store->arena_bytes());
  auto const first = t.plan->make_context(arena.data()), second = t.plan->make_context(arena.data());
  EXPECT_EQ(first->gradients(), second->gradients());
  for (auto* one : {first.get(), second.get()}) {
    one->forward(t.batch.input_views, t.batch.target_views);
    one->backward({.gradient_scale = 1.0 / 3, .accumulate = one == second.get()});
  }
  std::vector<double> sum(static_cast<std::size_t>(t.store->elements()));
  t.store->read_all(arena.data(), reinterpret_cast<std::byte*>(sum.data()));
  auto const once = t.all_gradients();
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], 2 * once[i]);
}

TEST(context, at_inference_returns_probabilities_that_agree_with_the_loss) {
  graph const net = branched();
  trial<B> trained(net, {.batch = 4});
  trial<B> inferred(net, {.batch = 4, .training = false}, 1, trained.store);
  double const loss = trained.forward();
  inferred.run->forward(inferred.batch.input_views, {});
  auto const p = inferred.output();
  double wanted = 0;
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_NEAR(p[3 * n] + p[3 * n + 1] + p[3 * n + 2], 1, 1e-15);
    wanted -= std::log(p[3 * n + static_cast<std::size_t>(trained.batch.indices[0][n])]) / 4;
  }
  EXPECT_NEAR(loss, wanted, 1e-14);
}

TEST(context, does_not_overflow_on_large_logits) {
  graph const net = graph::build(
      [](builder& b) { return b.input({3}) | dense{.units = 3, .bias = false} | softmax_cross_entropy{}; });
  trial<B> t(net, {.batch = 1});
  double const identity[]{1, 0, 0, 0, 1, 0, 0, 0, 1};
  t.store->write_all(reinterpret_cast<std::byte const*>(identity), t.store->master());
  double const logits[]{2000, 0, -2000};
  std::int32_t const target = 2;
  t.run->forward(tensor_view(logits, shape{1, 3}), tensor_view(&target, shape{1}));
  EXPECT_EQ(t.run->loss(), 4000);
  t.run->backward({});
  for (double const g : t.all_gradients()) EXPECT_TRUE(std::isfinite(g));
}

TEST(context, accepts_fewer_examples_at_inference_and_f32_inputs) {
  graph const net = branched();
  trial<B> t(net, {.batch = 5, .training = false});
  t.run->forward(t.batch.input_views[0]);
  auto const all = t.output();
  for (int count : {3, 1, 5, 0}) {
    t.run->forward(t.batch.input_views[0].rows(0, count));
    EXPECT_EQ(t.run->output().dims, (shape{count, 3}));
    EXPECT_EQ(t.output(), std::vector<double>(all.begin(), all.begin() + 3 * count)) << count;
  }
  std::vector<float> const narrow(t.batch.inputs[0].begin(), t.batch.inputs[0].end());
  t.run->forward(tensor_view(narrow.data(), t.batch.input_views[0].dims));
  EXPECT_EQ(t.output(), all);
}

TEST(context, preserves_every_output_of_a_forward_pass) {
  graph const net = graph::build([](builder& b) {
    tensor const x = b.input({2, 6, 6}, "x");
    x | conv2d{.filters = 3, .kernel = 3};
    x | conv2d{.filters = 3, .kernel = 3};
    x | conv2d{.filters = 3, .kernel = 3} | relu{};
    b.input({4}, "nobody reads it");
  });
  trial<B> t(net, {.batch = 2, .training = false});
  t.run->forward(t.batch.input_views, {});
  ASSERT_EQ(t.plan->outputs().size(), 3U);
  for (int o = 0; o < 2; ++o) {
    graph const alone = graph::build([&](builder& b) {
      return b.input({2, 6, 6}) | conv2d{.filters = 3, .kernel = 3, .name = o == 0 ? "conv2d_1" : "conv2d_2"};
    });
    trial<B> one(alone, {.batch = 2, .training = false});
    one.run->forward(t.batch.input_views[0]);
    EXPECT_EQ(t.output(o), one.output()) << o;
  }
  for (int o : {-1, 3}) EXPECT_THROW(t.run->output(o), setting_error);
}

TEST(context, refuses_inputs_and_targets_of_other_shapes) {
  trial<B> t(branched(), {.batch = 3});
  auto const view = t.batch.input_views[0], target = t.batch.target_views[0];
  std::vector<tensor_view> const two{view, view};
  expect_parts(refused<shape_error>([&] { t.run->forward(two, t.batch.target_views); }),
               {"number of inputs", "expected 1", "got 2"});
  expect_parts(refused<shape_error>([&] { t.run->forward(t.batch.input_views, {}); }),
               {"number of targets", "expected 1", "got 0"});
  expect_parts(refused<shape_error>([&] { t.run->forward(view.rows(0, 2), target); }),
               {"input 0", "3x2x7x7", "2x2x7x7"});
  tensor_view turned = view;
  turned.dims = {3, 7, 7, 2};
  expect_parts(refused<shape_error>([&] { t.run->forward(turned, target); }),
               {"input 0", "3x2x7x7", "3x7x7x2"});
  tensor_view bytes = view;
  bytes.type = element_type::u8;
  expect_parts(refused<shape_error>([&] { t.run->forward(bytes, target); }),
               {"element type", "f32, f64, or i32 for indices", "u8"});
  expect_parts(refused<shape_error>([&] { t.run->forward(view, target.rows(0, 2)); }),
               {"target", "target 0", "3 x i32", "2 x i32"});
  expect_parts(refused<shape_error>([&] { t.run->forward(view, view); }), {"target", "f64"});
  trial<B> inferred(branched(), {.batch = 2, .training = false});
  expect_parts(refused<shape_error>([&] { inferred.run->forward(view); }), {"2x2x7x7", "3x2x7x7"});
}

TEST(context, refuses_labels_out_of_range) {
  trial<B> t(branched(), {.batch = 3});
  for (int label : {-1, 3, 1'000'000}) {
    std::int32_t const labels[]{0, label, 2};
    expect_parts(
        refused<data_error>([&] { t.run->forward(t.batch.input_views[0], tensor_view(labels, shape{3})); }),
        {"label is out of range", "example 1", "0 to 2", std::to_string(label).c_str()});
  }
}

TEST(context, reports_the_first_layer_with_a_non_finite_output) {
  trial<B> t(branched(), {.batch = 3});
  t.forward();
  EXPECT_EQ(t.run->first_non_finite(), "");
  int const conv = 2;  // weights of conv2d_2
  ASSERT_EQ(t.parameter(conv).name, "conv2d_2.weights");
  auto values = t.dense(conv, t.store->master());
  double const before = values[4];
  values[4] = std::numeric_limits<double>::infinity();
  t.store->write(conv, reinterpret_cast<std::byte const*>(values.data()), t.store->master());
  t.forward();
  EXPECT_EQ(t.run->first_non_finite(), "conv2d_2");
  values[4] = before;
  t.store->write(conv, reinterpret_cast<std::byte const*>(values.data()), t.store->master());
  t.batch.inputs[0][5] = std::nan("");
  EXPECT_FALSE(std::isfinite(t.forward()));
  EXPECT_EQ(t.run->first_non_finite(), "the input");
}

TEST(context, profiles_only_the_steps_that_run_while_profiling_is_enabled) {
  trial<B> t(branched(), {.batch = 3});
  t.step();
  t.run->profile(true);
  t.step();
  t.step();
  t.run->profile(false);
  t.step();
  for (plan_row const& row : t.run->profile()) EXPECT_EQ(row.calls, 2) << row.step;
  expect_parts(text_of(t.run->profile()), {"us/call", "share"});
}

}  // namespace context_test
