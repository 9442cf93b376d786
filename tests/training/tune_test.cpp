// SPDX-License-Identifier: Apache-2.0
// covers: training/run_autotuner
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/io/detail/cached_file.hpp>
#include <cohort/io/folder.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/training/tune.hpp>

#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "../checkpoint/scratch_folder.hpp"
#include "bright_thirds.hpp"

namespace tune_test {

using namespace cohort;
using namespace cohort_test;
using wide = reference<double>;

class tune_in_a_folder : public testing::Test {
 protected:
  using ways = std::vector<std::string>;
  /// The choice if the candidates take these seconds. `timed` records the candidates that were timed.
  std::size_t chosen(std::string const& what, ways const& names, std::vector<double> const& seconds) {
    timed.assign(names.size(), 0);
    return tune<wide>({.folder = folder})->choose(what, names, [&](std::size_t way) {
      ++timed[way];
      return seconds[way];
    });
  }
  bool has_timed() const {
    for (int const count : timed)
      if (count > 0) return true;
    return false;
  }

  scratch_folder scratch;
  std::string folder = scratch / "cache/choices";
  std::vector<int> timed;
};

TEST_F(tune_in_a_folder, chooses_the_fastest_candidate_and_caches_the_choice) {
  ways const three{"rule", "one", "other"};
  EXPECT_EQ(chosen("a", three, {3e-3, 2e-3, 1e-3}), 2U);
  EXPECT_EQ(timed, (std::vector<int>{3, 3, 3})) << "in turn";
  EXPECT_EQ(chosen("a", three, {1, 2, 3}), 2U);
  EXPECT_FALSE(has_timed());
  EXPECT_EQ(chosen("b", three, {1e-3, 2e-3, 3e-3}), 0U) << "of another shape nothing is known";
  EXPECT_TRUE(has_timed());
  EXPECT_EQ(chosen("a", three, {1, 2, 3}), 2U);
}

TEST_F(tune_in_a_folder, keeps_the_default_candidate_if_the_gain_is_small) {
  EXPECT_EQ(chosen("a", {"rule", "one"}, {1e-3, 0.98e-3}), 0U);
  EXPECT_EQ(chosen("b", {"rule", "one", "two"}, {1e-3, 0.96e-3, 0.959e-3}), 2U);
  double const never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(chosen("c", {"rule", "one"}, {1e-3, never}), 0U);
}

TEST_F(tune_in_a_folder, uses_the_shortest_time_of_the_rounds) {
  std::vector<double> const by_round[]{{5e-3, 3e-3}, {2e-3, 3e-3}, {5e-3, 3e-3}};
  std::vector<int> rounds(2);
  std::vector<std::string> const two{"rule", "one"};
  auto const seconds = [&](std::size_t way) {
    return by_round[static_cast<std::size_t>(rounds[way]++)][way];
  };
  EXPECT_EQ(tune<wide>({.folder = folder})->choose("a", two, seconds), 0U);
}

TEST_F(tune_in_a_folder, measures_slow_candidates_once) {
  EXPECT_EQ(chosen("a", {"rule", "one"}, {2, 1}), 1U);
  EXPECT_EQ(timed, (std::vector<int>{1, 1}));
}

TEST_F(tune_in_a_folder, repeats_measurements_if_the_cache_is_damaged_or_outdated) {
  EXPECT_EQ(chosen("a", {"rule", "one"}, {2e-3, 1e-3}), 1U);
  std::string const file = folder + '/' + io::list_folder(folder)->at(0);
  std::ofstream(file) << "nothing";
  EXPECT_EQ(chosen("a", {"rule", "one"}, {2e-3, 1e-3}), 1U);
  EXPECT_TRUE(has_timed());
  EXPECT_EQ(chosen("a", {"rule", "one"}, {2e-3, 1e-3}), 1U);
  EXPECT_FALSE(has_timed()) << "it was written again";
  EXPECT_EQ(chosen("a", {"rule", "another"}, {1e-3, 2e-3}), 0U);
  EXPECT_TRUE(has_timed());
}

TEST_F(tune_in_a_folder, measures_again_without_a_folder) {
  folder = "";
  EXPECT_EQ(chosen("a", {"rule", "one"}, {2e-3, 1e-3}), 1U);
  EXPECT_EQ(chosen("a", {"rule", "one"}, {1e-3, 2e-3}), 0U);
}

class workers_by_calibration : public tune_in_a_folder {
 protected:
  /// Calibrates workers of the reference backend for three processors. `handles` records the backend handles
  /// made for that.
  training_settings settled(training_settings settings, int processors = 3, graph_view net = small,
                            int batch = 12) {
    static std::vector<int>* asked;
    handles.clear();
    asked = &handles;
    settings.workers = 0;
    settings.log = [this](std::string_view line) { log += std::string(line) + '\n'; };
    tune<wide>({.batch = batch, .processors = processors, .folder = folder})
        ->choose_workers(net, settings, "a machine", [](graph_view net, training_settings const& trial) {
          asked->push_back(trial.workers);
          return detail::make_backend_handle<wide>(net, trial);
        });
    return settings;
  }

  std::vector<int> handles;
  std::string log;
};

TEST_F(workers_by_calibration, are_timed_in_turn_and_cached) {
  training_settings const first = settled({});
  EXPECT_TRUE((first.workers == 3 && first.threads == 1) || (first.workers == 1 && first.threads == 3));
  EXPECT_EQ(handles, (std::vector<int>{3, 1, 3, 1, 3, 1}));
  EXPECT_TRUE(log.starts_with("calibrated: ") && log.find("ms a step") != log.npos) << log;
  log.clear();
  training_settings const second = settled({});
  EXPECT_TRUE(handles.empty());
  EXPECT_EQ(second.workers, first.workers);
  EXPECT_EQ(second.threads, first.threads);
  EXPECT_NE(log.find("(cached)"), log.npos) << log;
  settled({.optimizer = {adam{}}});
  EXPECT_FALSE(handles.empty()) << "other settings";
  settled({}, 2);
  EXPECT_FALSE(handles.empty()) << "fewer processors";
  settled({}, 3, small, 13);
  EXPECT_FALSE(handles.empty()) << "another batch";
  graph const other = graph::build([](builder& net) {
    return net.input({1, 6, 6}) | dense{.units = 4} | softmax_cross_entropy{};
  });
  settled({}, 3, other);
  EXPECT_FALSE(handles.empty()) << "another network";
}

TEST_F(workers_by_calibration, are_read_from_the_cache) {
  settled({});
  std::string const file = folder + '/' + io::list_folder(folder)->at(0);
  for (char const* const kept : {"1 worker of 3 threads", "3 workers of 1 thread"}) {
    std::ifstream in(file);
    std::string const whole((std::istreambuf_iterator<char>(in)), {});
    std::string const description = whole.substr(whole.find('\n') + 1, whole.rfind('\n') - whole.find('\n'));
    detail::cached_file(folder, "cohort choice 1", ".choice", description).write(kept);
    training_settings const s = settled({});
    EXPECT_TRUE(handles.empty());
    EXPECT_EQ(s.workers, kept[0] - '0');
    EXPECT_EQ(s.workers * s.threads, 3);
  }
}

TEST_F(workers_by_calibration, are_limited_by_the_memory) {
  training_settings settings{.workers = 0};
  std::shared_ptr<run_autotuner> const choosing =
      tune<wide>({.batch = 12, .processors = 3, .folder = folder});
  choosing->choose_workers(small, settings, "a machine", [](graph_view net, training_settings const& trial) {
    if (trial.workers > 1) throw memory_error({.what = "the plan does not fit"});
    return detail::make_backend_handle<wide>(net, trial);
  });
  EXPECT_EQ(settings.workers, 1);
  EXPECT_EQ(settings.threads, 3);
}

TEST_F(workers_by_calibration, are_a_single_worker_on_a_single_processor) {
  training_settings const s = settled({}, 1);
  EXPECT_EQ(s.workers, 1);
  EXPECT_EQ(s.threads, 1);
  EXPECT_TRUE(handles.empty());
}

/// For every choice, the run has the same bits as a run with these numbers set by hand.
TEST_F(workers_by_calibration, do_not_affect_the_training) {
  bright_thirds const examples(60);
  auto const fitted = [&](training& made) {
    made.fit(examples.data(), {.batch = 12, .epochs = 2});
    return made.checksum();
  };
  training_settings settings{.optimizer = {adam{.learning_rate = 0.01}}, .workers = 0};
  settings.tune = tune<wide>({.batch = 12, .processors = 3, .folder = folder});
  training tuned = trainer<wide>(small, settings);
  settings.workers = tuned.settings().workers;
  settings.threads = tuned.settings().threads;
  EXPECT_GT(settings.workers, 0);
  settings.tune = nullptr;
  training by_hand = trainer<wide>(small, settings);
  EXPECT_EQ(fitted(tuned), fitted(by_hand));
}

TEST_F(workers_by_calibration, need_an_autotuner) {
  try {
    trainer<wide>(small, {.workers = 0});
    ADD_FAILURE();
  } catch (setting_error const& why) {
    EXPECT_EQ(std::string(why.what()),
              "the number of workers or threads is too small: expected at least 1 of each; 0 workers only "
              "with tune, "
              "which calibrates them, got 0 workers, 1 threads");
  }
}

/// Losses on numbers, inputs of several kinds, sums over the batch: generated examples suit all these
/// networks.
TEST_F(workers_by_calibration, accept_any_network) {
  graph const several = graph::build([](builder& net) {
    tensor const words = net.input({4}) | embedding{.vocabulary = 5, .width = 3};
    tensor const image =
        net.input({2, 4, 4}) | conv2d{.filters = 3, .kernel = 3} | synchronised_batch_norm{} | relu{};
    words | dense{.units = 2} | hinge{.sum_steps = true};
    net.input({4}) | embedding{.vocabulary = 5, .width = 3, .mask_zero = true} | dense{.units = 2}
        | softmax_cross_entropy{.sum_steps = true};
    net.masked_input({4, 2}) | global_avg_pool{} | dense{.units = 2} | softmax_cross_entropy{};
    tensor const head = image | dense{.units = 4};
    head | kullback_leibler{};
    head | softmax_cross_entropy{};
  });
  training_settings settings{.workers = 0};
  settings.tune = tune<wide>({.batch = 4, .processors = 2, .folder = folder});
  training const made = trainer<wide>(several, settings);
  EXPECT_EQ(made.settings().workers * made.settings().threads, 2);
}

}  // namespace tune_test
