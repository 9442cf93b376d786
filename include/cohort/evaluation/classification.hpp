// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/detail/hash.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/confusion_matrix.hpp>
#include <cohort/evaluation/detail/compensated_sum.hpp>
#include <cohort/evaluation/evaluator.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

/// Options of a classification_report.
struct classification_options {
  int top = 1;                        ///< N of the top-N accuracy
  std::vector<std::string> labels{};  ///< names of the classes, in order; may be empty
  cohort::zero_division zero_division =
      cohort::zero_division::zero;  ///< treatment of classes with 0/0 in means
};

/// Metrics of a classifier, from its scores and the true labels.
///
/// Shapes    scores N×C (also N×C×1×1) f32 or f64; labels N, each from 0 to C−1.
/// Order     any. Shards may be added to several reports, which are then merged.
/// Errors    shape_error; data_error naming the example (label out of range, score not finite); setting_error
///           for reports with different settings. The report is unchanged after an error.
/// Exact     the predicted class has the highest score; of equal scores, the lowest class. The counts of
///           merged shards equal those of one report over all data; the log loss is equal up to a relative
///           error of 1e-12. Values of 0/0: see confusion_matrix; stats prints the number of such classes.
class classification_report : public evaluator, private confusion_matrix {
 public:
  explicit classification_report(int classes, classification_options options = {});

  void add(tensor_view scores, tensor_view labels, std::optional<std::int64_t> first = {}) override;
  void add(tensor_view scores, std::span<std::int32_t const> labels, std::optional<std::int64_t> first = {});

  void merge(classification_report const& other);

  std::vector<std::byte> to_bytes() const override;
  void merge(std::span<std::byte const> bytes) override;
  void clear() override;

  confusion_matrix const& confusion() const& { return *this; }
  confusion_matrix const& confusion() const&& = delete;  // keep the report in a variable
  using confusion_matrix::accuracy;
  using confusion_matrix::average;
  using confusion_matrix::classes;
  using confusion_matrix::correct;
  using confusion_matrix::count;
  using confusion_matrix::examples;
  using confusion_matrix::f_beta;
  using confusion_matrix::g_measure;
  using confusion_matrix::mcc;
  using confusion_matrix::of;
  using confusion_matrix::precision;
  using confusion_matrix::recall;

  /// Fraction of examples whose label is among the `top` highest scores. Of equal scores, the lower class is
  /// first.
  std::optional<double> top_accuracy() const;

  /// Mean of −ln p(label), with p at least 1e-15. Empty if any row of scores is not a distribution (sum 1 ±
  /// 0.01, no negative score).
  std::optional<double> log_loss() const;

  /// Human-readable summary: totals, means, and remarks, for example which classes are never predicted. For
  /// at most 20 classes, also the metrics of each class and the confusion matrix.
  std::string stats() const;

 private:
  static constexpr int most_printed_classes = 20;

  static constexpr std::uint64_t kind() { return detail::fnv1a("cohort classification 1"); }
  std::uint64_t labels_hash() const;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  [[noreturn]] static void refuse(char const* what, std::string where, std::string expected, std::string got);

  template <class Score>
  void check_rows(std::span<Score const> scores, std::span<std::int32_t const> labels,
                  std::int64_t first) const {
    auto refuse_example = [&](std::size_t row, std::string expected, std::string got) {
      throw data_error({.what = "cannot evaluate this example",
                        .where = {"example ", first + static_cast<std::int64_t>(row)},
                        .expected = std::move(expected),
                        .got = std::move(got)});
    };
    for (std::size_t row = 0; row < labels.size(); ++row) {
      if (labels[row] < 0 || labels[row] >= classes()) {
        refuse_example(row, "a label from 0 to " + std::to_string(classes() - 1),
                       std::to_string(labels[row]));
      }
      for (int c = 0; c < classes(); ++c) {
        if (!is_finite(scores[row * at(classes()) + at(c)])) {
          refuse_example(row, "finite scores", "NaN or infinity for class " + std::to_string(c));
        }
      }
    }
  }

  template <class Score>
  void add_rows(std::span<Score const> scores, std::span<std::int32_t const> labels, std::int64_t first) {
    check_rows(scores, labels, first);
    for (std::size_t row = 0; row < labels.size(); ++row) {
      auto const row_scores = scores.subspan(row * at(classes()), at(classes()));
      int const label = labels[row];
      Score const label_score = row_scores[at(label)];
      int best = 0, higher = 0;
      double sum = 0, lowest = 0;
      for (int c = 0; c < classes(); ++c) {
        Score const score = row_scores[at(c)];
        if (score > row_scores[at(best)]) best = c;
        higher += score > label_score || (score == label_score && c < label);
        sum += static_cast<double>(score);
        lowest = std::min(lowest, static_cast<double>(score));
      }
      confusion_matrix::add(label, best);
      top_hits_ += higher < options_.top;
      log_loss_.add(-std::log(std::clamp(static_cast<double>(label_score), 1e-15, 1.0)));
      probabilities_ = probabilities_ && lowest >= 0 && std::abs(sum - 1) <= 0.01;
    }
  }

  std::string name(int c) const;

  std::string totals_text() const;
  std::string per_class_text() const;
  std::string confusion_text() const;
  std::string remarks_text() const;

  classification_options options_;
  std::int64_t top_hits_ = 0;
  detail::compensated_sum log_loss_;
  bool probabilities_ = true;
};

}  // namespace cohort
