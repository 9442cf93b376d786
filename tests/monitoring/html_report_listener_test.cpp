// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <chrono>
#include <cohort/backend/reference.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/json.hpp>
#include <cohort/monitoring/html_report_listener.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/training/trainer.hpp>
#include <cstdint>
#include <map>
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

/// The JSON text of a page. Checks the markup before and after it.
std::string text_of_run(std::string const& page) {
  std::string_view const begin = "<script type=\"application/json\" id=\"run\">";
  std::size_t const from = page.find(begin) + begin.size(), to = page.find("</script>", from);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>\n"));
  EXPECT_TRUE(page.substr(to).starts_with("</script>\n<script>\n\"use strict\";\n"));
  EXPECT_TRUE(page.ends_with("</script></body></html>\n"));
  return page.substr(from, to - from);
}

/// The document of a page.
class run_of_page {
 public:
  explicit run_of_page(std::string const& page) : document_(io::parse_json(text_of_run(page))) {}

  io::json_value operator[](std::string_view name) const { return document_.root().at(name); }
  double number(std::string_view name) const { return (*this)[name].number(); }
  std::string state() const { return std::string((*this)["state"].string()); }

 private:
  io::json_document document_;
};

/// Names and last values of curves.
std::map<std::string, double> curves_of(io::json_value curves) {
  std::map<std::string, double> found;
  for (io::json_value const curve : curves.items())
    found[std::string(curve.at(std::size_t{0}).string())] = curve.at(1).number();
  return found;
}

/// The numbers of an array; -1 for null.
std::vector<double> numbers_of(io::json_value array) {
  std::vector<double> numbers;
  for (io::json_value const each : array.items()) numbers.push_back(each.is_null() ? -1 : each.number());
  return numbers;
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
  run_of_page const shown(page);
  EXPECT_EQ(shown["title"].string(), "a <b> & c");
  EXPECT_EQ(shown.state(), "completed");
  for (auto const& [name, number] : std::map<char const*, double>{
           {"step", 6}, {"epoch", 2}, {"epochs", 2}, {"step_in_epoch", 0}, {"ranks", 1}, {"refresh", 0}})
    EXPECT_EQ(shown.number(name), number) << name;
  EXPECT_GT(shown.number("seconds"), 0);
  auto const names = [&](char const* curves) {
    std::vector<std::string> all;
    for (auto const& [name, last] : curves_of(shown[curves])) all.push_back(name);
    return all;
  };
  using texts = std::vector<std::string>;
  EXPECT_EQ(names("loss"), (texts{"loss of rank 0", "loss of the epoch", "validation loss"}));
  EXPECT_EQ(names("metrics"), texts{"accuracy"});
  EXPECT_EQ(names("speed"), texts{"samples/s"});
  EXPECT_EQ(names("updates"), (texts{"<hidden>.weights", "dense_2.weights"}));
  EXPECT_EQ(names("resident_memory"), texts{"peak resident memory of rank 0, MB"});
  io::json_value const losses = shown["loss"].at(std::size_t{0}).at(2);
  ASSERT_EQ(losses.size(), 6U);
  EXPECT_EQ(losses.at(5).at(std::size_t{0}).number(), 6);
  EXPECT_EQ(losses.at(5).at(1).number(), curves_of(shown["loss"])["loss of rank 0"]);
  io::json_value const classes = shown["classes"];
  EXPECT_EQ(classes.at("examples").number(), 6);
  EXPECT_EQ(classes.at("rows").size(), 2U);
  EXPECT_EQ(classes.at("confusion").size(), 2U);
  EXPECT_EQ(classes.at("curves").size(), 2U);
  EXPECT_GT(classes.at("calibration").size(), 0U);
  EXPECT_GT(shown["phases"].at(2).number(), 0);
  EXPECT_GT(shown["memory"].at("parameters").number(), 0);
  io::json_value const layers = shown["network"].at("layers");
  ASSERT_EQ(layers.size(), 5U);
  EXPECT_EQ(layers.at(1).at(std::size_t{0}).string(), "<hidden>");
  EXPECT_EQ(layers.at(1).at(1).string(), "dense");
  EXPECT_EQ(layers.at(1).at(2).string(), "3");
  EXPECT_EQ(layers.at(1).at(3).string(), "dense: units 3");
  EXPECT_EQ(numbers_of(layers.at(1).at(4)), std::vector<double>{0});
  EXPECT_NE(shown["settings"].string().find("sgd"), std::string_view::npos);
  EXPECT_TRUE(shown["exchange"].is_null());
  EXPECT_EQ(shown["phases_of_ranks"].size(), 0U);
}

TEST(html_report, needs_no_other_files) {
  std::string page = html_report_listener("run.html").page();
  std::string_view const only = "\"http://www.w3.org/2000/svg\"";  // the name of SVG, which is not loaded
  ASSERT_NE(page.find(only), page.npos);
  page.erase(page.find(only), only.size());
  for (char const* absent :
       {"http:", "https:", "src=", "href", "url(", "@import", "fetch(", "XMLHttpRequest", "@run@"})
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

TEST(html_report, escapes_names_that_contain_markup) {
  static std::vector<float> const inputs{0, 1, 1, 0};
  static std::vector<int> const labels{0, 1};
  std::string const script = "</script><script>alert('1')</script><!--", line = "a\u2028\"b\\\n\0c";
  training run = trainer<reference<float>>(graph::build([&](builder& net) {
    net.input({2}) | dense{.units = 2, .name = "</script>"} | softmax_cross_entropy{};
  }));
  scratch_folder const folder;
  html_report_listener report(folder / "run.html",
                              {.title = "<!--<script>\xff \xc3(",
                               .classified = arrays({{.name = "input", .values = {inputs.data(), {2, 2}}}},
                                                    {{.name = "label",
                                                      .values = {labels.data(), {2}},
                                                      .classes = 2,
                                                      .label_names = {script, line}}})});
  report.on_epoch(run, {.epochs = 1});
  std::string const text = text_of_run(text_of_file(folder / "run.html"));
  EXPECT_EQ(text.find('<'), text.npos);
  run_of_page const shown(report.page());
  EXPECT_EQ(shown["title"].string(), "<!--<script>? ?(");
  EXPECT_EQ(shown["classes"].at("labels").at(std::size_t{0}).string(), script);
  EXPECT_EQ(shown["classes"].at("labels").at(1).string(), line);
  EXPECT_EQ(shown["network"].at("layers").at(1).at(std::size_t{0}).string(), "</script>");
}

TEST(html_report, shows_the_class_names_of_the_training_for_data_without_names) {
  static std::vector<float> const inputs{0, 1, 1, 0};
  static std::vector<int> const labels{0, 1};
  training run = trainer<reference<float>>(tiny);
  run.fit(arrays(
      {{.name = "input", .values = {inputs.data(), {2, 2}}}},
      {{.name = "label", .values = {labels.data(), {2}}, .classes = 2, .label_names = {"cat", "dog"}}}));
  run_of_page const shown(page_of(run, examples()));
  EXPECT_EQ(shown["classes"].at("labels").at(1).string(), "dog");
}

TEST(html_report, has_a_row_for_each_output_of_a_binary_loss) {
  training two = trainer<reference<float>>(two_outputs);
  run_of_page const of_two(page_of(two, properties(2)));
  io::json_value const both = of_two["classes"];
  EXPECT_EQ(both.at("outputs").number(), 2);
  EXPECT_EQ(both.at("examples").number(), 4);
  EXPECT_EQ(both.at("accuracy").number(), 0.625);
  // actual, predicted, precision, recall, F1, area
  EXPECT_EQ(numbers_of(both.at("rows").at(std::size_t{0})), (std::vector<double>{3, 2, 1, 2 / 3.0, 0.8, 1}));
  EXPECT_EQ(numbers_of(both.at("rows").at(1)), (std::vector<double>{1, 3, 1 / 3.0, 1, 0.5, 2 / 3.0}));
  EXPECT_EQ(both.at("curves").size(), 2U);
  training one = trainer<reference<float>>(one_output);
  run_of_page const of_one(page_of(one, properties(1)));
  io::json_value const single = of_one["classes"];
  EXPECT_EQ(single.at("accuracy").number(), 0.75);
  EXPECT_EQ(numbers_of(single.at("rows").at(std::size_t{0})),
            (std::vector<double>{3, 2, 1, 2 / 3.0, 0.8, 1}));
  EXPECT_EQ(single.at("calibration").size(), 4U);
  EXPECT_GT(single.at("calibration_error").number(), 0);
}

/// The classes of a report of a network that is the identity, with these scores and labels.
std::string page_of_scores(std::vector<float> const& scores, std::vector<int> const& labels, int classes) {
  training run = trainer<reference<float>>(
      graph::build([&](builder& net) { net.input({classes}) | softmax_cross_entropy{}; }));
  auto const examples = static_cast<std::int64_t>(labels.size());
  return page_of(run, arrays({{.name = "input", .values = {scores.data(), {examples, classes}}}},
                             {{.name = "label", .values = {labels.data(), {examples}}, .classes = classes}}));
}

TEST(html_report, contains_a_confusion_matrix_and_calibration_bins) {
  std::vector<float> const scores{9, 0, 0, 0, 9, 0, 0, 9, 0, 0, 0, 0};
  run_of_page const shown(page_of_scores(scores, {0, 1, 2, 0}, 3));
  io::json_value const confusion = shown["classes"].at("confusion"),
                       bins = shown["classes"].at("calibration");
  EXPECT_EQ(numbers_of(confusion.at(std::size_t{0})), (std::vector<double>{2, 0, 0}));
  EXPECT_EQ(numbers_of(confusion.at(1)), (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(numbers_of(confusion.at(2)), (std::vector<double>{0, 1, 0}));
  ASSERT_EQ(bins.size(), 2U);  // probability, frequency, examples
  EXPECT_NEAR(bins.at(std::size_t{0}).at(std::size_t{0}).number(), 1 / 3.0, 1e-6);
  EXPECT_EQ(bins.at(std::size_t{0}).at(1).number(), 1);
  EXPECT_EQ(bins.at(1).at(1).number(), 2 / 3.0);
  EXPECT_EQ(bins.at(1).at(2).number(), 3);
  EXPECT_EQ(numbers_of(shown["classes"].at("rows").at(2)), (std::vector<double>{1, 0, -1, 0, 0, 1 / 3.0}));
}

TEST(html_report, contains_roc_curves_of_the_8_classes_with_the_smallest_areas) {
  constexpr int classes = 10, count = 40;
  std::vector<float> scores;
  std::vector<int> labels;
  for (int i = 0; i < count; ++i) {
    labels.push_back(i % classes);
    for (int c = 0; c < classes; ++c)  // classes 3 and 7 are perfectly separated, the others in part
      scores.push_back(c == i % classes ? (c == 3 || c == 7 ? 9.F : 0.3F)
                                        : 0.1F * static_cast<float>((i * 7 + c) % 40));
  }
  run_of_page const shown(page_of_scores(scores, labels, classes));
  io::json_value const curves = shown["classes"].at("curves");
  ASSERT_EQ(curves.size(), 8U);
  double before = 0;
  for (io::json_value const curve : curves.items()) {
    EXPECT_NE(curve.at(std::size_t{0}).number(), 3);
    EXPECT_NE(curve.at(std::size_t{0}).number(), 7);
    EXPECT_GE(curve.at(1).number(), before);
    before = curve.at(1).number();
    EXPECT_EQ(numbers_of(curve.at(2).at(std::size_t{0})), (std::vector<double>{0, 0}));
    EXPECT_EQ(numbers_of(curve.at(2).at(curve.at(2).size() - 1)), (std::vector<double>{1, 1}));
  }
}

TEST(html_report, limits_the_points_of_curves_and_omits_large_confusion_matrices) {
  constexpr int classes = 41, count = 4100;
  std::vector<float> scores;
  std::vector<int> labels;
  for (int i = 0; i < count; ++i) {
    labels.push_back(i % classes);
    for (int c = 0; c < classes; ++c)
      scores.push_back(0.001F * static_cast<float>((i * 31 + c * c * 7) % 6007));
  }
  run_of_page const shown(page_of_scores(scores, labels, classes));
  EXPECT_EQ(shown["classes"].at("rows").size(), 41U);
  EXPECT_EQ(shown["classes"].at("confusion").size(), 0U);
  for (io::json_value const curve : shown["classes"].at("curves").items()) {
    EXPECT_GT(curve.at(2).size(), 10U);
    EXPECT_LT(curve.at(2).size(), 500U);
  }
}

TEST(html_report, refuses_classified_data_for_a_regression_after_the_first_step) {
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
  refused({.classified = examples(), .how = {.top = 3}});  // there are only two classes
  refused({.classified = properties(1)});                  // inputs of another shape
  static std::vector<float> const inputs{0, 1}, distribution{0.5, 0.5};
  refused({.classified = arrays({{.name = "input", .values = {inputs.data(), {1, 2}}}},
                                {{.name = "target", .values = {distribution.data(), {1, 2}}}})});
}

/// Checks the file after each step.
struct reader final : listener {
  explicit reader(std::string path) : path(std::move(path)) {}
  void on_step(training&, step_report const& done) override {
    run_of_page const shown(text_of_file(path));
    EXPECT_EQ(shown.state(), "running");
    EXPECT_EQ(shown.number("step"), static_cast<double>(done.step + 1));
    EXPECT_EQ(shown.number("refresh"), 7);
  }
  std::string path;
};

TEST(html_report, is_rewritten_and_refreshed_until_the_run_ends) {
  scratch_folder const folder;
  training run = made();
  html_report_listener report(folder / "run.html", {.seconds = 0, .refresh = 7});
  reader after(folder / "run.html");
  run.fit(examples(), {.batch = 2, .listeners = {&report, &after}});
  EXPECT_EQ(run_of_page(text_of_file(folder / "run.html")).number("refresh"), 0);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"run.html"}));
}

TEST(html_report, is_written_only_after_the_minimum_interval) {
  scratch_folder const folder;
  training run = made();
  html_report_listener report(folder / "run.html", {.seconds = 2});
  auto const step = [&](std::int64_t number, double seconds) {
    report.on_step(run, {.step = number, .examples = 1, .weight = 1, .loss = 1, .step_seconds = seconds});
    return run_of_page(text_of_file(folder / "run.html")).number("step") == static_cast<double>(number + 1);
  };
  EXPECT_TRUE(step(0, 1));
  EXPECT_FALSE(step(1, 1.5));
  EXPECT_TRUE(step(2, 0.5));
  EXPECT_FALSE(step(3, 1));
}

TEST(html_report, shows_that_a_run_was_interrupted) {
  scratch_folder const folder;
  training run = made();
  {
    html_report_listener report(folder / "run.html");
    report.on_step(run, {.examples = 1, .weight = 1, .loss = 1, .step_seconds = 1});
  }
  run_of_page const shown(text_of_file(folder / "run.html"));
  EXPECT_EQ(shown.state(), "interrupted");
  EXPECT_EQ(shown.number("refresh"), 0);
}

TEST(html_report, shows_that_a_run_was_stopped) {
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
    run_of_page const shown(text_of_file(folder / "run.html"));
    EXPECT_EQ(shown.state(), "stopped");
    EXPECT_EQ(shown.number("step"), within_epoch ? 4 : 6);
    EXPECT_EQ(shown.number("epoch"), within_epoch ? 0 : 1);
    EXPECT_EQ(shown.number("step_in_epoch"), within_epoch ? 4 : 0);
    if (within_epoch)
      EXPECT_EQ(shown.number("steps_in_epoch"), 6);
    else
      EXPECT_EQ(shown.number("epochs"), 2);
    EXPECT_EQ(shown.number("refresh"), 0);
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
  run_of_page const shown(report.page());
  std::vector<double> const expected{0.001, 0, 0.003, 0.005, 0.001, 0.002, 0};  // seconds a step
  std::vector<double> const measured = numbers_of(shown["phases"]);
  ASSERT_EQ(measured.size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(measured[k], expected[k], 1e-12) << k;
  EXPECT_TRUE(shown["separate_backward"].boolean());
}

TEST(html_report, is_written_by_rank_0_and_shows_the_exchange_of_several_ranks) {
  scratch_folder const folder;
  launch<threads>(2, [&](communicator& world) {
    training run = trainer<reference<float>>(tiny, world, allreduce{});
    std::string const path = folder / (std::to_string(world.rank()) + ".html");
    html_report_listener report(path, {.every = 1, .classified = examples()});
    run.fit(examples(), settings_of(report));
  });
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"0.html"}));
  run_of_page const shown(text_of_file(folder / "0.html"));
  EXPECT_EQ(shown.number("ranks"), 2);
  EXPECT_TRUE(shown["exchange"].at("sent").string().ends_with("B"));
  EXPECT_EQ(curves_of(shown["exchange"].at("measurements")).count("message_bytes"), 1U);
  EXPECT_EQ(shown["phases_of_ranks"].size(), 2U);
}

TEST(html_report, excludes_the_first_step_of_a_resumed_run_from_bytes_per_step) {
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
      EXPECT_EQ(run_of_page(report.page())["exchange"].at("sent").string(), "300 B");
    }
  });
}

TEST(html_report, shows_no_bytes_per_step_after_only_one_step) {
  scratch_folder const folder;
  training run = made();
  run.fit(examples(), {.batch = 2});
  html_report_listener report(folder / "run.html", {.seconds = 0});
  report.on_step(run, {.step = 0, .examples = 1, .step_seconds = 1, .bytes_sent = 300, .ranks = 2});
  report.on_epoch(run, {.epochs = 1});  // the other ranks have made further steps
  EXPECT_TRUE(run_of_page(report.page())["exchange"].is_null());
}

/// As if the ranks changed while on_epoch is called.
TEST(html_report, has_a_single_point_for_a_repeated_epoch) {
  training run = made();
  scratch_folder const folder;
  html_report_listener report(folder / "run.html");
  for (std::int64_t const epoch : {0, 1, 1, 2, 2})
    report.on_epoch(run, {.epoch = epoch, .epochs = 3, .loss = 1, .validation = {{"accuracy", 0.5}}});
  run_of_page const shown(report.page());
  EXPECT_EQ(shown["loss"].at(std::size_t{0}).at(2).size(), 3U);
  EXPECT_EQ(shown["metrics"].at(std::size_t{0}).at(2).size(), 3U);
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
  run_of_page const shown(report.page());
  EXPECT_EQ(curves_of(shown["loss"])["loss of rank 0"], 2.5);
  EXPECT_EQ(curves_of(shown["speed"])["samples/s"], 12);
}

TEST(html_report, shows_the_ratio_of_an_update_to_the_previous_weights) {
  scratch_folder const folder;
  training run = trainer<reference<float>>(regression);
  html_report_listener report(folder / "run.html", {.ratios_every = 2, .seconds = 0});
  for (std::int64_t const step : {0, 1, 3}) {
    std::vector<float> const values(6, step == 0 ? 3.F : 3.3F);
    run.parameters().write_all(reinterpret_cast<std::byte const*>(values.data()), run.parameters().master());
    report.on_step(
        run, {.step = step, .examples = 1, .weight = 1, .loss = 1, .step_seconds = 1, .updated = step != 3});
  }
  EXPECT_NEAR(curves_of(run_of_page(report.page())["updates"])["dense_1.weights"], 0.1, 1e-6);
}

TEST(html_report, includes_the_epochs_of_earlier_fits) {
  scratch_folder const folder;
  training run = made();
  run.fit(examples(), {.batch = 2, .epochs = 2});
  html_report_listener report(folder / "run.html");
  run.fit(examples(), {.batch = 2, .epochs = 1, .listeners = {&report}});
  EXPECT_EQ(run_of_page(report.page()).number("epoch"), 3);
}

TEST(html_report, has_the_phases_of_each_rank) {
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
      run_of_page const shown(report.page());
      double const expected[3][3]{{0.004, 0.006, 0.010}, {0.002, 0.006, 0.012}, {0.009, 0.006, 0.005}};
      for (std::size_t rank = 0; rank < 3; ++rank)  // forward, backward, exchange
        for (std::size_t k = 0; k < 3; ++k)
          EXPECT_NEAR(shown["phases_of_ranks"].at(rank).at(k + 2).number(), expected[rank][k], 1e-12);
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
