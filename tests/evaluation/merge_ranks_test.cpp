// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cohort/communicator/launch.hpp>
#include <cohort/evaluation/classification.hpp>
#include <cohort/evaluation/merge_ranks.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace merge_ranks_test {

using namespace cohort;
using bytes = std::vector<std::byte>;

/// The mean of the first output, to show that user-defined evaluators can be merged.
class mean_output final : public evaluator {
 public:
  void add(tensor_view outputs, tensor_view, std::optional<std::int64_t> = {}) override {
    for (int row = 0; row < outputs.dims[0]; ++row) sum_.add(outputs.rows(row, 1).as<float>()[0]);
    count_ += outputs.dims[0];
  }
  bytes to_bytes() const override {
    return detail::report_writer()
        .natural(static_cast<std::uint64_t>(count_))
        .real(sum_.sum)
        .real(sum_.compensation)
        .release();
  }
  void merge(std::span<std::byte const> from) override {
    detail::report_reader in(from);
    std::int64_t const count = in.count("examples", 0, 1 << 30);
    detail::compensated_sum other;
    other.sum = in.real("sum", -1e9, 1e9);
    other.compensation = in.real("lost", -1e9, 1e9);
    in.end();
    count_ += count;
    sum_.add(other);
  }
  void clear() override { *this = {}; }
  double value() const { return sum_.value() / static_cast<double>(count_); }

 private:
  std::int64_t count_ = 0;
  detail::compensated_sum sum_;
};

struct examples {
  int classes;
  std::vector<float> scores{};
  std::vector<std::int32_t> labels{};

  int count() const { return static_cast<int>(labels.size()); }
  void add_to(evaluator& one, int first, int count) const {
    tensor_view const all_scores(scores.data(), {this->count(), classes}),
        all_labels(labels.data(), {this->count()});
    one.add(all_scores.rows(first, count), all_labels.rows(first, count), first);
  }
};

examples drawn(std::uint64_t seed, int count, int classes) {
  std::mt19937_64 random(seed);
  examples all{.classes = classes};
  for (int i = 0; i < count; ++i) {
    float sum = 0;
    std::vector<float> row(static_cast<std::size_t>(classes));
    for (float& score : row)
      sum += score = static_cast<float>(random() % 8 + 1);  // few values, so that ties are common
    for (float score : row) all.scores.push_back(score / sum);
    all.labels.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(classes)));
  }
  return all;
}

void expect_same(classification_report const& one, classification_report const& other) {
  for (int i = 0; i < one.classes() * one.classes(); ++i)
    ASSERT_EQ(one.count(i / one.classes(), i % one.classes()),
              other.count(i / one.classes(), i % one.classes()));
  EXPECT_EQ(one.examples(), other.examples());
  EXPECT_EQ(one.top_accuracy(), other.top_accuracy());
  ASSERT_EQ(one.log_loss().has_value(), other.log_loss().has_value());
  if (one.log_loss()) {
    EXPECT_NEAR(*one.log_loss(), *other.log_loss(), 1e-12);
  }
  EXPECT_EQ(one.stats(), other.stats());
}

TEST(merge_ranks, merges_several_reports_on_every_rank_in_one_pass) {
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    int const ranks = 1 + static_cast<int>(seed % 5);
    examples const all =
        drawn(seed, static_cast<int>(random() % 500) + 1, 2 + static_cast<int>(random() % 9));
    std::vector<int> cuts{0, all.count()};
    // The parts are random. With three or more ranks, two boundaries coincide, so one rank has no examples.
    for (int i = 1; i < ranks; ++i)
      cuts.push_back(i == 2 ? cuts.back() : static_cast<int>(random() % (all.labels.size() + 1)));
    std::sort(cuts.begin(), cuts.end());
    classification_options const options{.top = 2};
    classification_report whole(all.classes, options);
    mean_output whole_mean;
    all.add_to(whole, 0, all.count());
    all.add_to(whole_mean, 0, all.count());

    std::vector<bytes> ends(static_cast<std::size_t>(ranks));
    launch<threads>(ranks, [&](communicator& world) {
      auto const rank = static_cast<std::size_t>(world.rank());
      classification_report report(all.classes, options);
      mean_output mean;
      std::array<evaluator*, 2> const both{&report, &mean};
      for (evaluator* one : both) all.add_to(*one, cuts[rank], cuts[rank + 1] - cuts[rank]);
      merge_ranks(world, both);
      expect_same(report, whole);
      EXPECT_NEAR(mean.value(), whole_mean.value(), 1e-12);
      ends[rank] = report.to_bytes();
    });
    for (bytes const& one : ends) EXPECT_EQ(one, ends[0]) << "the same bits on every rank";
  }
}

TEST(merge_ranks, reports_the_rank_with_a_different_report_and_changes_no_report) {
  examples const all = drawn(1, 30, 3);
  std::vector<std::string> why(3);
  launch<threads>(3, [&](communicator& world) {
    classification_report report(3, {.top = world.rank() == 1 ? 2 : 1});
    all.add_to(report, 10 * world.rank(), 10);
    std::string const before = report.stats();
    std::array<evaluator*, 1> const one{&report};
    why[static_cast<std::size_t>(world.rank())] = refusal_of<data_error>([&] { merge_ranks(world, one); });
    EXPECT_EQ(report.stats(), before);
  });
  EXPECT_EQ(why[0].find("cannot merge the reports of rank 1: expected reports of the same kinds and settings "
                        "on every rank, got cannot merge the bytes of a report (byte "),
            0u)
      << why[0];
  EXPECT_NE(why[0].find(", top): expected 1, got 2"), std::string::npos) << why[0];
  EXPECT_EQ(why[1].find("cannot merge the reports of rank 0: "), 0u) << why[1];
  EXPECT_EQ(why[2], why[0]);
}

}  // namespace merge_ranks_test
