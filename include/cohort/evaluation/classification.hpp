// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/binary_counts.hpp>
#include <cohort/evaluation/confusion_matrix.hpp>
#include <cohort/evaluation/detail/compensated_sum.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cohort/evaluation/evaluator.hpp>
#include <cohort/execution/detail/text_table.hpp>
#include <cohort/random/hash.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

struct classification_options {
  int top = 1;                        // also count a label among this many highest scores as a hit
  std::vector<std::string> labels{};  // the classes' names, in order; or none
};

/// What a classifier got right and wrong, from its scores and the true labels.
///
/// Shapes    scores N×C (also N×C×1×1) f32 or f64; labels N, each from 0 to C−1.
/// Order     any: shards may be added to several reports and merged.
/// Errors    shape_error; data_error naming the example (label out of range, score not finite); setting_error
///           for reports that do not fit. The report is then as it was before.
/// Exact     predicted is the class with the highest score, the lowest of equals; merged shards have the
///           counts of one report and its log loss to 1e-12. Numbers that are 0/0: see confusion_matrix.
class classification_report : public evaluator, private confusion_matrix {
 public:
  explicit classification_report(int classes, classification_options options = {})
      : confusion_matrix(classes), options_(std::move(options)) {
    if (options_.top < 1 || options_.top > classes) {
      refuse("top", "1 to " + std::to_string(classes), std::to_string(options_.top));
    }
    if (!options_.labels.empty() && options_.labels.size() != at(classes)) {
      refuse("labels", std::to_string(classes) + " names", std::to_string(options_.labels.size()));
    }
  }

  void add(tensor_view scores, tensor_view labels, std::optional<std::int64_t> first = {}) override {
    if (labels.type != element_type::i32)
      throw shape_error({.what = "cannot evaluate these scores",
                         .where = "labels",
                         .expected = "i32",
                         .got = {name_of(labels.type)}});
    add(scores, labels.as<std::int32_t>(), first);
  }
  void add(tensor_view scores, std::span<std::int32_t const> labels, std::optional<std::int64_t> first = {}) {
    if (scores.dims.rank < 2 || scores.dims.example().elements() != classes()
        || labels.size() != at(scores.dims[0])) {
      throw shape_error({.what = "cannot evaluate these scores",
                         .where = {labels.size(), " labels"},
                         .expected = {labels.size(), 'x', classes()},
                         .got = to_string(scores.dims)});
    }
    if (scores.type == element_type::f32) {
      add_rows(scores.as<float>(), labels, first.value_or(examples()));
    } else if (scores.type == element_type::f64) {
      add_rows(scores.as<double>(), labels, first.value_or(examples()));
    } else {
      throw shape_error({.what = "cannot evaluate these scores",
                         .where = {},
                         .expected = "f32 or f64",
                         .got = {name_of(scores.type)}});
    }
  }

  void merge(classification_report const& other) {
    auto setting = [](classification_report const& report) {
      return std::to_string(report.classes()) + " classes, top " + std::to_string(report.options_.top);
    };
    if (setting(*this) != setting(other)) refuse("merge", setting(*this), setting(other));
    if (options_.labels != other.options_.labels) refuse("merge", "the same labels", "others");
    confusion_matrix::merge(other);
    top_hits_ += other.top_hits_;
    log_loss_.add(other.log_loss_);
    probabilities_ = probabilities_ && other.probabilities_;
  }

  std::vector<std::byte> to_bytes() const override {
    detail::report_writer out;
    out.natural(kind()).natural(static_cast<std::uint64_t>(classes()));
    out.natural(static_cast<std::uint64_t>(options_.top)).natural(labels_hash());
    confusion_matrix::write(out);
    out.natural(static_cast<std::uint64_t>(top_hits_)).natural(probabilities_);
    return out.real(log_loss_.sum).real(log_loss_.lost).take();
  }
  void merge(std::span<std::byte const> bytes) override {
    detail::report_reader in(bytes);
    in.natural("kind of report", kind(), kind());
    auto const own = [&](std::string_view what, std::uint64_t number) { in.natural(what, number, number); };
    own("classes", static_cast<std::uint64_t>(classes()));
    own("top", static_cast<std::uint64_t>(options_.top));
    own("hash of the labels", labels_hash());
    classification_report other(classes(), options_);
    other.confusion_matrix::read(in, most_examples - examples());
    other.top_hits_ = in.count("top hits", other.correct(), other.examples());
    other.probabilities_ = in.natural("probabilities", 0, 1) != 0;
    double const most = 35.0 * static_cast<double>(other.examples());  // −ln 1e-15 < 35
    other.log_loss_.sum = in.real("log loss", 0, most);
    other.log_loss_.lost = in.real("log loss, lost", -most, most);
    in.end();
    merge(other);
  }
  void clear() override {
    confusion_matrix::clear();
    top_hits_ = 0;
    log_loss_ = {};
    probabilities_ = true;
  }

  confusion_matrix const& confusion() const { return *this; }
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

  /// The share of examples whose label is among the `top` highest scores; of equals the lower class first.
  std::optional<double> top_accuracy() const {
    if (examples() == 0) return std::nullopt;
    return static_cast<double>(top_hits_) / static_cast<double>(examples());
  }

  /// Mean of −ln p(label), p not below 1e-15; empty if any row of scores was no distribution (sum 1 ± 0.01).
  std::optional<double> log_loss() const {
    if (examples() == 0 || !probabilities_) return std::nullopt;
    return log_loss_.value() / static_cast<double>(examples());
  }

  /// For people: the totals, up to 20 classes one by one, their confusion matrix, classes never predicted.
  std::string stats() const;

 private:
  static constexpr int most_printed_classes = 20;

  static constexpr std::uint64_t kind() { return fnv1a("cohort classification 1"); }
  std::uint64_t labels_hash() const {
    std::uint64_t hash = fnv1a_offset;
    for (std::string const& label : options_.labels)
      hash = fnv1a({label.c_str(), label.size() + 1}, hash);  // with the zero that ends it
    return hash;
  }

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  [[noreturn]] static void refuse(std::string where, std::string expected, std::string got) {
    throw setting_error({.what = "cannot report on this classification",
                         .where = std::move(where),
                         .expected = std::move(expected),
                         .got = std::move(got)});
  }

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
      auto const rated = scores.subspan(row * at(classes()), at(classes()));
      int const label = labels[row];
      Score const own = rated[at(label)];
      int best = 0, before = 0;
      double sum = 0, lowest = 0;
      for (int c = 0; c < classes(); ++c) {
        Score const score = rated[at(c)];
        if (score > rated[at(best)]) best = c;
        before += score > own || (score == own && c < label);
        sum += static_cast<double>(score);
        lowest = std::min(lowest, static_cast<double>(score));
      }
      confusion_matrix::add(label, best);
      top_hits_ += before < options_.top;
      log_loss_.add(-std::log(std::clamp(static_cast<double>(own), 1e-15, 1.0)));
      probabilities_ = probabilities_ && lowest >= 0 && std::abs(sum - 1) <= 0.01;
    }
  }

  std::string name(int c) const {
    std::string text = std::to_string(c);
    if (!options_.labels.empty()) text += ' ' + options_.labels[at(c)];
    return text;
  }

  std::string totals_text() const;
  std::string per_class_text() const;
  std::string confusion_text() const;
  std::string remarks_text() const;

  classification_options options_;
  std::int64_t top_hits_ = 0;
  detail::compensated_sum log_loss_;
  bool probabilities_ = true;
};

inline std::string classification_report::stats() const {
  if (examples() == 0) return "  no examples of " + std::to_string(classes()) + " classes\n";
  std::string text = totals_text() + '\n' + per_class_text();
  if (classes() <= most_printed_classes) text += '\n' + confusion_text();
  std::string const remarks = remarks_text();
  return remarks.empty() ? text : text + '\n' + remarks;
}

inline std::string classification_report::totals_text() const {
  auto percent = [](std::optional<double> share) {
    return share ? detail::decimal_text(100 * *share, 2) + " %" : std::string("-");
  };
  detail::text_table table({.others = detail::columns::left});
  table.add({"examples", examples()});
  table.add({"classes", classes()});
  table.add({"accuracy", percent(accuracy())});
  std::string const top = detail::text_of({"top-", options_.top, " accuracy"});
  if (options_.top > 1) table.add({top, percent(top_accuracy())});
  table.add({"log loss", detail::decimal_text(log_loss(), 4)});
  table.add({"MCC", detail::decimal_text(mcc(), 4)});
  return table.text();
}

inline std::string classification_report::per_class_text() const {
  auto number = [](std::optional<double> x) { return detail::decimal_text(x, 4); };
  detail::text_table table({.others = detail::columns::right});
  table.add({"class", "precision", "recall", "F1", "examples", "predicted"});
  for (int k = 0; k < classes() && classes() <= most_printed_classes; ++k) {
    binary_counts const c = of(k);
    table.add(
        {name(k), number(c.precision()), number(c.recall()), number(c.f_beta()), c.actual(), c.predicted()});
  }
  for (auto [how, title] :
       {std::pair(averaging::macro, "macro mean"), std::pair(averaging::weighted, "weighted mean"),
        std::pair(averaging::micro, "micro mean")}) {
    table.add({title, number(precision(how)), number(recall(how)), number(f_beta(how)), "", ""});
  }
  return table.text();
}

inline std::string classification_report::confusion_text() const {
  detail::text_table table({.others = detail::columns::even});
  std::vector<std::string> head{"true \\ predicted"};
  for (int predicted = 0; predicted < classes(); ++predicted) head.push_back(std::to_string(predicted));
  table.add(std::move(head));
  for (int actual = 0; actual < classes(); ++actual) {
    std::vector<std::string> row{name(actual)};
    for (int predicted = 0; predicted < classes(); ++predicted) {
      std::int64_t const examples = count(actual, predicted);
      row.push_back(examples == 0 ? "." : std::to_string(examples));
    }
    table.add(std::move(row));
  }
  return table.text();
}

inline std::string classification_report::remarks_text() const {
  std::string text;
  auto list = [&](char const* title, bool (*concerned)(binary_counts const&)) {
    std::string names;
    int found = 0;
    for (int k = 0; k < classes(); ++k) {
      if (!concerned(of(k))) continue;
      if (++found <= most_printed_classes) names += (names.empty() ? "" : ", ") + name(k);
    }
    if (found == 0) return;
    if (found > most_printed_classes)
      names += detail::text_of({", and ", found - most_printed_classes, " more"});
    text += detail::text_of({"  ", title, " (", found, "): ", names, '\n'});
  };
  list("never predicted", [](binary_counts const& c) { return c.predicted() == 0; });
  list("without examples", [](binary_counts const& c) { return c.actual() == 0; });

  std::string left_out;
  auto note = [&](char const* metric, int classes) {
    if (classes > 0) left_out += detail::text_of({left_out.empty() ? "" : ", ", classes, " from ", metric});
  };
  note("precision", average(averaging::macro, [](auto const& c) { return c.precision(); }).left_out);
  note("recall", average(averaging::macro, [](auto const& c) { return c.recall(); }).left_out);
  note("F1", average(averaging::macro, [](auto const& c) { return c.f_beta(); }).left_out);
  if (!left_out.empty()) text += "  classes left out of the macro mean, being 0/0: " + left_out + '\n';
  if (!probabilities_) text += "  no log loss: the scores of some example are no probabilities\n";
  return text;
}

}  // namespace cohort
