// SPDX-License-Identifier: Apache-2.0
// Uses of a trained network besides training: features of its layers, parameters for other networks, several
// heads.
// covers: checkpoint/matching_layers
#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/matching_layers.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/prediction/features.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/trainer.hpp>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../training/bright_thirds.hpp"

namespace features_test {

using namespace cohort;
using cohort_test::bright_thirds;
using cohort_test::small;
using narrow = reference<float>;

constexpr auto lenet = network<[](builder& net) {
  return net.input({1, 28, 28}) | conv2d{.filters = 20, .kernel = 5} | relu{} | max_pool{.window = 2}
         | conv2d{.filters = 50, .kernel = 5, .stride = 2} | relu{} | max_pool{.window = 2}
         | dense{.units = 200} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

TEST(features, of_a_layer_train_another_network) {
  dataset const digits = synthetic_digits(200, 1), others = synthetic_digits(100, 1, 200);
  training taught = trainer<narrow>(lenet, {.optimizer = {adam{}}, .seed = 3, .workers = 2});
  taught.fit(digits, {.batch = 10, .epochs = 2});
  constexpr auto logistic =
      network<[](builder& net) { return net.input({200}) | dense{.units = 10} | softmax_cross_entropy{}; }>();
  training second = trainer<narrow>(logistic, {.optimizer = {adam{.learning_rate = 0.01}}});
  second.fit(taught.features({"dense_1"}, digits), {.batch = 20, .epochs = 10});
  classification_report const seen = second.evaluate(taught.features({"dense_1"}, others, 33));
  EXPECT_EQ(seen.examples(), 100);
  EXPECT_GT(seen.accuracy().value(), 0.5);
  EXPECT_NE(seen.stats().find('7'), std::string::npos) << "labels keep their names";
}

TEST(features, are_in_the_order_of_the_data_set_and_equal_the_layers_outputs) {
  bright_thirds const examples(53);
  training made = trainer<narrow>(small, {.workers = 2});
  tensor_view const all(examples.pixels.data(), shape{53, 1, 8, 8});
  std::vector<std::string> const names{"dense_1", "relu_1", "conv2d_1", "softmax_cross_entropy_1"};
  std::vector<predictions> const alone = made.outputs_of(names, all);
  feature_set const found = made.features(names, examples.data(), 10);
  ASSERT_EQ(alone.size(), names.size());
  EXPECT_EQ(found.size(), 53);
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(found.of(names[i]).values, alone[i].values) << names[i];
  EXPECT_EQ(alone[3].values, made.predict(all).values);
  EXPECT_EQ(made.outputs_of({}, all)[0].values, alone[3].values);
  EXPECT_EQ(alone[2].example, (shape{4, 6, 6}));
  // Before and after the rectifier, which training runs in one kernel, and after the pool.
  ASSERT_EQ(alone[1].values.size(), alone[2].values.size());
  EXPECT_LT(*std::min_element(alone[2].values.begin(), alone[2].values.end()), 0);
  for (std::size_t i = 0; i < alone[1].values.size(); ++i)
    ASSERT_EQ(alone[1].values[i], std::max(alone[2].values[i], 0.0F)) << i;
}

/// Ten examples with everything that an example may have, as an indexed data set and as a stream.
struct rich {
  std::vector<float> pixels = bright_thirds(10).pixels;
  data_description what{.inputs = {{.example = {1, 8, 8}}},
                        .targets = {{.name = "tenth", .stored = element_type::u8, .scale = 0.5, .offset = 1}},
                        .weighted = true,
                        .keyed = true};
  std::vector<std::string> keys{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  data_description const& describe() const { return what; }
  void put(std::int64_t i, example_view& out) const {
    out.point(0, pixels.data() + 64 * i);
    *out.fill<std::uint8_t>(1) = static_cast<std::uint8_t>(i);
    out.weight = static_cast<float>(i) / 4;
    out.key = keys[static_cast<std::size_t>(i)];
  }
};
struct rich_by_number : rich {
  std::int64_t size() const { return 10; }
  void get(std::int64_t i, example_view& out) const { put(i, out); }
};
struct rich_stream : rich {
  struct cursor {
    rich const* of;
    std::int64_t at;
    bool next(example_view& out) {
      if (at == 10) return false;
      of->put(at++, out);
      return true;
    }
  };
  cursor open(int, int, std::int64_t, std::int64_t position) const { return {this, position}; }
};

TEST(features, keep_targets_weights_and_keys) {
  training made = trainer<narrow>(small);
  for (dataset const& data : {dataset(rich_by_number{}), dataset(rich_stream{})}) {
    feature_set const found = made.features({"dense_2", "dense_1"}, data, 4);
    ASSERT_EQ(found.size(), 10);
    EXPECT_EQ(found.describe().inputs[1].example, shape{10});
    example_view one;
    one.allocate(found.describe());
    found.get(7, one);
    EXPECT_EQ(*reinterpret_cast<float const*>(one.at(1)), found.of("dense_1")[7][0]);
    EXPECT_EQ(*reinterpret_cast<float const*>(one.at(2)), 4.5F);
    EXPECT_EQ(one.weight, 1.75F);
    EXPECT_EQ(one.key, "h");
  }
}

TEST(features, of_a_padded_input_have_no_mask_if_the_data_set_has_none) {
  training made = trainer<narrow>(graph::build([](builder& b) {
    return b.padded_input({3, 1}, 0) | dense{.units = 2} | global_avg_pool{} | dense{.units = 1}
           | mean_squared_error{};
  }));
  std::vector<float> const steps{1, 2, 0, 3, 0, 0}, wanted{1, 2};
  dataset const data = arrays({array_view{.values = {steps.data(), shape{2, 3, 1}}}},
                              {array_view{.values = {wanted.data(), shape{2, 1}}}});
  feature_set const found = made.features({"dense_1"}, data);
  EXPECT_TRUE(found.describe().masks.empty());
  EXPECT_EQ(found.describe().inputs[0].mask, -1);
  tensor_view const all(steps.data(), shape{2, 3, 1});
  EXPECT_EQ(found.of("dense_1").values, made.outputs_of({"dense_1"}, all)[0].values);
  training second = trainer<narrow>(graph::build([](builder& b) {
    return b.input({3, 2}) | flatten{} | dense{.units = 1} | mean_squared_error{};
  }));
  EXPECT_EQ(second.fit(found, {.batch = 2, .epochs = 1}).steps, 1);
}

TEST(features, refuse_unknown_names_and_list_the_known_ones) {
  training made = trainer<narrow>(small);
  bright_thirds const examples(4);
  tensor_view const all(examples.pixels.data(), shape{4, 1, 8, 8});
  for (char const* name : {"dense_3", "input_1", ""}) {
    EXPECT_NE(
        refusal_of<setting_error>([&] { made.features({name}, examples.data()); }).find("dense_1, relu_2"),
        std::string::npos);
    EXPECT_NE(refusal_of<setting_error>([&] { made.outputs_of({name}, all); }).find("dense_1, relu_2"),
              std::string::npos);
  }
  feature_set const codes = made.features({"dense_1"}, examples.data());
  EXPECT_THROW(codes.of("dense_2"), setting_error);
  EXPECT_THROW(made.features({"dense_1"}, examples.data(), 0), setting_error);
  EXPECT_THROW(made.features({"dense_1"}, synthetic_digits(2, 1)), shape_error);
}

// ---- parameters for another network ----------------------------------------------------------------------

graph with_head(int units, char const* name) {
  return graph::build([=](builder& net) {
    return net.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3} | relu{} | max_pool{.window = 2}
           | batch_norm{} | dense{.units = 10} | relu{} | dense{.units = units, .name = name}
           | softmax_cross_entropy{};
  });
}

std::vector<float> values_of(training const& made, std::string const& layer) {
  std::vector<float> all;
  int p = 0;
  for (parameter const& one : made.parameters().table()) {
    std::vector<float> dense(static_cast<std::size_t>(one.spec.dims.elements()));
    made.parameters().read(p++, made.parameters().master(), reinterpret_cast<std::byte*>(dense.data()));
    if (made.network().name(one.node) == layer) all.insert(all.end(), dense.begin(), dense.end());
  }
  return all;
}

/// A model file for one test, removed at its end.
struct scratch_file {
  std::string path = testing::TempDir() + "cohort_features_" + std::to_string(::getpid());
  ~scratch_file() { ::unlink(path.c_str()); }
};

TEST(load_matching, loads_all_layers_but_a_mismatched_head_bitwise) {
  bright_thirds const examples(40);
  training first = trainer<narrow>(with_head(3, "head"), {.seed = 5});
  first.fit(examples.data(), {.batch = 10});
  scratch_file const file;
  first.save(file.path, true);
  for (int of : {0, 1, 2}) {
    training second = trainer<narrow>(with_head(5, "head"), {.seed = 6});
    auto const head = values_of(second, "head");
    transfer_report const report = of == 0   ? second.load_matching(file.path)
                                   : of == 1 ? second.load_matching(model_file::open(file.path))
                                             : second.load_matching(first);
    EXPECT_EQ(report.loaded, (std::vector<std::string>{"conv2d_1", "batch_norm_1", "dense_1"}));
    ASSERT_EQ(report.skipped.size(), 1U);
    EXPECT_EQ(report.skipped[0].layer, "head");
    EXPECT_NE(report.skipped[0].reason.find("expected "), std::string::npos) << report.text();
    for (char const* layer : {"conv2d_1", "batch_norm_1", "dense_1"})
      EXPECT_EQ(values_of(second, layer), values_of(first, layer)) << layer;
    EXPECT_EQ(values_of(second, "head"), head);
    EXPECT_EQ(second.step(), 0);
    tensor_view const all(examples.pixels.data(), shape{40, 1, 8, 8});
    EXPECT_EQ(second.outputs_of({"dense_1"}, all)[0].values, first.outputs_of({"dense_1"}, all)[0].values);
  }
}

TEST(load_matching, reports_absent_layers_and_loads_only_whole_layers) {
  training const first = trainer<narrow>(with_head(3, "head"));
  graph const biasless = graph::build([](builder& net) {
    return net.input({1, 8, 8}) | conv2d{.filters = 4, .kernel = 3, .bias = false, .name = "stem"} | relu{}
           | max_pool{.window = 2} | batch_norm{} | dense{.units = 10, .bias = false}
           | dense{.units = 3, .name = "top"} | softmax_cross_entropy{};
  });
  training second = trainer<narrow>(biasless);
  EXPECT_EQ(second.load_matching(first).text(),
            "loaded: batch_norm_1, dense_1; skipped: stem (absent), top (absent)");
  training back = trainer<narrow>(with_head(3, "top"), {.seed = 9});
  auto const dense_before = values_of(back, "dense_1");
  EXPECT_EQ(back.load_matching(second).text(),
            "loaded: batch_norm_1, top; skipped: conv2d_1 (absent), dense_1 (bias is absent)");
  EXPECT_EQ(values_of(back, "dense_1"), dense_before);
}

TEST(load_matching, converts_parameters_of_another_type) {
  training const first = trainer<reference<double>>(with_head(3, "head"));
  training second = trainer<narrow>(with_head(3, "head"), {.seed = 8});
  EXPECT_EQ(second.load_matching(first).skipped.size(), 0U);
  EXPECT_EQ(second.checksum(), trainer<narrow>(with_head(3, "head")).checksum());
}

TEST(load_matching, refuses_models_without_common_layers_and_files_that_are_no_models) {
  training made = trainer<narrow>(with_head(3, "head"));
  std::string const before = made.checksum();
  auto const other =
      graph::build([](builder& net) { return net.input({2}) | dense{.units = 2, .name = "own"}; });
  EXPECT_NE(
      refusal_of<data_error>([&] { made.load_matching(trainer<narrow>(other)); }).find("conv2d_1 (absent)"),
      std::string::npos);
  EXPECT_THROW(made.load_matching(testing::TempDir() + "no such file"), file_error);
  scratch_file const file;
  std::ofstream(file.path) << "no model";
  EXPECT_THROW(made.load_matching(file.path), data_error);
  EXPECT_EQ(made.checksum(), before);
}

// ---- several heads ----------------------------------------------------------------------------------------

constexpr auto two_heads = network<[](builder& net) {
  tensor const trunk = net.input({1, 8, 8}) | dense{.units = 12} | relu{};
  return std::tuple(trunk | dense{.units = 3} | softmax_cross_entropy{.name = "third"},
                    trunk | dense{.units = 2} | softmax_cross_entropy{.weight = 0.25, .name = "left"});
}>();

/// Which third is bright, and whether it is the left one.
struct two_targets {
  bright_thirds examples;
  std::vector<std::int32_t> left;
  explicit two_targets(int count) : examples(count, 4) {
    for (std::int32_t label : examples.labels) left.push_back(label == 0);
  }
  tensor_view pixels() const { return {examples.pixels.data(), shape{int(left.size()), 1, 8, 8}}; }
  dataset data() const {
    shape const each{int(left.size())};
    return arrays({{.name = "input", .values = pixels()}},
                  {{.name = "third", .values = {examples.labels.data(), each}, .classes = 3},
                   {.name = "left", .values = {left.data(), each}, .classes = 2}});
  }
};

TEST(several_heads, are_evaluated_with_separate_targets) {
  two_targets const known(150), held(61);
  for (int ranks : {1, 2})
    launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
      training made = trainer<narrow>(two_heads, world, allreduce{},
                                      {.optimizer = {adam{.learning_rate = 0.01}}, .workers = 2});
      made.fit(known.data(), {.batch = 30 / ranks, .epochs = 12});
      classification_report of_third(3), of_left(2), again(3);
      made.evaluate(held.data(), {{"left", &of_left}, {"third", &of_third}, {"third", &again}}, {.batch = 7});
      std::vector<predictions> const heads = made.outputs_of({"left", "third"}, held.pixels());
      classification_report third(3), left(2);
      third.add({heads[1].values.data(), shape{61, 3}}, held.examples.labels);
      left.add({heads[0].values.data(), shape{61, 2}}, held.left);
      EXPECT_EQ(of_third.stats(), third.stats());
      EXPECT_EQ(of_left.stats(), left.stats());
      EXPECT_EQ(again.stats(), third.stats());
      EXPECT_GT(third.accuracy().value(), 0.9);
      EXPECT_GT(left.accuracy().value(), 0.9);
      EXPECT_EQ(made.evaluate(held.data()).stats(), third.stats()) << "the first loss's, as ever";
      evaluator* const alone[]{&third};
      third.clear();
      made.evaluate(held.data(), alone);
      EXPECT_EQ(third.stats(), of_third.stats());
      classification_report none(3);
      std::string const why = refusal_of<setting_error>([&] {
        made.evaluate(held.data(), {{"dense_1", &none}});
      });
      EXPECT_NE(why.find("third, left"), std::string::npos) << why;
    });
}

TEST(several_heads, contribute_to_the_loss_by_their_weights) {
  two_targets const known(40);
  training made = trainer<narrow>(two_heads);
  classification_report third(3), left(2);
  made.evaluate(known.data(), {{"third", &third}, {"left", &left}});
  double const loss = made.fit(known.data(), {.batch = 40}).loss;  // of the parameters before the step
  EXPECT_NEAR(loss, third.log_loss().value() + 0.25 * left.log_loss().value(), 1e-5);
}

}  // namespace features_test
