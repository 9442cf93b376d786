// SPDX-License-Identifier: Apache-2.0
// What fit logs about schedules that do not end with the run.
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include "bright_thirds.hpp"

namespace schedule_notes_test {

using namespace cohort_test;
using schedule::unit;
using texts = std::vector<std::string>;

/// The notes of calls of fit with these numbers of epochs, of 8 steps each.
texts notes_of(training_settings settings, std::vector<int> const& epochs, dataset const& data) {
  texts notes;
  settings.log = [&](std::string_view line) {
    if (line.starts_with("the schedule ")) notes.emplace_back(line);
  };
  training run = trainer<reference<float>>(small, settings);
  for (int const count : epochs) run.fit(data, {.batch = 4, .epochs = count});
  return notes;
}
texts notes_of(training_settings const& settings, std::vector<int> const& epochs) {
  return notes_of(settings, epochs, bright_thirds(32).data());
}
texts notes_of_rate(rate_schedule const& rate, std::vector<int> const& epochs) {
  return notes_of({.optimizer = {sgd{.learning_rate = rate}}}, epochs);
}

TEST(schedule_notes, report_a_length_in_steps_that_was_probably_meant_in_epochs) {
  EXPECT_EQ(notes_of_rate(schedule::one_cycle{.final = 1e-3, .length = 5, .by = unit::step}, {5}),
            texts{"the schedule one_cycle of the rate ends after 5 of 40 steps and then stays at 0.001; "
                  "length counts steps: "
                  "change it, or set .by = schedule::unit::epoch"});
  EXPECT_EQ(notes_of_rate(schedule::polynomial{.length = 19, .by = unit::step}, {5}).size(), 1U);
  EXPECT_EQ(notes_of_rate(schedule::polynomial{.length = 20, .by = unit::step}, {5}), texts());
  EXPECT_EQ(notes_of_rate(schedule::cosine{.length = 2}, {5}).size(), 1U);
}

TEST(schedule_notes, report_a_length_in_epochs_that_was_probably_meant_in_steps) {
  EXPECT_EQ(notes_of_rate(schedule::cosine{.length = 40}, {5}),
            texts{"the schedule cosine of the rate ends after 40 epochs, this run after 5; length counts "
                  "epochs: change it, or "
                  "set .by = schedule::unit::step"});
  EXPECT_EQ(notes_of_rate(schedule::cosine{.length = 6, .restarts = true}, {5}).size(), 1U);
  EXPECT_EQ(notes_of_rate(schedule::warm_up{.length = 100, .rate = 0.1}, {5}),
            texts{"the schedule warm_up of the rate ends after 100 epochs, this run after 5; length counts "
                  "epochs: change it, or "
                  "set .by = schedule::unit::step"});
  EXPECT_EQ(notes_of_rate(schedule::map{.values = {{0, 0.1}, {5, 0.01}}}, {5}),
            texts{"the schedule map of the rate ends after 6 epochs, this run after 5; from counts epochs: "
                  "change it, or set "
                  ".by = schedule::unit::step"});
}

TEST(schedule_notes, are_not_logged_if_schedules_end_with_the_run) {
  for (rate_schedule const& one :
       {rate_schedule(0.1), rate_schedule(schedule::one_cycle{.length = 5}),
        rate_schedule(schedule::one_cycle{.length = 40, .by = unit::step}),
        rate_schedule(schedule::cosine{.length = 1, .restarts = true}),
        rate_schedule(schedule::step{.every = 30}),
        rate_schedule(schedule::map{.values = {{0, 0.01}, {1, 0.1}}}),
        rate_schedule(schedule::map{.values = {{0, 0.1}, {39, 0.01}}, .by = unit::step}),
        rate_schedule(schedule::warm_up{1, schedule::polynomial{.length = 5}})})
    EXPECT_EQ(notes_of_rate(one, {5}), texts()) << one.name();
}

TEST(schedule_notes, count_the_epochs_and_steps_of_earlier_calls) {
  EXPECT_EQ(notes_of_rate(schedule::cosine{.length = 6}, {3, 3}).size(), 1U)
      << "the first call ends before it";
  EXPECT_EQ(notes_of_rate(schedule::cosine{.length = 3}, {3, 3}), texts());
  EXPECT_EQ(notes_of_rate(schedule::cosine{.length = 16, .by = unit::step}, {2, 2, 0}), texts());
  EXPECT_EQ(notes_of_rate(schedule::cosine{.length = 16, .by = unit::step}, {2, 3}).size(), 1U);
  EXPECT_EQ(notes_of_rate(schedule::cosine{.length = 9}, {1, 1, 1, 1}).size(), 1U)
      << "one line for a loop of fits";
}

/// A stream of bright_thirds.
class image_stream {
 public:
  struct cursor {
    arrays const* of;
    std::int64_t at;
    bool next(example_view& into) {
      if (at >= of->size()) return false;
      of->get(at++, into);
      return true;
    }
  };
  data_description const& describe() const { return all_->describe(); }
  cursor open(int, int, std::int64_t, std::int64_t position) const { return {all_.get(), position}; }

 private:
  std::shared_ptr<bright_thirds> examples_ = std::make_shared<bright_thirds>(32);
  std::shared_ptr<arrays> all_ =
      std::make_shared<arrays>(std::span<float const>(examples_->pixels), shape{1, 8, 8},
                               std::span<std::int32_t const>(examples_->labels), 3);
};

TEST(schedule_notes, ignore_lengths_in_steps_for_a_stream) {
  auto const of = [](rate_schedule const& rate) {
    return notes_of({.optimizer = {sgd{.learning_rate = rate}}}, {5}, image_stream());
  };
  EXPECT_EQ(of(schedule::cosine{.length = 4000, .by = unit::step}), texts());
  EXPECT_EQ(of(schedule::cosine{.length = 4000}).size(), 1U);
}

TEST(schedule_notes, report_the_layer_and_the_momentum) {
  optimizer_rule const late =
      momentum{.learning_rate = 0.1, .momentum = schedule::map{.values = {{0, 0.5}, {9, 0.9}}}};
  optimizer_rule const early = sgd{.learning_rate = schedule::polynomial{.length = 1}};
  texts const notes =
      notes_of({.optimizer = {.rule = late,
                              .bias_rule = early,
                              .layers = {{.layer = "dense_*", .rule = early, .bias_rule = late}}}},
               {5});
  ASSERT_EQ(notes.size(), 4U);
  EXPECT_EQ(notes[0].rfind("the schedule map of the momentum ends after 10 epochs", 0), 0U) << notes[0];
  EXPECT_EQ(
      notes[1].rfind(
          "the schedule polynomial of the rate of biases ends after 1 of 5 epochs and then stays at 0", 0),
      0U)
      << notes[1];
  EXPECT_EQ(notes[2].rfind("the schedule polynomial of the rate of dense_*", 0), 0U) << notes[2];
  EXPECT_EQ(notes[3].rfind("the schedule map of the momentum of biases of dense_*", 0), 0U) << notes[3];
}

}  // namespace schedule_notes_test
