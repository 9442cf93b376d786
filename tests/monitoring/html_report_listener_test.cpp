// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/io/file.hpp>
#include <cohort/monitoring/html_report_listener.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/trainer.hpp>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"

namespace html_report_listener_test {

using namespace cohort;

constexpr auto tiny = network<[](builder& net) {
  return net.input({2}) | dense{.units = 3, .name = "<hidden>"} | relu{} | dense{.units = 2}
         | softmax_cross_entropy{};
}>();

dataset examples() {
  static std::vector<float> const inputs{0, 1, 1, 0, 0.5, 1, 1, 0.25, 0, 0.75, 1, 0.5};
  static std::vector<int> const labels{0, 1, 0, 1, 0, 1};
  return arrays(inputs, {2}, labels, 2);
}

std::string text_of_file(std::string const& path) {
  auto const bytes = io::read_file(path);
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

/// The first error in the nesting of a page's elements; empty: none.
std::string nesting_error(std::string const& page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != page.npos; at = page.find('<', at + 1)) {
    std::size_t const end = page.find('>', at);
    if (end == page.npos) return "an open tag at the end";
    std::string const tag = page.substr(at + 1, end - at - 1);
    std::string const name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.starts_with("!") || tag.ends_with("/") || name == "meta") continue;
    if (!tag.starts_with("/")) {
      open.push_back(name);
      continue;
    }
    if (open.empty() || "/" + open.back() != tag) return tag;
    open.pop_back();
  }
  return open.empty() ? "" : open.back();
}

fit_settings settings_of(html_report_listener& report, int epochs = 2) {
  return {.batch = 2,
          .epochs = epochs,
          .validation = examples(),
          .metrics = {metrics::accuracy},
          .listeners = {&report}};
}

training made() {
  return trainer<reference<float>>(tiny, {.optimizer = {sgd{.learning_rate = 0.1}}, .seed = 3});
}

constexpr char const* refresh = "http-equiv=\"refresh\"";

TEST(html_report, contains_all_parts_in_one_file) {
  scratch_folder const folder;
  training run = made();
  html_report_listener report(folder / "run.html", {.title = "a <b> & c",
                                                    .every = 1,
                                                    .ratios_every = 2,
                                                    .classified = examples(),
                                                    .memory = run.memory_of(examples(), {.batch = 2})});
  run.fit(examples(), settings_of(report));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"run.html"}));
  std::string const page = text_of_file(folder / "run.html");
  EXPECT_EQ(page, report.page());
  EXPECT_EQ(nesting_error(page), "");
  for (char const* part : {"<title>a &lt;b&gt; &amp; c</title>",
                           "<b>completed</b>, step 6, 2 epochs, 1 rank",
                           "aria-label=\"Loss\"",
                           "validation loss",
                           "loss of the epoch",
                           "aria-label=\"Metrics\"",
                           ">accuracy<",
                           "aria-label=\"Speed\"",
                           "&lt;hidden&gt;.weights",
                           "confusion matrix",
                           "<th>recall</th>",
                           "6 examples, accuracy",
                           "<th>area under ROC</th>",
                           "ROC curves: each class against the others",
                           "Calibration",
                           "forward",
                           "backward",
                           "peak resident memory",
                           "computed before the run",
                           "aria-label=\"network\"",
                           "sgd",
                           "prefers-color-scheme: dark"})
    EXPECT_NE(page.find(part), page.npos) << part;
  for (char const* absent :
       {refresh, "<script", "<hidden>", "http://", "https://", "src=", "Exchange", ">nan", "nan,"})
    EXPECT_EQ(page.find(absent), page.npos) << absent;
}

constexpr auto two_outputs = network<[](builder& net) { return net.input({2}) | binary_cross_entropy{}; }>();
constexpr auto one_output = network<[](builder& net) { return net.input({1}) | binary_cross_entropy{}; }>();
constexpr auto regression =
    network<[](builder& net) { return net.input({2}) | dense{.units = 2} | mean_squared_error{}; }>();

/// Logits of four examples, and whether they have the properties.
dataset properties(int outputs) {
  static std::vector<float> const of_two{2, -1, -1, 0, 3, 1, -2, 2}, targets_of_two{1, 0, 1, 0, 1, 1, 0, 0};
  static std::vector<float> const of_one{2, -1, 0, -2}, targets_of_one{1, 1, 1, 0};
  bool const two = outputs == 2;
  return arrays(
      {{.name = "input", .values = {(two ? of_two : of_one).data(), {4, outputs}}}},
      {{.name = "target", .values = {(two ? targets_of_two : targets_of_one).data(), {4, outputs}}}});
}

std::string page_of(training& run, dataset const& classified) {
  scratch_folder const folder;
  html_report_listener report(folder / "run.html", {.classified = classified});
  report.on_epoch(run, {.epochs = 1});
  return report.page();
}

TEST(html_report, escapes_the_names_of_classes) {
  static std::vector<float> const inputs{0, 1, 1, 0};
  static std::vector<int> const labels{0, 1};
  training run = made();
  std::string const page = page_of(
      run,
      arrays(
          {{.name = "input", .values = {inputs.data(), {2, 2}}}},
          {{.name = "label", .values = {labels.data(), {2}}, .classes = 2, .label_names = {"a<b", "c&d"}}}));
  EXPECT_NE(page.find("<td>a&lt;b</td>"), page.npos) << page;
  EXPECT_EQ(page.find("a<b"), page.npos);
  EXPECT_EQ(page.find("c&d"), page.npos);
  EXPECT_EQ(nesting_error(page), "");
}

TEST(html_report, has_a_row_for_each_output_of_a_binary_loss) {
  training two = trainer<reference<float>>(two_outputs);
  std::string const page = page_of(two, properties(2));
  for (char const* part :
       {"4 examples, accuracy <b>62.5 %</b>", "<th>output</th><th>positive</th>", "ROC curves of the outputs",
        "<td>0</td><td>3</td><td>2</td><td>100.0 %</td><td>66.7 %</td><td>80.0 %</td><td>1.0000<",
        "<td>1</td><td>1</td><td>3</td><td>33.3 %</td><td>100.0 %</td><td>50.0 %</td><td>0.6667<"})
    EXPECT_NE(page.find(part), page.npos) << part << page;
  EXPECT_EQ(page.find("Calibration"), page.npos);
  EXPECT_EQ(nesting_error(page), "");
  training one = trainer<reference<float>>(one_output);
  std::string const page_of_one = page_of(one, properties(1));
  for (char const* part :
       {"accuracy <b>75.0 %</b>", "Calibration: frequency of positive examples",
        "<td>0</td><td>3</td><td>2</td><td>100.0 %</td><td>66.7 %</td><td>80.0 %</td><td>1.0000<"})
    EXPECT_NE(page_of_one.find(part), page_of_one.npos) << part << page_of_one;
}

TEST(html_report, refuses_classes_of_a_regression_after_the_first_step) {
  scratch_folder const folder;
  training run = trainer<reference<float>>(regression);
  html_report_listener report(folder / "run.html", {.classified = properties(2)});
  EXPECT_EQ(
      refusal_of<setting_error>([&] { run.fit(properties(2), {.batch = 2, .listeners = {&report}}); }),
      "the report cannot show classes of the first loss (html_report_settings::classified): expected a "
      "first loss with class indices, or binary_cross_entropy with at most 100 outputs; otherwise no data "
      "set, got mean_squared_error with output 2");
  EXPECT_EQ(run.step(), 1);
}

TEST(html_report, refuses_unusable_classified_data_after_the_first_step) {
  scratch_folder const folder;
  auto const refused = [&](html_report_settings settings) {
    training run = made();
    html_report_listener report(folder / "run.html", std::move(settings));
    EXPECT_THROW(run.fit(examples(), {.batch = 2, .listeners = {&report}}), error);
    EXPECT_EQ(run.step(), 1);
  };
  refused({.classified = examples(), .how = {.top = 3}});  // of two classes
  refused({.classified = properties(1)});                  // inputs of another shape
  static std::vector<float> const inputs{0, 1}, distribution{0.5, 0.5};
  refused({.classified = arrays({{.name = "input", .values = {inputs.data(), {1, 2}}}},
                                {{.name = "target", .values = {distribution.data(), {1, 2}}}})});
}

/// Checks the file after each step.
struct reader final : listener {
  explicit reader(std::string path) : path(std::move(path)) {}
  void on_step(training&, step_report const& done) override {
    std::string const page = text_of_file(path);
    EXPECT_TRUE(page.ends_with("</body></html>\n"));
    EXPECT_NE(page.find("<b>running</b>, step " + std::to_string(done.step + 1) + ","), page.npos) << page;
    EXPECT_NE(page.find("http-equiv=\"refresh\" content=\"7\""), page.npos);
  }
  std::string path;
};

TEST(html_report, is_rewritten_while_the_run_trains_and_then_no_longer_refreshed) {
  scratch_folder const folder;
  training run = made();
  html_report_listener report(folder / "run.html", {.seconds = 0, .refresh = 7});
  reader after(folder / "run.html");
  run.fit(examples(), {.batch = 2, .listeners = {&report, &after}});
  EXPECT_EQ(text_of_file(folder / "run.html").find(refresh), std::string::npos);
}

TEST(html_report, waits_between_two_writings) {
  scratch_folder const folder;
  training run = made();
  html_report_listener report(folder / "run.html", {.seconds = 2});
  auto const step = [&](std::int64_t number, double seconds) {
    report.on_step(run, {.step = number, .examples = 1, .weight = 1, .loss = 1, .step_seconds = seconds});
    return text_of_file(folder / "run.html").find("step " + std::to_string(number + 1) + ",")
           != std::string::npos;
  };
  EXPECT_TRUE(step(0, 1));
  EXPECT_FALSE(step(1, 1.5));
  EXPECT_TRUE(step(2, 0.5));
  EXPECT_FALSE(step(3, 1));
}

TEST(html_report, of_an_interrupted_run_says_so) {
  scratch_folder const folder;
  training run = made();
  {
    html_report_listener report(folder / "run.html");
    report.on_step(run, {.examples = 1, .weight = 1, .loss = 1, .step_seconds = 1});
  }
  std::string const page = text_of_file(folder / "run.html");
  EXPECT_NE(page.find("<b>interrupted</b>"), page.npos);
  EXPECT_EQ(page.find(refresh), page.npos);
}

TEST(html_report, of_a_stopped_run_says_so) {
  /// Requests a stop in the third step, or after the first epoch.
  struct stopping final : listener {
    bool within_epoch = false;
    void on_step(training& run, step_report const& done) override {
      if (within_epoch && done.step == 2) run.request({.stop = true});
    }
    void on_epoch(training& run, epoch_report const&) override { run.request({.stop = true}); }
  };
  scratch_folder const folder;
  for (bool const within_epoch : {true, false}) {
    training run = made();
    html_report_listener report(folder / "run.html");
    stopping stop;
    stop.within_epoch = within_epoch;
    run.fit(examples(), {.batch = 1, .epochs = 2, .listeners = {&report, &stop}});
    std::string const page = text_of_file(folder / "run.html");
    char const* const expected = within_epoch ? "<b>stopped</b>, step 4, epoch 1, step 4 of 6,"
                                              : "<b>stopped</b>, step 6, 1 epoch of 2,";
    EXPECT_NE(page.find(expected), page.npos) << page;
    EXPECT_EQ(page.find(refresh), page.npos);
  }
}

TEST(html_report, shows_the_phases_of_all_steps_but_the_first) {
  scratch_folder const folder;
  training run = made();
  html_report_listener report(folder / "run.html");
  auto const at = [](int ms) { return std::chrono::steady_clock::time_point(std::chrono::milliseconds(ms)); };
  step_times const times{at(0), at(1), at(1), at(4), at(9), at(10), at(12), at(12)};
  for (int i = 0; i < 3; ++i)
    report.on_step(
        run,
        {.step = i,
         .examples = 1,
         .step_seconds = i == 0 ? 100 : 0.011,
         .wait_seconds = 0.001,
         .times = i == 0 ? step_times{at(0), at(9), at(99), at(99), at(99), at(99), at(99), at(99)} : times});
  std::string const page = report.page();
  for (char const* row :
       {"wait for data</td><td>1</td><td>8.3 %", "forward</td><td>3</td><td>25.0 %",
        "backward</td><td>5</td><td>41.7 %", "exchange</td><td>1</td>", "update</td><td>2</td><td>16.7 %"})
    EXPECT_NE(page.find(row), page.npos) << row << page;
  EXPECT_EQ(page.find("prepare</td>"), page.npos);
}

TEST(html_report, of_several_ranks_is_written_by_rank_0_and_has_the_exchange) {
  scratch_folder const folder;
  launch<threads>(2, [&](communicator& world) {
    training run = trainer<reference<float>>(tiny, world, allreduce{});
    std::string const path = folder / (std::to_string(world.rank()) + ".html");
    html_report_listener report(path, {.every = 1, .classified = examples()});
    run.fit(examples(), settings_of(report));
  });
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"0.html"}));
  std::string const page = text_of_file(folder / "0.html");
  EXPECT_NE(page.find("<h2>Exchange</h2>"), page.npos);
  EXPECT_NE(page.find("2 ranks; rank 0 sent "), page.npos);
  EXPECT_NE(page.find("<td>message_bytes</td>"), page.npos) << page;
}

TEST(html_report, of_a_resumed_run_counts_from_its_first_step) {
  scratch_folder const folder;
  launch<threads>(2, [&](communicator& world) {
    training run = trainer<reference<float>>(tiny, world, allreduce{});
    html_report_listener report(folder / "run.html", {.seconds = 0});
    for (int i = 0; i < 3; ++i)
      report.on_step(run, {.step = 1000 + i,
                           .examples = 1,
                           .step_seconds = 1,
                           .bytes_sent = i == 0 ? 5'000'000U : 300U,
                           .ranks = 2});
    if (world.rank() == 0) {
      EXPECT_NE(report.page().find("rank 0 sent 300 B a step"), std::string::npos) << report.page();
    }
  });
}

TEST(html_report, shows_no_bytes_a_step_after_the_first_step_alone) {
  scratch_folder const folder;
  training run = made();
  run.fit(examples(), {.batch = 2});
  html_report_listener report(folder / "run.html", {.seconds = 0});
  report.on_step(run, {.step = 0, .examples = 1, .step_seconds = 1, .bytes_sent = 300, .ranks = 2});
  report.on_epoch(run, {.epochs = 1});  // the other ranks have made further steps
  EXPECT_EQ(report.page().find("rank 0 sent"), std::string::npos) << report.page();
}

TEST(html_report, shows_weighted_losses_and_the_speed_of_all_ranks) {
  scratch_folder const folder;
  training run = made();
  html_report_listener report(folder / "run.html", {.every = 2});
  for (int i = 0; i < 2; ++i)
    report.on_step(run, {.step = i,
                         .examples = 4,
                         .weight = i == 0 ? 2.0 : 6.0,
                         .loss = i == 0 ? 1.0 : 3.0,
                         .step_seconds = 1,
                         .ranks = 3});
  std::string const page = report.page();
  EXPECT_NE(page.find("loss of rank 0 <b>2.5</b>"), page.npos) << page;
  EXPECT_NE(page.find("samples/s <b>12</b>"), page.npos) << page;
}

TEST(html_report, relates_an_update_to_the_weights_before_it) {
  scratch_folder const folder;
  training run = trainer<reference<float>>(regression);
  html_report_listener report(folder / "run.html", {.ratios_every = 2, .seconds = 0});
  for (std::int64_t const step : {0, 1, 3}) {
    std::vector<float> const values(6, step == 0 ? 3.F : 3.3F);
    run.parameters().write_all(reinterpret_cast<std::byte const*>(values.data()), run.parameters().master());
    report.on_step(
        run, {.step = step, .examples = 1, .weight = 1, .loss = 1, .step_seconds = 1, .updated = step != 3});
  }
  EXPECT_NE(report.page().find("dense_1.weights <b>0.1</b>"), std::string::npos) << report.page();
}

TEST(html_report, of_a_second_fit_has_the_epochs_of_both) {
  scratch_folder const folder;
  training run = made();
  run.fit(examples(), {.batch = 2, .epochs = 2});
  html_report_listener report(folder / "run.html");
  run.fit(examples(), {.batch = 2, .epochs = 1, .listeners = {&report}});
  EXPECT_NE(report.page().find(", 3 epochs, 1 rank"), std::string::npos) << report.page();
}

TEST(html_report, shows_the_fastest_and_the_slowest_rank_of_each_phase) {
  scratch_folder const folder;
  launch<threads>(3, [&](communicator& world) {
    training run = trainer<reference<float>>(tiny, world, allreduce{});
    html_report_listener report(folder / "run.html");
    auto const at = [](int ms) {
      return std::chrono::steady_clock::time_point(std::chrono::milliseconds(ms));
    };
    int const forward = std::array{4, 2, 9}[static_cast<std::size_t>(world.rank())];
    step_times const times{at(0), at(0), at(0), at(forward), at(forward + 6), at(20), at(20), at(20)};
    for (int i = 0; i < 3; ++i)
      report.on_step(run, {.step = i, .examples = 1, .step_seconds = 1, .times = times});
    report.on_epoch(run, {.epochs = 1});
    if (world.rank() == 0) {
      std::string const page = report.page();
      for (char const* row : {"<td>forward</td><td>5</td><td>2</td><td>1</td><td>9</td><td>2</td>",
                              "<td>backward</td><td>6</td><td>6</td><td>0</td><td>6</td><td>0</td>",
                              "<td>exchange</td><td>9</td><td>5</td><td>2</td><td>12</td><td>1</td>",
                              "<td>all</td><td>20</td><td>20</td>"})
        EXPECT_NE(page.find(row), page.npos) << row << page;
    }
  });
}

TEST(html_report, does_not_change_the_run_and_logs_an_error_once) {
  std::vector<std::string> lines;
  training plain = made(), observed = made();
  html_report_listener report(
      "/no/such/folder/run.html",
      {.ratios_every = 1, .seconds = 0, .lines = [&](std::string_view line) { lines.emplace_back(line); }});
  plain.fit(examples(), {.batch = 2, .epochs = 2});
  observed.fit(examples(), {.batch = 2, .epochs = 2, .listeners = {&report}});
  EXPECT_EQ(plain.checksum(), observed.checksum());
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("html_report_listener: "), 0U) << lines[0];
  EXPECT_FALSE(report.last_error().empty());
}

TEST(html_report, refuses_invalid_intervals) {
  EXPECT_EQ(
      refusal_of<setting_error>([] { html_report_listener("a.html", {.every = 0}); }),
      "invalid interval (html_report_listener): expected every ≥ 1 step; ratios_every, seconds and refresh ≥ "
      "0, got 0, 500, 10 and 10");
  EXPECT_THROW(html_report_listener("a.html", {.ratios_every = -1}), setting_error);
  EXPECT_THROW(html_report_listener("a.html", {.seconds = -1}), setting_error);
  EXPECT_THROW(html_report_listener("a.html", {.refresh = -1}), setting_error);
}

}  // namespace html_report_listener_test
