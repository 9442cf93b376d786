// SPDX-License-Identifier: Apache-2.0
// The programs of docs/prediction.md, docs/data.md, docs/sequences.md, docs/own_loop.md and
// docs/monitoring.md, identical to the pages (checked by tests/docs_test.py).
#include <gtest/gtest.h>
#include <algorithm>
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/data/sequences.hpp>
#include <cohort/monitoring/html_report_listener.hpp>
#include <cohort/monitoring/tensorboard_listener.hpp>
#include <cohort/prediction/dynamic_batcher.hpp>
#include <cohort/training/find_learning_rate.hpp>
#include <cohort/training/training_loop.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <thread>
#include <vector>
#include "../checkpoint/scratch_folder.hpp"

namespace trainer_pages_test {

constexpr auto digits = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28}) | dense{.units = 32, .bias = false} | batch_norm{} | relu{}
         | dense{.units = 10} | softmax_cross_entropy{};
}>();

int main() try {
  auto training = cohort::trainer<cohort::reference<float>>(digits, {.optimizer = {cohort::adam{}}});
  training.fit(cohort::synthetic_digits(2'000, 1), {.batch = 16});
  cohort::loader batches(cohort::synthetic_digits(64, 2), {.batch = 64, .shuffle = false});
  cohort::tensor_view const images = batches.next()->input();

  cohort::dynamic_batcher batcher(training, {.max_batch = 16, .max_delay = std::chrono::microseconds(500)});
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      for (int i = caller; i < 64; i += 4) {
        cohort::predictions const one = batcher.predict(images.rows(i, 1));  // blocks only this caller
        std::printf("image %d is a %d\n", i, one.best(0));
      }
    });
  for (std::thread& one : callers) one.join();
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}

TEST(docs_prediction, the_program_prints_a_line_for_each_of_64_images) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(main(), 0);
  std::string const said = testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 64);
  EXPECT_NE(said.find("image 63 is a "), std::string::npos);
}

namespace tables {

int main() try {
  using namespace cohort;
  data_table const people = read_table("people.csv", {.missing = missing_values::keep});
  auto const [training, held_out] = split(people, 0.8, {.seed = 1, .stratified_by = "answer"});
  table_encoder const encoder(training, {.target = "answer", .other = true, .impute = imputation::median});
  dataset const examples = encoder.examples(training);

  graph const net = graph::build([&](builder& b) {
    return b.input(examples.describe().inputs[0].example) | dense{.units = 16} | relu{}
           | dense{.units = encoder.classes()} | softmax_cross_entropy{};
  });
  cohort::training model = trainer<reference<float>>(net, {.optimizer = {adam{}}});
  model.keep(encoder);
  model.normalise(examples);
  model.fit(examples, {.batch = 16, .epochs = 10});
  std::printf("%s", model.evaluate(encoder.examples(held_out)).stats().c_str());
  std::printf("the model file will contain %s\n", to_json(model.encoder()).c_str());
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}

}  // namespace tables

/// Writes a file into the current folder for the duration of a test.
struct file_here {
  file_here(char const* name, std::string const& text) : path(name) { std::ofstream(path) << text; }
  ~file_here() { std::remove(path); }
  char const* path;
};

TEST(docs_data, the_program_trains_from_a_table) {
  std::string text = "age,city,answer\n";
  for (int i = 0; i < 200; ++i)
    text += (i % 9 ? std::to_string(20 + i % 50) : "NA") + (i % 3 ? ",Rome," : ",Bern,")
            + (i % 3 ? "yes" : "no") + '\n';
  file_here const people("people.csv", text);
  testing::internal::CaptureStdout();
  EXPECT_EQ(tables::main(), 0);
  std::string const said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("yes"), std::string::npos);
  EXPECT_NE(said.find(R"("vocabulary":["Bern","Rome"])"), std::string::npos);
}

TEST(docs_data, predictions_have_the_units_of_the_targets_before_normalisation) {
  using namespace cohort;
  std::vector<float> const areas{50, 100, 150, 200}, prices{100'000, 200'000, 300'000, 400'000};
  dataset const training = arrays({array_view{.values = {areas.data(), {4, 1}}}},
                                  {array_view{.name = "price", .values = {prices.data(), {4}}}});
  cohort::training run = trainer<reference<float>>(
      graph::build([](builder& b) { return b.input({1}) | dense{.units = 1} | mean_squared_error{}; }),
      {.optimizer = {sgd{.learning_rate = 0.2}}});
  run.normalise(training, {.inputs = rescaling::standardise, .targets = rescaling::standardise});
  run.fit(training, {.batch = 4, .epochs = 60});
  float const asked = 120;
  predictions const made = run.predict(tensor_view(&asked, {1, 1}));
  EXPECT_NEAR(made[0][0], 240'000, 1000);
}

TEST(docs_data, views_and_windows_have_the_documented_examples) {
  cohort::dataset const digits = cohort::synthetic_digits(50, 1);
  auto const [training, held_out] = cohort::split(digits, 0.8, {.seed = 1, .stratified = true});
  cohort::dataset const noisy = cohort::mapped(training, [](std::int64_t i, cohort::example_view& one) {
    cohort::random_stream const noise(7, "noise", static_cast<std::uint64_t>(one.epoch),
                                      static_cast<std::uint64_t>(i));
    std::span<std::uint8_t> const pixels = one.edit<std::uint8_t>(0);
    for (std::size_t p = 0; p < pixels.size(); ++p)
      if (noise.uniform01(p) < 0.01F) pixels[p] = 255;
  });
  EXPECT_EQ(held_out.size(), 10);
  std::size_t changed = 0;
  cohort::loader plain(training, {.batch = 40, .seed = 1}), with_noise(noisy, {.batch = 40, .seed = 1});
  auto const a = plain.next()->input().as<float>(), b = with_noise.next()->input().as<float>();
  for (std::size_t p = 0; p < a.size(); ++p) changed += a[p] != b[p];
  EXPECT_NEAR(static_cast<double>(changed) / static_cast<double>(a.size()), 0.01, 0.003);

  std::string text = "hour,temperature,pressure\n";
  for (int t = 0; t < 200; ++t) text += std::to_string(t) + ',' + std::to_string(t % 24) + ",1000\n";
  file_here const file("weather.csv", text);
  cohort::time_series const weather = cohort::read_table("weather.csv").series({"temperature", "pressure"});
  auto const [past, recent] = cohort::split_series(weather, 0.8);
  cohort::window_settings const day{.length = 24, .horizons = {6}, .targets = {"temperature"}};
  cohort::dataset const train = cohort::windows(past, day), test = cohort::windows(recent, day);
  EXPECT_EQ(train.size(), 160 - 30 + 1);
  EXPECT_EQ(test.size(), 40 - 30 + 1);
}

}  // namespace trainer_pages_test

namespace trainer_pages_test::own_loop {

constexpr auto digits = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  return net.input({1, 28, 28}) | dense{.units = 32} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
}>();

int main() try {
  namespace metrics = cohort::metrics;
  cohort::dataset const images = cohort::synthetic_digits(2'000, 1), held = cohort::synthetic_digits(500, 2);
  auto run = cohort::trainer<cohort::reference<float>>(digits, {.optimizer = {cohort::adam{}}});

  cohort::early_stopping_listener stopping(metrics::loss, {.patience = 2, .restore_best = true});
  cohort::fit_report const report = run.fit(images, {.batch = 16,
                                                     .epochs = 5,
                                                     .validation = held,
                                                     .metrics = {metrics::accuracy, metrics::top_k(3)},
                                                     .listeners = {&stopping}});
  std::printf("%s", report.history.csv().c_str());
  std::printf("accuracy after the last epoch: %.3f\n", report.history["accuracy"].back());
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}

void train_by_hand(cohort::training& run, cohort::tensor_view images, cohort::tensor_view labels) {
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int first = 0; first + 50 <= images.dims[0]; first += 50)
      run.train_on({images.rows(first, 50), labels.rows(first, 50)});
    cohort::epoch_report const done = run.end_epoch();
    std::printf("epoch %d: loss %.3f in training, %.3f after it\n", epoch + 1, done.loss,
                run.loss_of({images, labels}));
  }
}

/// Makes one step along the policy gradient.
cohort::step_report reinforce(cohort::training& policy, cohort::tensor_view states,
                              std::span<int const> actions, std::span<float const> advantages, int choices) {
  std::vector<float> targets(actions.size() * static_cast<std::size_t>(choices));
  for (std::size_t n = 0; n < actions.size(); ++n)
    targets[n * static_cast<std::size_t>(choices) + static_cast<std::size_t>(actions[n])] = advantages[n];
  return policy.train_on({states, {targets.data(), cohort::shape{states.dims[0], choices}}});
}

void train_in_parts(cohort::training& run, cohort::dataset const& images) {
  cohort::loader batches(images, {.batch = 64, .rank = run.world().rank(), .ranks = run.world().size()});
  cohort::training_loop loop(run);
  for (int epoch = 0; epoch < 2; ++epoch) {
    batches.start(epoch);
    while (cohort::batch const* const next = batches.next()) {
      loop.forward(*next);
      loop.backward();
      for (float& one : loop.gradient("dense_1.bias")) one *= 0.5F;
      double const norm = loop.clip_norm(1);
      loop.step();
      if (run.step() % 20 == 0)
        std::printf("step %d: loss %.3f, norm %.3f\n", int(run.step()), loop.loss(), norm);
    }
    run.end_epoch();
  }
}

double rate_for(cohort::training& run, cohort::dataset const& images) {
  cohort::rate_table const table =
      cohort::find_learning_rate(run, images, {.from = 1e-5, .to = 10, .steps = 80});
  std::printf("%s", table.csv().c_str());
  return table.suggested.value_or(0.01);
}

TEST(docs_training_loops, the_program_prints_its_history_and_accuracy) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(main(), 0);
  std::string const said = testing::internal::GetCapturedStdout();
  EXPECT_EQ(said.rfind("epoch,loss,examples,seconds,validation loss,accuracy,top-3 accuracy\n1,", 0), 0U)
      << said;
  EXPECT_NE(said.find("accuracy after the last epoch: 0."), std::string::npos) << said;

  cohort::dataset const images = cohort::synthetic_digits(640, 1);
  cohort::loader batches(images, {.batch = 640});
  batches.start(0);
  cohort::batch const& all = *batches.next();
  auto run = cohort::trainer<cohort::reference<float>>(digits, {.optimizer = {cohort::adam{}}});
  testing::internal::CaptureStdout();
  train_by_hand(run, all.input(), all.target());
  train_in_parts(run, images);
  EXPECT_EQ(run.epoch(), 4);
  double const rate = rate_for(run, images);
  EXPECT_GT(rate, 1e-5);
  EXPECT_LT(rate, 10);
  std::string const lines = testing::internal::GetCapturedStdout();
  EXPECT_NE(lines.find("epoch 2: loss "), std::string::npos) << lines;
  EXPECT_NE(lines.find("step 40: loss "), std::string::npos) << lines;
}

/// Plays 40 rounds of 64 images; the right digit is rewarded. The advantage is the reward minus its mean.
TEST(docs_training_loops, policy_gradients_raise_the_reward) {
  cohort::dataset const images = cohort::synthetic_digits(64, 1);
  cohort::loader batches(images, {.batch = 64, .shuffle = false});
  batches.start(0);
  cohort::batch const& all = *batches.next();
  std::span<std::int32_t const> const digit = all.target().as<std::int32_t>();
  auto policy =
      cohort::trainer<cohort::reference<float>>(digits, {.optimizer = {cohort::adam{.learning_rate = 0.01}}});
  double first = 0, last = 0;
  for (int round = 0; round < 40; ++round) {
    cohort::predictions const chances = policy.predict(all.input());
    cohort::random_stream const luck(1, "actions", static_cast<std::uint64_t>(round));
    std::vector<int> actions;
    std::vector<float> advantages;
    double rewards = 0;
    for (std::size_t n = 0; n < 64; ++n) {
      float rest = luck.uniform01(n);
      int action = 0;
      while (action < 9 && (rest -= chances[static_cast<int>(n)][static_cast<std::size_t>(action)]) > 0)
        ++action;
      actions.push_back(action);
      advantages.push_back(action == digit[n] ? 1.0F : 0.0F);
      rewards += advantages.back();
    }
    for (float& one : advantages) one -= static_cast<float>(rewards / 64);
    EXPECT_TRUE(reinforce(policy, all.input(), actions, advantages, 10).updated);
    (round < 5 ? first : last) = rewards / 64;
  }
  EXPECT_GT(last, first + 0.3) << "the mean reward rises";
}

namespace series {

constexpr int longest = 8;
constexpr auto tagger = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  return b.masked_input({longest}) | embedding{.vocabulary = 30, .width = 8}
         | conv1d{.filters = 16, .kernel = 3, .padding = padding::same} | relu{} | dense{.units = 2}
         | softmax_cross_entropy{};
}>();

int main() try {
  using namespace cohort;
  // Drawn rows of 3 to 8 numbers. A number has tag 1 if a larger one follows it.
  std::vector<std::int32_t> numbers, tags;
  std::vector<int> lengths;
  random_stream const draws(1, "rows");
  for (std::uint64_t row = 0, used = 0; row < 600; ++row) {
    lengths.push_back(3 + static_cast<int>(draws.below(used++, 6)));
    std::size_t const first = numbers.size();
    for (int step = 0; step < lengths.back(); ++step)
      numbers.push_back(static_cast<std::int32_t>(draws.below(used++, 30)));
    for (std::size_t at = first; at < numbers.size(); ++at)
      tags.push_back(at + 1 < numbers.size() && numbers[at + 1] > numbers[at] ? 1 : 0);
  }
  int const all = static_cast<int>(numbers.size());
  series_view const input{.name = "numbers", .values = series_of({numbers.data(), shape(all)}, lengths)};
  series_view const target{
      .name = "tags", .values = series_of({tags.data(), shape(all)}, lengths), .classes = 2};
  dataset const examples = sequences(input, target, {.length = longest});

  training model = trainer<reference<float>>(tagger, {.optimizer = {adam{.learning_rate = 0.01}}});
  model.fit(examples, {.batch = 16, .epochs = 20, .bucket = 128});
  classification_report const report = model.evaluate(examples);  // of steps, without padding
  std::printf("%d of %d tags are right\n", static_cast<int>(report.correct()),
              static_cast<int>(report.examples()));

  std::int32_t const row[longest]{3, 9, 4, 20, 1};
  std::uint8_t const mask[longest]{1, 1, 1, 1, 1};
  batch_view request;
  request.inputs = {tensor_view(row, {1, longest})};
  request.masks = {tensor_view(mask, {1, longest})};
  predictions const made = model.predict(request);
  for (int step = 0; step < 5; ++step) std::printf("%d: %d\n", row[step], made.best(0, step));
  return report.accuracy() > 0.9 ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}

}  // namespace series

TEST(docs_sequences, the_program_predicts_the_tag_of_each_number) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(series::main(), 0);
  std::string const said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("\n3: 1\n9: 0\n4: 1\n20: 0\n1: 0\n"), std::string::npos) << said;
}

}  // namespace trainer_pages_test::own_loop

namespace trainer_pages_test::checkpoints {

TEST(docs_checkpoints, the_program_writes_a_checkpoint) {
  scratch_folder const folder;
  std::string const before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  cohort::dataset const data = cohort::synthetic_digits(640, 1);
  auto run = cohort::trainer<cohort::reference<float>>(digits, {.optimizer = {cohort::adam{}}});
  cohort::checkpoint_listener saving("runs", 500);
  run.fit(data, {.batch = 64, .epochs = 10, .listeners = {&saving}});
  EXPECT_EQ(saving.newest(), "runs/step-000000000100");
  std::filesystem::current_path(before);
}

}  // namespace trainer_pages_test::checkpoints

namespace trainer_pages_test::monitoring {

using namespace cohort;

void train_with_tensorboard(training& training, dataset const& data) {
  tensorboard_listener board("runs/first", {.hyperparameters = {{"width", 200.0}}});
  training.fit(data, {.epochs = 5, .listeners = {&board}});
}

void train_with_report(training& training, dataset const& data, dataset const& test) {
  html_report_listener report("run.html", {.classified = test});
  training.fit(data,
               {.epochs = 5, .validation = test, .metrics = {metrics::accuracy}, .listeners = {&report}});
}

/// Runs in a scratch folder.
TEST(docs_monitoring, the_programs_write_their_files) {
  scratch_folder const folder;
  std::string const before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  auto training = trainer<reference<float>>(digits, {.optimizer = {adam{}}});
  train_with_tensorboard(training, synthetic_digits(64, 1));
  train_with_report(training, synthetic_digits(64, 1), synthetic_digits(64, 2));
  EXPECT_TRUE(std::filesystem::exists("run.html"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator("runs/first"), {}), 1);
  std::filesystem::current_path(before);
}

}  // namespace trainer_pages_test::monitoring
