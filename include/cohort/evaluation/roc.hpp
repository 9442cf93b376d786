// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/detail/column_labels.hpp>
#include <cohort/evaluation/detail/optional_mean.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cohort/evaluation/detail/scored_columns.hpp>
#include <cohort/evaluation/evaluator.hpp>
#include <cohort/evaluation/roc_curve.hpp>
#include <cohort/execution/detail/text_table.hpp>
#include <cohort/random/hash.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

/// `steps` 0: scores count as they are, and 24 bytes are kept for each that differs from the others of its column. Else they
/// lie in [0, 1] and count as the multiple of 1/steps below them: no more than steps + 1 are kept.
struct roc_options {
  int steps = 0;
  std::vector<std::string> labels{};  // the columns' names, in order; or none
};

/// How well scores tell the examples of a class from all others, whatever the threshold.
///
/// Shapes    scores N×C: one column (a probability), or one a class, each against all others; targets: N class indices, or
///           N×C numbers 0 or 1, of which several may be 1. One column and indices: class 1 is positive.
/// Errors    shape_error; data_error naming the example; setting_error. The report is then as it was before.
/// Exact     see roc_curve: merged shards give the same bits as one report. Columns without a curve are left out of means.
class roc_report final : public evaluator {
 public:
  static constexpr std::int64_t most_examples = std::int64_t{1} << 53;

  explicit roc_report(int columns = 1, roc_options options = {})
      : labels_(columns, std::move(options.labels)), steps_(options.steps) {
    if (steps_ < 0 || steps_ > 1'000'000)
      throw setting_error(
          {.what = "cannot report on scores", .where = "steps", .expected = "0 to 1000000", .got = {steps_}});
    curves_.resize(static_cast<std::size_t>(columns));
  }

  void add(tensor_view scores, tensor_view targets, std::optional<std::int64_t> first = {}) override {
    detail::scored_columns const given(scores, targets, columns(), first.value_or(examples_), lowest(),
                                       highest());
    for (std::size_t n = 0; n < given.examples(); ++n)
      for (std::size_t c = 0; c < curves_.size(); ++c) {
        double const score = given.score(n, c);
        bool const positive = given.positive(n, c);
        curves_[c].add({steps_ > 0 ? std::floor(score * steps_) / steps_ : score, positive, !positive});
      }
    examples_ += static_cast<std::int64_t>(given.examples());
  }

  std::vector<std::byte> to_bytes() const override {
    auto const natural = [](std::int64_t count) { return static_cast<std::uint64_t>(count); };
    detail::report_writer out;
    out.natural(kind()).natural(curves_.size()).natural(natural(steps_)).natural(labels_.hash());
    out.natural(natural(examples_));
    for (roc_curve const& one : curves_) {
      std::vector<roc_curve::group> const groups = one.groups();
      out.natural(groups.size());
      for (auto const& g : groups)
        out.real(g.score).natural(natural(g.positive)).natural(natural(g.negative));
    }
    return out.take();
  }
  void merge(std::span<std::byte const> bytes) override {
    detail::report_reader in(bytes);
    auto const own = [&](std::string_view what, std::uint64_t number) { in.natural(what, number, number); };
    own("kind of report", kind());
    own("columns", curves_.size());
    own("steps", static_cast<std::uint64_t>(steps_));
    own("hash of the labels", labels_.hash());
    std::int64_t const examples = in.count("examples", 0, most_examples - examples_);
    std::vector<roc_curve> all = curves_;
    for (roc_curve& one : all) {
      std::int64_t left = examples;
      for (std::uint64_t groups = in.natural("scores", 0, bytes.size()); groups > 0; --groups) {
        roc_curve::group g{.score = in.real("score", lowest(), highest())};
        g.positive = in.count("positive", 0, left);
        g.negative = in.count("negative", g.positive > 0 ? 0 : 1, left - g.positive);
        left -= g.positive + g.negative;
        one.add(g);
      }
      if (left != 0)
        in.refuse("counts", detail::text_of({examples, " examples in all"}), std::to_string(examples - left));
    }
    in.end();
    curves_ = std::move(all);
    examples_ += examples;
  }
  void clear() override {
    curves_.assign(curves_.size(), {});
    examples_ = 0;
  }

  int columns() const { return static_cast<int>(curves_.size()); }
  std::int64_t examples() const { return examples_; }
  roc_curve const& of(int column) const { return curves_[static_cast<std::size_t>(column)]; }

  /// Of one column, or the mean over those that have one.
  std::optional<double> auc(int column) const { return of(column).auc(); }
  std::optional<double> auc() const {
    return mean([](roc_curve const& one) { return one.auc(); });
  }
  std::optional<double> average_precision() const {
    return mean([](roc_curve const& one) { return one.average_precision(); });
  }

  /// For people.
  std::string stats() const {
    if (examples_ == 0) return "  no examples\n";
    detail::text_table table({.others = detail::columns::right});
    table.add({"", "positive", "negative", "AUC", "average precision"});
    auto const row = [&](std::string name, std::int64_t positive, std::int64_t negative,
                         std::optional<double> auc, std::optional<double> precision) {
      table.add({std::move(name), positive, negative, detail::decimal_text(auc, 4),
                 detail::decimal_text(precision, 4)});
    };
    for (int c = 0; c < columns() && columns() <= labels_.most_printed; ++c)
      row(labels_.name(c), of(c).positive(), of(c).negative(), of(c).auc(), of(c).average_precision());
    if (columns() > 1)
      table.add(
          {"mean", "", "", detail::decimal_text(auc(), 4), detail::decimal_text(average_precision(), 4)});
    return table.text();
  }

 private:
  static constexpr std::uint64_t kind() { return fnv1a("cohort roc 1"); }
  double lowest() const { return steps_ > 0 ? 0 : -std::numeric_limits<double>::max(); }
  double highest() const { return steps_ > 0 ? 1 : std::numeric_limits<double>::max(); }

  template <class Number>
  std::optional<double> mean(Number number) const {
    detail::optional_mean all;
    for (roc_curve const& one : curves_) all.add(number(one));
    return all.value();
  }

  detail::column_labels labels_;
  int steps_;
  std::vector<roc_curve> curves_;
  std::int64_t examples_ = 0;
};

}  // namespace cohort
