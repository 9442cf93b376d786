// SPDX-License-Identifier: Apache-2.0
// covers: data/sharding
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/fit_normalisation.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/mapped.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/data/split.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/data/windows.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/load.hpp>
#include <cohort/training/metric.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"

namespace normalise_test {

using namespace cohort;
using narrow = reference<float>;

constexpr auto line =
    network<[](builder& net) { return net.input({2}) | dense{.units = 1} | mean_squared_error{}; }>();

/// Prices of about 200,000 by area and rooms: numbers on which a network does not learn without a
/// normalisation.
struct houses {
  std::vector<float> features, prices;

  explicit houses(int count, std::uint64_t seed = 1) {
    random_stream const noise(seed, "houses");
    for (std::uint64_t n = 0; n < static_cast<std::uint64_t>(count); ++n) {
      float const area = 50 + 100 * noise.uniform01(2 * n), rooms = 1 + 5 * noise.uniform01(2 * n + 1);
      features.insert(features.end(), {area, rooms});
      prices.push_back(1000 * area + 20'000 * rooms);
    }
  }
  int count() const { return static_cast<int>(prices.size()); }
  dataset data() const {
    return arrays({array_view{.values = {features.data(), {count(), 2}}}},
                  {array_view{.name = "price", .values = {prices.data(), {count()}}}});
  }
};

training_settings const settings{.optimizer = {sgd{.learning_rate = 0.1}}};
normalisation_settings const both{.targets = rescaling::standardise};
fit_settings const few{.batch = 16, .epochs = 3};

TEST(normalise, trains_on_rescaled_numbers_and_predicts_in_original_units) {
  houses const seen(400), held(50, 2);
  training run = trainer<narrow>(line, settings);
  run.normalise(seen.data(), both);
  fit_report const report = run.fit(
      seen.data(),
      {.batch = 16, .epochs = 10, .validation = held.data(), .metrics = {metrics::rmse, metrics::r2}});
  EXPECT_LT(report.loss, 0.01) << "the loss is that of standardised targets";
  EXPECT_LT(report.history["rmse"].back(), 2000) << "metrics are in the targets' units";
  EXPECT_GT(report.history["r2"].back(), 0.99);
  regression_report evaluated;
  run.evaluate(held.data(), {&evaluated});
  EXPECT_EQ(evaluated.rmse().value(), report.history["rmse"].back());
  predictions const answers = run.predict(tensor_view(held.features.data(), {50, 2}));
  for (int i = 0; i < 50; ++i)
    EXPECT_NEAR(answers[i][0], held.prices[static_cast<std::size_t>(i)], 6000) << i;
  EXPECT_EQ(run.outputs_of({"mean_squared_error_1"}, tensor_view(held.features.data(), {50, 2}))[0].values,
            answers.values);
}

TEST(normalise, equals_training_on_data_that_was_rescaled_before) {
  houses const seen(100);
  normalisation const fitted = fit_normalisation(seen.data(), both);
  training before = trainer<narrow>(line, settings), during = trainer<narrow>(line, settings);
  before.fit(normalised(seen.data(), fitted), few);
  during.normalise(seen.data(), both);
  EXPECT_EQ(during.normalisation(), fitted);
  during.fit(seen.data(), few);
  EXPECT_EQ(before.checksum(), during.checksum());
  training plain = trainer<narrow>(line, settings);
  during = trainer<narrow>(line, settings);
  during.normalise(fitted);
  during.normalise(normalisation{});
  plain.fit(normalised(seen.data(), fitted), few);
  during.fit(normalised(seen.data(), fitted), few);
  EXPECT_EQ(plain.checksum(), during.checksum()) << "an empty normalisation changes nothing";
}

TEST(normalise, rescales_the_batches_of_single_steps) {
  houses const seen(96);
  training run = trainer<narrow>(line, settings), stepped = trainer<narrow>(line, settings);
  for (training* one : {&run, &stepped}) one->normalise(seen.data(), both);
  run.fit(seen.data(), few);
  loader batches(seen.data(), {.batch = few.batch, .seed = settings.seed});
  for (int epoch = 0; epoch < few.epochs; ++epoch) {
    batches.start(epoch);
    while (batch const* const next = batches.next()) stepped.train_on(*next);
    stepped.end_epoch();
  }
  EXPECT_EQ(run.checksum(), stepped.checksum());
  batches.start(0);
  batch const* const first = batches.next();
  EXPECT_LT(run.loss_of(*first), 1);
}

TEST(normalise, computes_the_maps_over_all_ranks) {
  houses const seen(101);
  normalisation const whole = fit_normalisation(seen.data(), both);
  auto const close = [](channel_scaling const& a, channel_scaling const& b) {
    EXPECT_NEAR(a.scale, b.scale, 1e-12 * std::abs(b.scale));
    EXPECT_NEAR(a.offset, b.offset, 1e-12 * std::abs(b.offset));
  };
  for (sharding const how : {sharding::global, sharding::local}) {
    std::mutex one_at_a_time;
    std::vector<std::string> parameters;
    launch<threads>(3, [&](communicator& world) {
      training run = trainer<narrow>(line, world, allreduce{}, settings);
      std::vector<dataset> const parts = split(seen.data(), {0.5, 0.25, 0.25});
      dataset const mine =
          how == sharding::local ? parts[static_cast<std::size_t>(world.rank())] : seen.data();
      run.normalise(mine, both, how);
      run.fit(mine, {.batch = 8, .epochs = 1, .sharding = how});
      std::lock_guard const lock(one_at_a_time);
      for (std::size_t c = 0; c < 2; ++c) close(run.normalisation().inputs[0][c], whole.inputs[0][c]);
      close(run.normalisation().targets[0][0], whole.targets[0][0]);
      parameters.push_back(run.checksum());
    });
    EXPECT_EQ(parameters, std::vector<std::string>(3, parameters[0]));
  }
}

TEST(normalise, stores_its_maps_in_models_and_checkpoints) {
  scratch_folder const folder;
  houses const seen(100), held(10, 2);
  tensor_view const asked(held.features.data(), {10, 2});
  training run = trainer<narrow>(line, settings);
  run.normalise(seen.data(), both);
  run.fit(seen.data(), few);
  run.save(folder / "model");
  run.save(folder / "with_state", true);
  save_checkpoint(run, folder / "kept");
  std::vector<float> const answers = run.predict(asked).values;
  EXPECT_EQ(load_trained<narrow>(folder / "model").predict(asked).values, answers);
  for (char const* file : {"model", "with_state"}) {
    training loaded = trainer<narrow>(line, settings);
    loaded.load(folder / file);
    EXPECT_EQ(loaded.normalisation(), run.normalisation());
    EXPECT_EQ(loaded.predict(asked).values, answers);
  }
  training resumed = trainer<narrow>(line, settings);
  ASSERT_TRUE(resume(resumed, folder / "kept"));
  EXPECT_EQ(resumed.normalisation(), run.normalisation());
  training plain = trainer<narrow>(line, settings);
  plain.save(folder / "plain");
  resumed.load(folder / "plain");
  EXPECT_TRUE(resumed.normalisation().empty()) << "a model without a normalisation";
}

TEST(normalise, an_encoder_of_tables_is_part_of_models_and_checkpoints) {
  scratch_folder const folder;
  std::string text = "age,city,answer\n";
  for (int i = 0; i < 60; ++i)
    text += std::to_string(20 + i % 50) + (i % 3 ? ",Rome," : ",Bern,") + (i % 3 ? "yes" : "no") + '\n';
  data_table const people = parse_table(text, "people.csv");
  table_encoder const encoder(people, {.target = "answer"});
  dataset const examples = encoder.examples(people);
  graph const net = graph::build([&](builder& b) {
    return b.input(examples.describe().inputs[0].example) | dense{.units = encoder.classes()}
           | softmax_cross_entropy{};
  });
  training run = trainer<narrow>(net, settings);
  EXPECT_THROW(run.encoder(), setting_error);
  EXPECT_THROW(run.predict(people), setting_error);
  run.keep(encoder);
  run.normalise(examples);
  run.fit(examples, {.batch = 8, .epochs = 30});
  data_table const asked = parse_table("city,age\nBern,33\nRome,61\n", "asked.csv");
  predictions const answers = run.predict(asked);
  ASSERT_EQ(answers.count(), 2);
  EXPECT_GT(answers[0][0], 0.9) << "no";
  EXPECT_GT(answers[1][1], 0.9) << "yes";
  run.save(folder / "model");
  save_checkpoint(run, folder / "kept");
  training const loaded = load_trained<narrow>(folder / "model");
  EXPECT_EQ(loaded.predict(asked).values, answers.values);
  EXPECT_EQ(loaded.encoder().label_names(), (std::vector<std::string>{"no", "yes"}));
  training resumed = trainer<narrow>(net, settings);
  ASSERT_TRUE(resume(resumed, folder / "kept"));
  EXPECT_EQ(resumed.predict(asked).values, answers.values);
}

TEST(normalise, refuses_maps_that_do_not_fit_the_network) {
  scratch_folder const folder;
  houses const seen(20);
  training run = trainer<narrow>(line, settings);
  run.normalise(seen.data(), both);
  normalisation const fitted = run.normalisation();
  EXPECT_EQ(refusal_of<shape_error>([&] {
              run.normalise(normalisation{{{{1, 0}, {1, 0}, {1, 0}}}, {}});
            }),
            "a normalisation does not fit the network (input_1): expected 2 maps, got 3");
  EXPECT_EQ(refusal_of<shape_error>([&] {
              run.normalise(normalisation{{}, {{{1, 0}, {1, 0}}}});
            }),
            "a normalisation does not fit the network (mean_squared_error_1): expected 1 map, got 2");
  EXPECT_EQ(refusal_of<shape_error>([&] {
              run.normalise(normalisation{{{}, {}}, {}});
            }),
            "a normalisation does not fit the network (inputs): expected 1, got 2");
  for (double const scale : {0.0, std::nan(""), HUGE_VAL})
    EXPECT_THROW(run.normalise(normalisation{{{{scale, 0}, {1, 0}}}, {}}), setting_error) << scale;
  EXPECT_EQ(run.normalisation(), fitted) << "after an error the former one is in use";
  constexpr auto wider =
      network<[](builder& net) { return net.input({3}) | dense{.units = 1} | mean_squared_error{}; }>();
  training other = trainer<narrow>(wider, settings);
  EXPECT_THROW(other.normalise(fitted), shape_error);
}

TEST(normalise, rescales_the_numbers_among_the_targets_of_several_losses) {
  constexpr auto three = network<[](builder& net) {
    tensor const x = net.input({2});
    return std::tuple(x | dense{.units = 3} | softmax_cross_entropy{},
                      x | dense{.units = 1} | mean_squared_error{},
                      x | dense{.units = 1} | binary_cross_entropy{});
  }>();
  houses const seen(64);
  std::vector<std::int32_t> kinds;
  std::vector<float> sold;
  for (int i = 0; i < seen.count(); ++i) {
    kinds.push_back(i % 3);
    sold.push_back(static_cast<float>(i % 2));
  }
  array_view const features{.name = "features", .values = {seen.features.data(), {64, 2}}};
  array_view const kind{.name = "kind", .values = {kinds.data(), {64}}, .classes = 3};
  array_view const price{.name = "price", .values = {seen.prices.data(), {64, 1}}};
  array_view const chance{.name = "sold", .values = {sold.data(), {64, 1}}};
  training run = trainer<narrow>(three, settings);
  run.normalise(arrays({features}, {kind, price, chance}), both);
  ASSERT_EQ(run.normalisation().targets.size(), 3U);
  EXPECT_TRUE(run.normalisation().targets[0].empty()) << "class labels";
  EXPECT_EQ(run.normalisation().targets[1].size(), 1U);
  EXPECT_TRUE(run.normalisation().targets[2].empty()) << "probabilities";
  EXPECT_LT(run.fit(arrays({features}, {kind, price, chance}), few).loss, 5);
}

TEST(normalise, refuses_data_without_a_target_that_can_be_rescaled) {
  constexpr auto odds =
      network<[](builder& net) { return net.input({2}) | dense{.units = 1} | binary_cross_entropy{}; }>();
  houses const seen(16);
  std::vector<float> const sold(16, 1);
  training run = trainer<narrow>(odds, settings);
  EXPECT_EQ(
      refusal_of<setting_error>([&] {
        run.normalise(arrays({array_view{.values = {seen.features.data(), {16, 2}}}},
                             {array_view{.name = "sold", .values = {sold.data(), {16, 1}}}}),
                      both);
      }),
      "this target cannot be rescaled (target sold): expected numbers without bounds, or "
      "normalisation_settings::targets = rescaling::none, got probabilities, or numbers without features");
}

TEST(normalise, refuses_a_model_of_another_network) {
  constexpr auto wider =
      network<[](builder& net) { return net.input({3}) | dense{.units = 1} | mean_squared_error{}; }>();
  scratch_folder const folder;
  houses const seen(16);
  training saved = trainer<narrow>(line, settings);
  saved.normalise(seen.data());
  saved.save(folder / "model");
  training other = trainer<narrow>(wider, settings);
  EXPECT_EQ(refusal_of<data_error>([&] { other.load(folder / "model"); })
                .find("the model belongs to another network (" + std::string(folder / "model")
                      + ", tensor \"dense_1.weights\"): expected 1x3 in network "),
            0U);
}

TEST(normalise, reports_invalid_maps_of_a_model_file) {
  scratch_folder const folder;
  training run = trainer<narrow>(line, settings);
  model_content content(run.network());
  content.add_parameters(run.parameters());
  content.add_metadata("data/preparation",
                       R"({"normalisation":)" + normalisation{{{{2, 0}}}, {}}.to_json() + '}');
  save_model(folder / "model", content);
  run.normalise(normalisation{{{{2, 0}, {3, 0}}}, {}});
  for (auto const& read : {std::function<void()>([&] { run.load(folder / "model"); }),
                           std::function<void()>([&] { load_trained<narrow>(folder / "model"); })}) {
    std::string const why = refusal_of<data_error>(read);
    EXPECT_NE(why.find("data/preparation"), why.npos) << why;
    EXPECT_NE(why.find("expected 2 maps, got 1"), why.npos) << why;
  }
  EXPECT_EQ(run.normalisation().inputs[0].size(), 2U);
}

TEST(normalise, refuses_to_rescale_an_input_whose_padding_is_marked_by_a_value) {
  graph const net = graph::build([](builder& b) {
    return b.padded_input({3, 1}, -1) | global_avg_pool{} | dense{.units = 1} | mean_squared_error{};
  });
  std::vector<float> const steps{1, 2, -1, 3, -1, -1}, answers{1, 2};
  training run = trainer<narrow>(net, settings);
  EXPECT_NE(refusal_of<shape_error>([&] {
              run.normalise(arrays({{.name = "x", .values = {steps.data(), {2, 3, 1}}}},
                                   {{.name = "y", .values = {answers.data(), {2, 1}}}}));
            }).find("no maps for an input whose padding is marked by a value"),
            std::string::npos);
  EXPECT_TRUE(run.normalisation().inputs.empty());
}

TEST(normalise, must_be_the_same_on_every_rank) {
  houses const seen(60);
  EXPECT_EQ(refusal_of<setting_error>([&] {
              launch<threads>(2, [&](communicator& world) {
                training run = trainer<narrow>(line, world, allreduce{}, settings);
                if (world.rank() == 1) run.normalise(fit_normalisation(seen.data()));
                run.fit(seen.data(), few);
              });
            }).substr(0, 44),
            "the ranks of this run differ (normalisation)");
  EXPECT_THROW(launch<threads>(2,
                               [&](communicator& world) {
                                 training run = trainer<narrow>(line, world, allreduce{}, settings);
                                 run.normalise(seen.data(),
                                               world.rank() == 0 ? both : normalisation_settings{});
                               }),
               setting_error);
}

TEST(normalise, keeps_the_former_maps_if_numbers_cannot_be_rescaled) {
  houses const seen(20);
  training run = trainer<narrow>(line, settings);
  run.normalise(seen.data(), both);
  normalisation const former = run.normalisation();
  dataset const damaged = mapped(seen.data(), [](std::int64_t i, example_view& one) {
    if (i == 13) one.edit<float>(0)[1] = HUGE_VALF;
  });
  EXPECT_EQ(refusal_of<data_error>([&] { run.normalise(damaged); }).substr(0, 55),
            "numbers cannot be rescaled (input , channel 1): expecte");
  EXPECT_EQ(run.normalisation(), former);
}

TEST(normalise, is_refused_during_fit) {
  houses const seen(40);
  struct changing final : listener {
    dataset data;
    explicit changing(dataset d) : data(std::move(d)) {}
    void on_epoch(training& run, epoch_report const&) override { run.normalise(data); }
  } changes(seen.data());
  training run = trainer<narrow>(line, settings);
  EXPECT_THROW(run.fit(seen.data(), {.batch = 8, .listeners = {&changes}}), setting_error);
}

/// Rows with an area and a city, whose index an embedding reads.
data_table cities(int rows) {
  std::string text = "area,city,rent\n";
  for (int i = 0; i < rows; ++i)
    text += std::to_string(20 + 7 * i % 90) + (i % 3 ? ",Rome," : ",Bern,") + std::to_string(900 + i) + '\n';
  return parse_table(text, "flats.csv");
}

TEST(normalise, does_not_rescale_the_indices_of_embeddings) {
  data_table const flats = cities(50);
  table_encoder const encoder(flats, {.target = "rent", .regression = true, .indexed = {"city"}});
  graph const net = graph::build([&](builder& b) {
    tensor const area = b.input({1}), city = b.input({1});
    return concat(area | dense{.units = 2}, city | embedding{.vocabulary = 2, .width = 2} | flatten{})
           | dense{.units = 1} | mean_squared_error{};
  });
  arrays const encoded = encoder.examples(flats);
  training run = trainer<narrow>(net, settings);
  run.normalise(encoded, both);
  EXPECT_EQ(run.normalisation().inputs[0].size(), 1U);
  EXPECT_TRUE(run.normalisation().inputs[1].empty());
  EXPECT_TRUE(fit_normalisation(encoded).inputs[1].empty());
  EXPECT_NO_THROW(run.fit(encoded, few));
  // The network shows which inputs are indices, even if the data does not.
  std::vector<float> const areas(50, 3), indices(50, 1), rents(50, 5);
  arrays const plain({array_view{.name = "area", .values = {areas.data(), {50, 1}}},
                      array_view{.name = "city", .values = {indices.data(), {50, 1}}}},
                     {array_view{.name = "rent", .values = {rents.data(), {50, 1}}}});
  run.normalise(plain);
  EXPECT_TRUE(run.normalisation().inputs[1].empty());
}

TEST(normalise, predicts_rows_with_any_content_of_the_target_column) {
  data_table const flats = cities(50);
  table_encoder const encoder(flats, {.target = "rent", .regression = true});
  graph const net = graph::build([&](builder& b) {
    return b.input(encoder.examples(flats).describe().inputs[0].example) | dense{.units = 1}
           | mean_squared_error{};
  });
  training run = trainer<narrow>(net, settings);
  run.keep(encoder);
  predictions const answers = run.predict(parse_table("area,city\n50,Rome\n60,Bern\n", "asked"));
  for (char const* text :
       {"area,city,rent\n50,Rome,?\n60,Bern,?\n", "area,city,rent\n50,Rome,low\n60,Bern,high\n"})
    EXPECT_EQ(run.predict(parse_table(text, "asked", {.missing = missing_values::keep})).values,
              answers.values);
  EXPECT_EQ(run.predict(flats.select({})).count(), 0);
}

TEST(normalise, rescales_the_columns_of_windows) {
  std::vector<float> weather;  // of sizes that differ by 1,000
  for (int t = 0; t < 120; ++t)
    weather.insert(weather.end(), {std::sin(0.3F * static_cast<float>(t)),
                                   1000 + 50 * std::sin(0.3F * static_cast<float>(t) + 1)});
  dataset const data = windows(time_series(weather, 2), {.length = 6, .targets = {"c1"}});
  graph const net = graph::build([&](builder& b) {
    return b.input({6, 2}) | flatten{} | dense{.units = 1} | mean_squared_error{};
  });
  training run = trainer<narrow>(net, {.optimizer = {sgd{.learning_rate = 0.05}}});
  run.normalise(data, both);
  EXPECT_LT(run.fit(data, {.batch = 8, .epochs = 30}).loss, 1e-3) << "a sine is a linear recurrence";
  predictions const next = run.predict(tensor_view(weather.data(), {1, 6, 2}));
  EXPECT_NEAR(next[0][0], weather[13], 5) << "in the column's own units";
}

}  // namespace normalise_test
