// SPDX-License-Identifier: Apache-2.0
// covers: training/listener training/performance_listener training/progress_listener training/score_listener
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <array>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/performance_listener.hpp>
#include <cohort/training/progress_listener.hpp>
#include <cohort/training/score_listener.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <cohort/training/trainer.hpp>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"

namespace listeners_test {

using namespace cohort;

constexpr auto tiny =
    network<[](builder& net) { return net.input({2}) | dense{.units = 2} | softmax_cross_entropy{}; }>();

/// Records the lines.
struct recorded {
  std::vector<std::string> lines;
  sink to() {
    return [this](std::string_view line) { lines.emplace_back(line); };
  }
};

using texts = std::vector<std::string>;

class listeners : public testing::Test {
 protected:
  training& nobody() { return training_; }

  /// Calls the listener for `count` steps from `step` on, each with the given loss and times.
  void steps(listener& one, std::int64_t step, int count, step_report each) {
    for (int i = 0; i < count; ++i) {
      each.step = step + i;
      each.step_in_epoch = step + i;
      one.on_step(training_, each);
    }
  }

  training training_ = trainer<reference<float>>(tiny);
};

TEST_F(listeners, score_reports_the_mean_loss_since_its_last_line) {
  recorded said;
  score_listener score(2, said.to());
  score.on_step(nobody(), {.step = 0, .examples = 3, .weight = 3, .loss = 1});
  EXPECT_TRUE(said.lines.empty());
  score.on_step(nobody(), {.step = 1, .examples = 1, .weight = 1, .loss = 2});
  score.on_step(nobody(), {.step = 2, .examples = 2, .weight = 2, .loss = 0.5});
  score.on_step(nobody(), {.step = 3, .examples = 2, .weight = 2, .loss = 0.25});
  EXPECT_EQ(said.lines, (texts{"step 2: loss 1.2500", "step 4: loss 0.3750"}));
}

TEST_F(listeners, losses_are_weighted_and_steps_that_are_not_finite_do_not_count) {
  recorded said, drawn;
  score_listener score(4, said.to());
  progress_listener progress({.lines = {}, .bar = drawn.to(), .bar_seconds = 0});
  double const weights[]{2, 0, 6, 0}, losses[]{1, NAN, 3, 0};
  for (int i = 0; i < 4; ++i)
    for (listener* one : std::array<listener*, 2>{&score, &progress})
      one->on_step(nobody(), {.step = i,
                              .step_in_epoch = i,
                              .steps_in_epoch = 9,
                              .examples = 4,
                              .weight = weights[i],
                              .loss = losses[i],
                              .step_seconds = 1});
  EXPECT_EQ(said.lines, texts{"step 4: loss 2.5000"});
  ASSERT_EQ(drawn.lines.size(), 4U);
  EXPECT_NE(drawn.lines[1].find("loss 1.0000,"), std::string::npos) << drawn.lines[1];
  EXPECT_NE(drawn.lines[3].find("loss 2.5000,"), std::string::npos) << drawn.lines[3];
  score_listener nothing(1, said.to());
  nothing.on_step(nobody(), {.examples = 4, .loss = NAN});
  EXPECT_EQ(said.lines.back(), "step 1: loss none");
}

TEST_F(listeners, are_refused_if_null) {
  std::array const numbers{0.F, 1.F};
  std::array const labels{1};
  score_listener score(2, {});
  EXPECT_EQ(refusal_of<setting_error>([&] {
              nobody().fit(arrays(numbers, {2}, labels, 2), {.listeners = {&score, nullptr}});
            }),
            "the listener is null (fit, listeners[1]): expected the address of a listener, got nullptr");
  EXPECT_EQ(nobody().step(), 0);
}

TEST_F(listeners, performance_reports_median_step_time_and_speed_of_each_interval) {
  recorded said;
  performance_listener performance(3, said.to());
  int step = 0;
  for (double milliseconds : {1.0, 10.0, 2.0, 4.0, 4.0, 4.0})
    performance.on_step(
        nobody(), {.step = step++, .examples = 26, .step_seconds = milliseconds / 1e3, .wait_seconds = 0});
  EXPECT_EQ(
      said.lines,
      (texts{"steps 1 to 3: 2.000 ms a step (median), 0.0 % of the time waiting for data, 6000 samples/s",
             "steps 4 to 6: 4.000 ms a step (median), 0.0 % of the time waiting for data, 6500 samples/s"}));
}

TEST_F(listeners, performance_reports_the_median_step_time_and_the_share_of_waiting) {
  recorded said;
  performance_listener performance(4, said.to());
  int step = 96;
  for (double milliseconds : {9.0, 2.0, 1.0, 3.0})
    performance.on_step(
        nobody(),
        {.step = step++, .examples = 10, .step_seconds = milliseconds / 1e3, .wait_seconds = 1.25e-3});
  EXPECT_EQ(
      said.lines,
      (texts{
          "steps 97 to 100: 2.500 ms a step (median), 25.0 % of the time waiting for data, 2000 samples/s"}));
}

TEST_F(listeners, performance_reports_exchange_waits_and_warns_if_they_exceed_compute) {
  recorded said;
  performance_listener performance(2, said.to());
  step_report each{
      .examples = 10, .step_seconds = 2e-3, .exchange_seconds = 1e-3, .bytes_sent = 1500, .ranks = 2};
  steps(performance, 0, 2, each);
  each.exchange_seconds = 1.5e-3;
  steps(performance, 2, 2, each);
  ASSERT_EQ(said.lines.size(), 3U);
  EXPECT_EQ(said.lines[0],
            "steps 1 to 2: 2.000 ms a step (median), 0.0 % of the time waiting for data, 5000 samples/s, "
            "50.0 % waiting "
            "for other ranks, 1.5 kB sent a step");
  EXPECT_EQ(said.lines[2].find("the exchange takes longer than compute: 1.50 ms a step"), 0U)
      << said.lines[2];
}

TEST_F(listeners, invalid_intervals_are_refused) {
  EXPECT_THROW(score_listener(0), setting_error);
  EXPECT_THROW(performance_listener(0), setting_error);
  EXPECT_THROW(performance_listener(std::int64_t{1} << 40), setting_error);
}

TEST_F(listeners, an_empty_sink_prints_nothing) {
  score_listener score(1, sink{});
  performance_listener performance(1, sink{});
  progress_listener progress({.lines = {}, .bar = {}, .line_seconds = 0});
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (listener* one : std::array<listener*, 3>{&score, &performance, &progress}) {
    one->on_step(nobody(), {.examples = 1});
    one->on_epoch(nobody(), {});
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(listeners, progress_without_a_terminal_prints_occasional_plain_lines) {
  recorded said;
  progress_listener progress({.lines = said.to(), .bar = {}, .line_seconds = 1});
  steps(progress, 0, 8,
        {.steps_in_epoch = 8,
         .examples = 4,
         .weight = 4,
         .loss = 0.5,
         .step_seconds = 0.25,
         .wait_seconds = 0.125});
  progress.on_epoch(nobody(), {.epoch = 0, .epochs = 1, .examples = 32, .loss = 0.5, .seconds = 4});
  EXPECT_EQ(said.lines,
            (texts{"epoch 1: step 3 of 8 (37 %), loss 0.5000, 11 samples/s, 2 s left",
                   "epoch 1: step 6 of 8 (75 %), loss 0.5000, 11 samples/s, 1 s left",
                   "epoch 1 of 1: loss 0.5000, 32 examples in 4.0 s, 8 samples/s, learning rate 0.1"}));
  for (std::string const& line : said.lines)
    for (char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
}

TEST_F(listeners, progress_shows_the_numbers_of_the_validation_data) {
  recorded said;
  progress_listener progress({.lines = said.to(), .bar = {}});
  progress.on_epoch(
      nobody(),
      {.examples = 32, .loss = 0.5, .seconds = 4, .validation = {{"validation loss", 0.25}, {"auc", NAN}}});
  EXPECT_EQ(said.lines,
            texts{"epoch 1: loss 0.5000, 32 examples in 4.0 s, 8 samples/s, validation loss 0.2500, auc -"});
}

TEST(listeners_of_ranks, only_rank_0_writes_and_counts_the_samples_of_all_ranks) {
  std::array<recorded, 3> said;
  launch<threads>(3, [&](communicator& world) {
    training made = trainer<reference<float>>(tiny, world, allreduce{});
    recorded& mine = said[static_cast<std::size_t>(world.rank())];
    score_listener score(1, mine.to());
    progress_listener progress({.lines = mine.to(), .bar = mine.to(), .bar_seconds = 0});
    for (listener* one : std::array<listener*, 2>{&score, &progress}) {
      one->on_step(
          made,
          {.steps_in_epoch = 8, .examples = 4, .weight = 4, .loss = 0.5, .step_seconds = 0.5, .ranks = 3});
      one->on_epoch(made, {.epochs = 1, .examples = 96, .loss = 0.5, .seconds = 4});
    }
  });
  EXPECT_EQ(said[1].lines, texts());
  EXPECT_EQ(said[2].lines, texts());
  ASSERT_EQ(said[0].lines.size(), 4U);
  EXPECT_NE(said[0].lines[1].find(", 24 samples/s by 3 ranks, 4 s left"), std::string::npos)
      << said[0].lines[1];
  EXPECT_EQ(said[0].lines[3],
            "epoch 1 of 1: loss 0.5000, 96 examples in 4.0 s, 24 samples/s, learning rate 0.1");
}

TEST_F(listeners, progress_draws_a_bar_and_removes_it_before_the_epochs_line) {
  std::vector<std::string> drawn;
  progress_listener progress(
      {.lines = [&](std::string_view line) { drawn.push_back("line: " + std::string(line)); },
       .bar = [&](std::string_view text) { drawn.emplace_back(text); },
       .bar_seconds = 0.5});
  steps(progress, 0, 4,
        {.epoch = 1, .steps_in_epoch = 4, .examples = 10, .weight = 10, .loss = 0.25, .step_seconds = 0.25});
  progress.on_epoch(nobody(), {.epoch = 1, .epochs = 3, .examples = 40, .loss = 0.25, .seconds = 1});
  EXPECT_EQ(
      drawn,
      (texts{"epoch 2 [==========>         ]  50 %, loss 0.2500, 40 samples/s, 1 s left",
             "epoch 2 [====================] 100 %, loss 0.2500, 40 samples/s, 0 s left", "",
             "line: epoch 2 of 3: loss 0.2500, 40 examples in 1.0 s, 40 samples/s, learning rate 0.1"}));
}

TEST_F(listeners, progress_prints_that_a_signal_stops_the_run) {
  recorded said;
  progress_listener progress({.lines = said.to(), .bar = {}});
  stop_on_signal const signals;
  steps(progress, 0, 3, {.epoch = 1, .steps_in_epoch = 8, .examples = 1, .weight = 1, .loss = 1});
  progress.on_vote(nobody(), {.stop = true});  // by another listener
  EXPECT_EQ(said.lines, texts());
  std::raise(SIGTERM);
  progress.on_vote(nobody(), {.save = true});
  EXPECT_EQ(said.lines, texts());
  progress.on_vote(nobody(), {.stop = true});
  EXPECT_EQ(said.lines, texts{"epoch 2: stopped by a signal after step 3"});
}

TEST_F(listeners, progress_restarts_with_each_epoch) {
  recorded said;
  progress_listener progress({.lines = said.to(), .bar = {}, .line_seconds = 1});
  progress.on_step(
      nobody(),
      {.epoch = 0, .steps_in_epoch = 2, .examples = 1, .weight = 1, .loss = 8, .step_seconds = 0.75});
  progress.on_step(
      nobody(),
      {.epoch = 1, .steps_in_epoch = 2, .examples = 1, .weight = 1, .loss = 1, .step_seconds = 0.75});
  EXPECT_TRUE(said.lines.empty());
  progress.on_step(nobody(), {.epoch = 1,
                              .step_in_epoch = 1,
                              .steps_in_epoch = 2,
                              .examples = 1,
                              .weight = 1,
                              .loss = 2,
                              .step_seconds = 0.75});
  EXPECT_EQ(said.lines, (texts{"epoch 2: step 2 of 2 (100 %), loss 1.5000, 1 samples/s, 0 s left"}));
}

TEST_F(listeners, progress_restarts_when_an_interrupted_epoch_is_repeated) {
  recorded said;
  progress_listener progress({.lines = said.to(), .bar = {}, .line_seconds = 1});
  steps(progress, 0, 1, {.steps_in_epoch = 2, .examples = 1, .weight = 1, .loss = 8, .step_seconds = 0.75});
  steps(progress, 0, 2, {.steps_in_epoch = 2, .examples = 1, .weight = 1, .loss = 1, .step_seconds = 0.75});
  EXPECT_EQ(said.lines, (texts{"epoch 1: step 2 of 2 (100 %), loss 1.0000, 1 samples/s, 0 s left"}));
}

TEST_F(listeners, progress_of_a_resumed_epoch_estimates_the_remaining_time_from_new_steps) {
  recorded said;
  progress_listener progress({.lines = said.to(), .bar = {}, .line_seconds = 2});
  steps(progress, 900, 2, {.steps_in_epoch = 1000, .examples = 1, .weight = 1, .loss = 1, .step_seconds = 1});
  EXPECT_EQ(said.lines, (texts{"epoch 1: step 902 of 1000 (90 %), loss 1.0000, 1 samples/s, 98 s left"}));
}

TEST_F(listeners, a_bar_is_removed_at_the_end_of_fit) {
  recorded drawn;
  progress_listener progress({.lines = {}, .bar = drawn.to(), .bar_seconds = 0});
  progress.on_step(nobody(), {.steps_in_epoch = 2, .examples = 2, .step_seconds = 0.5});
  progress.on_end(nobody());
  ASSERT_EQ(drawn.lines.size(), 2U);
  EXPECT_EQ(drawn.lines[1], "");
}

TEST_F(listeners, progress_over_a_stream_shows_no_total) {
  recorded said, drawn;
  progress_listener lines({.lines = said.to(), .bar = {}, .line_seconds = 0});
  lines.on_step(nobody(), {.steps_in_epoch = -1, .examples = 2, .weight = 2, .loss = 1, .step_seconds = 0.5});
  EXPECT_EQ(said.lines, (texts{"epoch 1: step 1, loss 1.0000, 4 samples/s"}));
  progress_listener bar({.lines = {}, .bar = drawn.to(), .bar_seconds = 0});
  bar.on_step(nobody(), {.steps_in_epoch = -1, .examples = 2, .weight = 2, .loss = 1, .step_seconds = 0.5});
  EXPECT_EQ(drawn.lines, (texts{"epoch 1: step 1, loss 1.0000, 4 samples/s"}));
}

TEST_F(listeners, a_bar_is_removed_if_training_is_interrupted) {
  recorded drawn;
  {
    progress_listener progress({.lines = {}, .bar = drawn.to(), .bar_seconds = 0});
    progress.on_step(nobody(),
                     {.steps_in_epoch = 2, .examples = 2, .weight = 2, .loss = 1, .step_seconds = 0.5});
    ASSERT_EQ(drawn.lines.size(), 1U);
  }
  ASSERT_EQ(drawn.lines.size(), 2U);
  EXPECT_EQ(drawn.lines[1], "");
}

TEST(progress_bar, is_cut_to_the_width_of_the_terminal) {
  int const terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  int const screen = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(screen, 0);
  winsize const window{.ws_row = 5, .ws_col = 8, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(screen, TIOCSWINSZ, &window), 0);
  int const before = ::dup(2);
  ::dup2(screen, 2);
  sink const bar = stderr_bar();
  for (char const* text : {"123456789", "1234567", "ää34567ä9", ""}) bar(text);
  ::dup2(before, 2);
  ::close(before);
  std::array<char, 256> shown;
  std::string const expected = "\r1234567\x1b[K\r1234567\x1b[K\rää34567\x1b[K\r\x1b[K\r";
  std::string all;
  while (all.size() < expected.size()) {
    auto const count = ::read(terminal, shown.data(), shown.size());
    ASSERT_GT(count, 0);
    all.append(shown.data(), static_cast<std::size_t>(count));
  }
  EXPECT_EQ(all, expected);
  ::close(screen);
  ::close(terminal);
}

TEST_F(listeners, are_notified_by_fit_in_order) {
  std::vector<float> const inputs{0, 1, 1, 0, 1, 1, 0, 0, 1, 2};
  std::vector<std::int32_t> const labels{0, 1, 0, 1, 1};
  recorded said;
  score_listener score(1, said.to());
  progress_listener progress({.lines = said.to(), .bar = {}, .line_seconds = 1e9});
  nobody().fit(arrays(inputs, {2}, labels, 2), {.batch = 3, .epochs = 2, .listeners = {&score, &progress}});
  ASSERT_EQ(said.lines.size(), 6U);
  for (auto [line, begins] :
       {std::pair(0, "step 1: loss "), std::pair(1, "step 2: loss "), std::pair(2, "epoch 1 of 2: loss "),
        std::pair(3, "step 3: loss "), std::pair(4, "step 4: loss "), std::pair(5, "epoch 2 of 2: loss ")})
    EXPECT_EQ(said.lines[static_cast<std::size_t>(line)].rfind(begins, 0), 0U)
        << said.lines[static_cast<std::size_t>(line)];
  EXPECT_NE(said.lines[2].find(", 5 examples in "), std::string::npos) << said.lines[2];
}

}  // namespace listeners_test
