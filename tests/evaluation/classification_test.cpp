// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cohort/evaluation/classification.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace classification_test {

using cohort::averaging;
using cohort::classification_report;
using cohort::tensor_view;
using labels = std::vector<std::int32_t>;

template <class Score>
tensor_view rows(std::vector<Score> const& scores, int classes) {
  return {scores.data(), {static_cast<int>(scores.size()) / classes, classes}};
}

TEST(classification, predicts_the_highest_score_and_the_lower_class_in_a_tie) {
  classification_report report(3);
  std::vector<float> const scores{0.2f, 0.5f, 0.3f, 0.4f, 0.4f, 0.2f, 0.1f, 0.45f, 0.45f};
  report.add(rows(scores, 3), labels{1, 1, 2});
  EXPECT_EQ(report.count(1, 1), 1);
  EXPECT_EQ(report.count(1, 0), 1);
  EXPECT_EQ(report.count(2, 1), 1);
  EXPECT_DOUBLE_EQ(*report.accuracy(), 1.0 / 3);
}

TEST(classification, counts_a_label_among_the_n_highest_scores) {
  // Scores of other classes: two above the label's; one above, and an equal one before it; one above, and
  // equal ones after it.
  std::vector<double> const scores{0.1, 0.2, 0.3, 0.4, 0.2, 0.4, 0.2, 0.2, 0.2, 0.4, 0.2, 0.2};
  for (int top = 1; top <= 4; ++top) {
    classification_report report(4, {.top = top});
    report.add(rows(scores, 4), labels{1, 2, 0});
    EXPECT_DOUBLE_EQ(*report.top_accuracy(), top == 1 ? 0 : top == 2 ? 1.0 / 3 : 1) << top;
  }
}

TEST(classification, computes_the_log_loss_only_of_probabilities) {
  classification_report report(2);
  EXPECT_EQ(report.log_loss(), std::nullopt);
  report.add(rows(std::vector<double>{0.25, 0.75, 0.5, 0.5}, 2), labels{0, 1});
  EXPECT_DOUBLE_EQ(*report.log_loss(), (std::log(4.0) + std::log(2.0)) / 2);
  report.add(rows(std::vector<double>{1, 0}, 2), labels{1});
  EXPECT_DOUBLE_EQ(*report.log_loss(), (std::log(8.0) + 15 * std::log(10.0)) / 3) << "certain and wrong";
  report.add(rows(std::vector<double>{2, -1}, 2), labels{0});
  EXPECT_EQ(report.log_loss(), std::nullopt);
  EXPECT_NE(report.stats().find("no log loss"), std::string::npos);
}

TEST(classification, accepts_f32_f64_and_trailing_extents_of_1) {
  std::vector<float> const single{0.25f, 0.75f, 0.5f, 0.5f};
  std::vector<double> const twice(single.begin(), single.end());
  classification_report a(2), b(2), c(2);
  a.add(rows(single, 2), labels{0, 1});
  b.add(rows(twice, 2), labels{0, 1});
  c.add(tensor_view(single.data(), {2, 2, 1, 1}), labels{0, 1});
  EXPECT_EQ(a.stats(), b.stats());
  EXPECT_EQ(a.stats(), c.stats());
}

struct examples {
  std::vector<float> scores;
  labels truth;
};

examples drawn(std::uint64_t seed, int count, int classes) {
  std::mt19937_64 random(seed);
  examples result;
  for (int i = 0; i < count; ++i) {
    std::vector<float> row;
    float sum = 0;
    for (int c = 0; c < classes; ++c) {
      row.push_back(static_cast<float>(random() % 8 + 1));  // few values, so that ties are common
      sum += row.back();
    }
    for (float score : row) result.scores.push_back(score / sum);
    result.truth.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(classes)));
  }
  return result;
}

TEST(classification, merges_any_shards_to_the_report_of_all_examples) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    int const classes = 2 + static_cast<int>(random() % 9), count = 1 + static_cast<int>(random() % 3000);
    int const shards = 1 + static_cast<int>(random() % 7);
    auto const all = drawn(seed, count, classes);
    cohort::classification_options const options{.top = 2};
    classification_report whole(classes, options), merged(classes, options);
    whole.add(rows(all.scores, classes), all.truth);
    int first = 0;
    for (int shard = 0; shard < shards; ++shard) {
      // The split may leave a shard empty. Each shard is added in two parts.
      int const last = shard + 1 == shards ? count : first + static_cast<int>(random() % (count - first + 1));
      classification_report part(classes, options);
      int const middle = (first + last) / 2;
      auto view = rows(all.scores, classes);
      std::span<std::int32_t const> const truth(all.truth);
      part.add(view.rows(first, middle - first), truth.subspan(first, middle - first));
      part.add(view.rows(middle, last - middle), truth.subspan(middle, last - middle));
      merged.merge(part);
      first = last;
    }
    for (int i = 0; i < classes * classes; ++i) {
      ASSERT_EQ(merged.count(i / classes, i % classes), whole.count(i / classes, i % classes));
    }
    EXPECT_EQ(merged.examples(), whole.examples());
    EXPECT_EQ(merged.top_accuracy(), whole.top_accuracy());
    EXPECT_NEAR(*merged.log_loss(), *whole.log_loss(), 1e-12);
    EXPECT_EQ(merged.stats(), whole.stats());
  }
}

std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at, int value) {
  bytes[at] = static_cast<std::byte>(value);
  return bytes;
}

TEST(classification, merges_the_bytes_of_shards_to_the_report_of_all_examples) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    int const classes = 2 + static_cast<int>(random() % 9), count = static_cast<int>(random() % 2000);
    auto const all = drawn(seed, count, classes);
    cohort::classification_options const options{.top = 2, .labels = std::vector<std::string>(classes, "x")};
    classification_report whole(classes, options), merged(classes, options);
    whole.add(rows(all.scores, classes), all.truth);
    std::span<std::int32_t const> const truth(all.truth);
    for (int shard = 0, first = 0, shards = 1 + static_cast<int>(random() % 5); shard < shards; ++shard) {
      int const last = shard + 1 == shards ? count : first + static_cast<int>(random() % (count - first + 1));
      classification_report part(classes, options);
      part.add(rows(all.scores, classes).rows(first, last - first), truth.subspan(first, last - first));
      std::vector<std::byte> const bytes = part.to_bytes();
      EXPECT_LT(bytes.size(), 64u + 4 * static_cast<unsigned>(std::min(classes * classes, last - first)));
      merged.merge(bytes);
      first = last;
    }
    EXPECT_EQ(merged.examples(), whole.examples());
    EXPECT_EQ(merged.top_accuracy(), whole.top_accuracy());
    EXPECT_EQ(merged.stats(), whole.stats());
    ASSERT_EQ(merged.log_loss().has_value(), count > 0);
    EXPECT_NEAR(merged.log_loss().value_or(0), whole.log_loss().value_or(0), 1e-12);
    classification_report again(classes, options);
    again.merge(whole.to_bytes());
    EXPECT_EQ(again.to_bytes(), whole.to_bytes());
    again.clear();
    EXPECT_EQ(again.to_bytes(), classification_report(classes, options).to_bytes());
  }
}

TEST(classification, serialises_whether_scores_were_probabilities) {
  classification_report part(2), merged(2);
  part.add(rows(std::vector<double>{2, -1}, 2), labels{0});
  merged.merge(part.to_bytes());
  EXPECT_EQ(merged.log_loss(), std::nullopt);
  merged.clear();
  merged.add(rows(std::vector<double>{0.5, 0.5}, 2), labels{0});
  EXPECT_TRUE(merged.log_loss());
}

TEST(classification, refuses_invalid_bytes_and_is_unchanged) {
  using cohort::data_error;
  auto const all = drawn(5, 100, 3);
  classification_report part(3, {.top = 2}), report(3, {.top = 2});
  part.add(rows(all.scores, 3), all.truth);
  report.merge(part.to_bytes());
  std::vector<std::byte> const good = part.to_bytes(), before = report.to_bytes();
  auto const refused = [&](std::vector<std::byte> const& bytes) {
    std::string const why = refusal_of<data_error>([&] { report.merge(bytes); });
    EXPECT_TRUE(why.empty() || report.to_bytes() == before);
    return why;
  };
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}), "") << size;
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  EXPECT_NE(refused(longer).find("expected no more bytes, got 1"), std::string::npos);

  for (std::size_t i = 0; i < good.size(); ++i)
    for (int value = 0; value < 256; ++value) {
      classification_report fresh(3, {.top = 2});
      if (!refusal_of<data_error>([&] { fresh.merge(with(good, i, value)); }).empty()) {
        ASSERT_EQ(fresh.examples(), 0);
        continue;
      }
      std::int64_t sum = 0;  // accepted bytes are consistent
      for (int k = 0; k < 9; ++k) sum += fresh.count(k / 3, k % 3);
      ASSERT_EQ(sum, fresh.examples());
      ASSERT_LE(fresh.correct(), sum);
      ASSERT_LE(*fresh.top_accuracy(), 1);
      ASSERT_TRUE(!fresh.log_loss() || (*fresh.log_loss() >= -35 && *fresh.log_loss() <= 70));
    }

  EXPECT_NE(refused(classification_report(4, {.top = 2}).to_bytes()).find("classes): expected 3, got 4"),
            std::string::npos);
  EXPECT_NE(refused(classification_report(3, {.top = 1}).to_bytes()).find("top): expected 2, got 1"),
            std::string::npos);
  EXPECT_NE(refused(classification_report(3, {.top = 2, .labels = {"a", "b", "c"}}).to_bytes())
                .find("hash of the labels"),
            std::string::npos);
  EXPECT_NE(refused({}).find("kind of report): expected more bytes, got the end of the bytes"),
            std::string::npos);
}

TEST(classification, refuses_more_examples_than_can_be_counted) {
  classification_report report(2);
  std::vector<std::byte> bytes = report.to_bytes();
  bytes.resize(bytes.size() - 19);  // no examples, no hits, probabilities, two sums
  std::uint64_t const most = std::uint64_t{1} << 53;
  auto const more = cohort::detail::report_writer()
                        .natural(most)
                        .natural(0)
                        .natural(most)
                        .natural(most)
                        .natural(1)
                        .real(0)
                        .real(0)
                        .release();
  bytes.insert(bytes.end(), more.begin(), more.end());
  report.merge(bytes);
  EXPECT_EQ(report.count(0, 0), std::int64_t{1} << 53);
  EXPECT_NE(refusal_of<cohort::data_error>([&] {
              report.merge(bytes);
            }).find("examples): expected 0, got 9007199254740992"),
            std::string::npos);
}

TEST(classification, accepts_labels_as_a_tensor) {
  std::vector<float> const scores{0.25f, 0.75f, 0.5f, 0.5f};
  labels const truth{1, 0};
  classification_report a(2), b(2);
  a.add(rows(scores, 2), truth);
  cohort::evaluator& any = b;
  any.add(rows(scores, 2), tensor_view(truth.data(), {2, 1}));
  EXPECT_EQ(a.to_bytes(), b.to_bytes());
  EXPECT_EQ(
      refusal_of<cohort::shape_error>([&] { any.add(rows(scores, 2), tensor_view(scores.data(), {2})); }),
      "cannot evaluate these scores (labels): expected i32, got f32");
}

TEST(classification, agrees_with_plain_loops_on_random_examples) {
  int const classes = 6, top = 3;
  auto const all = drawn(99, 2000, classes);
  classification_report report(classes, {.top = top});
  report.add(rows(all.scores, classes), all.truth);
  long double loss = 0;
  std::int64_t hits = 0, top_hits = 0;
  for (std::size_t i = 0; i < all.truth.size(); ++i) {
    auto const row = all.scores.begin() + static_cast<std::ptrdiff_t>(i) * classes;
    std::vector<int> order{0, 1, 2, 3, 4, 5};
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return row[a] > row[b]; });
    hits += order[0] == all.truth[i];
    top_hits += std::count(order.begin(), order.begin() + top, all.truth[i]);
    loss -= std::log(static_cast<long double>(row[all.truth[i]]));
  }
  EXPECT_EQ(report.correct(), hits);
  EXPECT_DOUBLE_EQ(*report.top_accuracy(), static_cast<double>(top_hits) / 2000);
  EXPECT_NEAR(*report.log_loss(), static_cast<double>(loss / 2000), 1e-13);
}

TEST(classification, sums_terms_of_very_different_magnitude_exactly) {
  cohort::detail::compensated_sum sum;
  sum.add(1e16);
  for (int i = 0; i < 1000; ++i) sum.add(1.0);
  sum.add(-1e16);
  EXPECT_EQ(sum.value(), 1000.0);
  cohort::detail::compensated_sum shard;
  for (double term : {1e16, 1.0, 1.0, 1.0}) shard.add(term);
  sum.add(shard);
  sum.add(-1e16);
  EXPECT_EQ(sum.value(), 1003.0);
}

template <class Error>
std::string refused(classification_report& report, tensor_view scores, labels const& truth) {
  std::string const before = report.stats();
  std::string const why = refusal_of<Error>([&] { report.add(scores, truth); });
  EXPECT_EQ(report.stats(), before) << "a refused batch leaves the report as it was";
  return why;
}

TEST(classification, reports_the_example_with_a_wrong_label_or_score) {
  using cohort::data_error;
  classification_report report(2);
  std::vector<float> scores{0.5f, 0.5f, 0.2f, 0.8f, 0.1f, 0.9f};
  report.add(rows(scores, 2), labels{0, 1, 1});
  EXPECT_EQ(refused<data_error>(report, rows(scores, 2), {0, 2, 1}),
            "cannot evaluate this example (example 4): expected a label from 0 to 1, got 2");
  EXPECT_EQ(refused<data_error>(report, rows(scores, 2), {0, 1, -1}),
            "cannot evaluate this example (example 5): expected a label from 0 to 1, got -1");
  scores[4] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(
      refused<data_error>(report, rows(scores, 2), {0, 1, 1}),
      "cannot evaluate this example (example 5): expected finite scores, got NaN or infinity for class 0");
  scores[4] = -std::numeric_limits<float>::infinity();
  EXPECT_NE(refused<data_error>(report, rows(scores, 2), {0, 1, 1}), "");
  std::vector<double> const wide{0.5, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(
      refusal_of<data_error>([&] { report.add(rows(wide, 2), labels{0}, 1000); }),
      "cannot evaluate this example (example 1000): expected finite scores, got NaN or infinity for class 1");
}

TEST(classification, refuses_scores_of_another_shape_or_type) {
  using cohort::shape_error;
  classification_report report(2);
  std::vector<float> const scores(6, 0.5f);
  EXPECT_EQ(refused<shape_error>(report, tensor_view(scores.data(), {2, 3}), {0, 1}),
            "cannot evaluate these scores (2 labels): expected 2x2, got 2x3");
  EXPECT_NE(refused<shape_error>(report, tensor_view(scores.data(), {3, 2}), {0, 1}), "");
  EXPECT_NE(refused<shape_error>(report, tensor_view(scores.data(), {2}), {0, 1}), "");
  std::vector<std::int32_t> const whole(4);
  EXPECT_EQ(refused<shape_error>(report, tensor_view(whole.data(), {2, 2}), {0, 1}),
            "cannot evaluate these scores (scores): expected f32 or f64, got i32");
}

TEST(classification, refuses_invalid_settings_and_reports_with_different_settings) {
  using cohort::setting_error;
  EXPECT_THROW(classification_report(1), setting_error);
  EXPECT_THROW(classification_report(3, {.top = 0}), setting_error);
  EXPECT_THROW(classification_report(3, {.top = 4}), setting_error);
  EXPECT_THROW(classification_report(3, {.labels = {"a", "b"}}), setting_error);
  classification_report report(3);
  EXPECT_EQ(
      refusal_of<setting_error>([&] { report.merge(classification_report(4)); }),
      "cannot merge classification reports (settings): expected 3 classes, top 1, got 4 classes, top 1");
  EXPECT_THROW(report.merge(classification_report(3, {.top = 2})), setting_error);
  EXPECT_THROW(report.merge(classification_report(3, {.labels = {"a", "b", "c"}})), setting_error);
}

TEST(classification, prints_a_readable_report) {
  classification_report report(4, {.top = 2, .labels = {"cat", "Käfer", "ship", "truck"}});
  std::vector<float> const scores{0.7f,  0.1f, 0.1f, 0.1f, 0.1f, 0.6f, 0.3f, 0.0f, 0.25f, 0.5f,
                                  0.25f, 0.0f, 0.1f, 0.6f, 0.3f, 0.0f, 0.0f, 0.0f, 0.0f,  1.0f};
  report.add(rows(scores, 4), labels{0, 1, 0, 2, 1});
  EXPECT_EQ(report.stats(), R"(  examples        5
  classes         4
  accuracy        40.00 %
  top-2 accuracy  80.00 %
  log loss        7.5993
  MCC             0.1336

  class          precision  recall      F1  examples  predicted
  0 cat             1.0000  0.5000  0.6667         2          1
  1 Käfer           0.3333  0.5000  0.4000         2          3
  2 ship                 -  0.0000  0.0000         1          0
  3 truck           0.0000       -  0.0000         0          1
  macro mean        0.3333  0.2500  0.2667
  weighted mean     0.5333  0.4000  0.4267
  micro mean        0.4000  0.4000  0.4000

  true \ predicted  0  1  2  3
  0 cat             1  1  .  .
  1 Käfer           .  1  .  1
  2 ship            .  1  .  .
  3 truck           .  .  .  .

  never predicted (1): 2 ship
  without examples (1): 3 truck
  classes with 0/0, counted as 0 in macro and weighted means: 1 of precision, 1 of recall
)");
}

TEST(classification, excludes_undefined_classes_from_means_if_leave_out_is_set) {
  classification_report counted(3), left_out(3, {.zero_division = cohort::zero_division::leave_out});
  std::vector<float> const scores{0.7f, 0.2f, 0.1f, 0.3f, 0.6f, 0.1f, 0.8f, 0.1f, 0.1f};
  for (classification_report* one : {&counted, &left_out}) one->add(rows(scores, 3), labels{0, 1, 2});
  EXPECT_DOUBLE_EQ(*counted.precision(), (0.5 + 1 + 0) / 3);
  EXPECT_DOUBLE_EQ(*left_out.precision(), (0.5 + 1) / 2);
  EXPECT_NE(counted.stats().find("counted as 0 in macro and weighted means: 1 of precision\n"),
            std::string::npos)
      << counted.stats();
  EXPECT_NE(left_out.stats().find("left out of macro and weighted means: 1 of precision\n"),
            std::string::npos)
      << left_out.stats();
  left_out.merge(counted.to_bytes());
  EXPECT_DOUBLE_EQ(*left_out.precision(), (0.5 + 1) / 2) << "the setting is that of the report";
  left_out.clear();
  left_out.add(rows(scores, 3), labels{0, 1, 2});
  EXPECT_DOUBLE_EQ(*left_out.precision(), (0.5 + 1) / 2);
}

TEST(classification, abbreviates_the_report_of_many_classes) {
  classification_report report(1000);
  EXPECT_EQ(report.stats(), "  no examples of 1000 classes\n");
  std::vector<float> row(1000);
  row[7] = 1;
  report.add(rows(row, 1000), labels{7});
  std::string const text = report.stats();
  EXPECT_EQ(text.find("true \\ predicted"), std::string::npos);
  EXPECT_NE(
      text.find(
          "never predicted (999): 0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, "
          "and 979 more\n"),
      std::string::npos)
      << text;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 16);
}

}  // namespace classification_test
