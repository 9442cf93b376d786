// SPDX-License-Identifier: Apache-2.0
// Requirements on every report for merging: damaged bytes are rejected, and several reports use one pass.
// covers: evaluation/evaluator
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cohort/communicator/launch.hpp>
#include <cohort/evaluation/calibration.hpp>
#include <cohort/evaluation/classification.hpp>
#include <cohort/evaluation/merge_ranks.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/evaluation/roc.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace report_merging_test {

using namespace cohort;

struct examples {
  std::vector<float> scores, targets;

  explicit examples(int count) {
    std::mt19937_64 random(7);
    for (int n = 0; n < count; ++n) {
      auto const label = random() % 3;
      for (unsigned c = 0; c < 3; ++c) {
        scores.push_back(static_cast<float>(random() % 16) / 16);
        targets.push_back(label == c ? 1.0F : 0.0F);
      }
    }
  }
  int count() const { return static_cast<int>(scores.size()) / 3; }
  void add_to(evaluator& one, int first, int part) const {
    shape const all{count(), 3};
    one.add(tensor_view(scores.data(), all).rows(first, part),
            tensor_view(targets.data(), all).rows(first, part), first);
  }
};

// Accepted bytes give a consistent report.
void expect_sense(roc_report const& report) {
  for (int c = 0; c < report.columns(); ++c) {
    ASSERT_EQ(report.of(c).positive() + report.of(c).negative(), report.examples());
    ASSERT_TRUE(report.auc(c).value_or(0) >= 0 && report.auc(c).value_or(0) <= 1);
  }
}
void expect_sense(regression_report const& report) {
  for (int c = 0; c < report.columns(); ++c) {
    ASSERT_GE(report.mse(c).value_or(0), 0);
    ASSERT_LE(std::abs(report.correlation(c).value_or(0)), 1);
  }
}
void expect_sense(calibration_report const& report) {
  for (int c = 0; c <= report.columns(); ++c) {
    std::int64_t sum = 0;
    for (calibration_bin const& one : report.bins(c)) {
      sum += one.examples;
      ASSERT_LE(std::abs(one.probability.value_or(0.5) - 0.5), 0.5001);
      ASSERT_LE(one.frequency.value_or(0), 1);
    }
    ASSERT_EQ(sum, report.examples());
  }
}

template <class Report>
void expect_safe_merging(Report const& empty) {
  examples const all(60);
  Report part = empty, report = empty;
  all.add_to(part, 0, 40);
  all.add_to(report, 40, 20);
  std::vector<std::byte> const good = part.to_bytes(), before = report.to_bytes();
  auto const refused = [&](std::vector<std::byte> const& bytes) {
    Report now = report;
    bool const thrown = !refusal_of<data_error>([&] { now.merge(bytes); }).empty();
    EXPECT_TRUE(!thrown || now.to_bytes() == before) << "a refused report leaves this one as it was";
    return thrown;
  };
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_TRUE(refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  EXPECT_TRUE(refused(longer));
  for (std::size_t i = 0; i < good.size(); ++i)
    for (int value = 0; value < 256; value += 5) {
      std::vector<std::byte> changed = good;
      changed[i] = static_cast<std::byte>(value);
      Report now = empty;
      if (!refusal_of<data_error>([&] { now.merge(changed); }).empty()) continue;
      expect_sense(now);
      EXPECT_FALSE(now.stats().empty());
      Report again = empty;
      again.merge(now.to_bytes());
    }
  EXPECT_FALSE(refused(good));
}

TEST(report_merging, refuses_bytes_that_are_not_a_report) {
  expect_safe_merging(roc_report(3));
  expect_safe_merging(roc_report(3, {.steps = 5}));
  expect_safe_merging(regression_report(3));
  expect_safe_merging(calibration_report(3, 4));
}

TEST(report_merging, reports_the_differing_setting) {
  auto const refused = [](auto mine, auto const& others) {
    return refusal_of<data_error>([&] { mine.merge(others.to_bytes()); });
  };
  EXPECT_NE(refused(roc_report(2), roc_report(3)).find("columns): expected 2, got 3"), std::string::npos);
  EXPECT_NE(refused(roc_report(2), roc_report(2, {.steps = 9})).find("steps): expected 0, got 9"),
            std::string::npos);
  EXPECT_NE(refused(roc_report(1), roc_report(1, {.labels = {"a"}})).find("hash of the labels"),
            std::string::npos);
  EXPECT_NE(refused(roc_report(2), regression_report(2)).find("kind of report"), std::string::npos);
  EXPECT_NE(refused(regression_report(2), regression_report(1)).find("columns): expected 2, got 1"),
            std::string::npos);
  EXPECT_NE(refused(calibration_report(2, 3), calibration_report(2, 4)).find("bins): expected 3, got 4"),
            std::string::npos);
}

TEST(report_merging, merges_several_reports_in_a_single_pass_on_all_ranks) {
  examples const all(500);
  roc_report roc(3);
  regression_report regression(3);
  calibration_report calibration(3);
  for (evaluator* one : std::array<evaluator*, 3>{&roc, &regression, &calibration}) all.add_to(*one, 0, 500);
  launch<threads>(3, [&](communicator& world) {
    std::array<int, 4> const cuts{0, 130, 130, 500};
    auto const rank = static_cast<std::size_t>(world.rank());
    roc_report areas(3);
    regression_report errors(3);
    calibration_report bins(3);
    std::array<evaluator*, 3> const three{&areas, &errors, &bins};
    for (evaluator* one : three)
      if (cuts[rank + 1] > cuts[rank]) all.add_to(*one, cuts[rank], cuts[rank + 1] - cuts[rank]);
    merge_ranks(world, three);
    EXPECT_EQ(areas.to_bytes(), roc.to_bytes());
    EXPECT_EQ(bins.stats(), calibration.stats());
    EXPECT_EQ(errors.examples(), 500);
    EXPECT_NEAR(*errors.mse(), *regression.mse(), 1e-12);
    EXPECT_NEAR(*errors.correlation(), *regression.correlation(), 1e-12);
  });
}

}  // namespace report_merging_test
