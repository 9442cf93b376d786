// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/text_table.hpp>
#include <cohort/evaluation/binary_counts.hpp>
#include <cohort/evaluation/classification.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <string_view>

namespace cohort {

classification_report::classification_report(int classes, classification_options options)
    : confusion_matrix(classes, options.zero_division), options_(std::move(options)) {
  if (options_.top < 1 || options_.top > classes) {
    refuse("cannot create a classification report", "top", "1 to " + std::to_string(classes),
           std::to_string(options_.top));
  }
  if (!options_.labels.empty() && options_.labels.size() != at(classes)) {
    refuse("cannot create a classification report", "labels", std::to_string(classes) + " names",
           std::to_string(options_.labels.size()));
  }
}

void classification_report::add(tensor_view scores, tensor_view labels, std::optional<std::int64_t> first) {
  if (labels.type != element_type::i32)
    throw shape_error({.what = "cannot evaluate these scores",
                       .where = "labels",
                       .expected = "i32",
                       .got = {name_of(labels.type)}});
  add(scores, labels.as<std::int32_t>(), first);
}

void classification_report::add(tensor_view scores, std::span<std::int32_t const> labels,
                                std::optional<std::int64_t> first) {
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
                       .where = "scores",
                       .expected = "f32 or f64",
                       .got = {name_of(scores.type)}});
  }
}

void classification_report::merge(classification_report const& other) {
  auto setting = [](classification_report const& report) {
    return std::to_string(report.classes()) + " classes, top " + std::to_string(report.options_.top);
  };
  if (setting(*this) != setting(other))
    refuse("cannot merge classification reports", "settings", setting(*this), setting(other));
  if (options_.labels != other.options_.labels)
    refuse("cannot merge classification reports", "labels", "the same labels", "different labels");
  confusion_matrix::merge(other);
  top_hits_ += other.top_hits_;
  log_loss_.add(other.log_loss_);
  probabilities_ = probabilities_ && other.probabilities_;
}

std::vector<std::byte> classification_report::to_bytes() const {
  detail::report_writer out;
  out.natural(kind()).natural(static_cast<std::uint64_t>(classes()));
  out.natural(static_cast<std::uint64_t>(options_.top)).natural(labels_hash());
  confusion_matrix::write(out);
  out.natural(static_cast<std::uint64_t>(top_hits_)).natural(probabilities_);
  return out.real(log_loss_.sum).real(log_loss_.compensation).release();
}

void classification_report::merge(std::span<std::byte const> bytes) {
  detail::report_reader in(bytes);
  in.natural("kind of report", kind(), kind());
  auto const require = [&](std::string_view what, std::uint64_t number) { in.natural(what, number, number); };
  require("classes", static_cast<std::uint64_t>(classes()));
  require("top", static_cast<std::uint64_t>(options_.top));
  require("hash of the labels", labels_hash());
  classification_report other(classes(), options_);
  other.confusion_matrix::read(in, most_examples - examples());
  other.top_hits_ = in.count("top hits", other.correct(), other.examples());
  other.probabilities_ = in.natural("probabilities", 0, 1) != 0;
  double const most = 35.0 * static_cast<double>(other.examples());  // −ln 1e-15 < 35
  other.log_loss_.sum = in.real("log loss", 0, most);
  other.log_loss_.compensation = in.real("compensation of the log loss", -most, most);
  in.end();
  merge(other);
}

void classification_report::clear() {
  confusion_matrix::clear();
  top_hits_ = 0;
  log_loss_ = {};
  probabilities_ = true;
}

std::optional<double> classification_report::top_accuracy() const {
  if (examples() == 0) return std::nullopt;
  return static_cast<double>(top_hits_) / static_cast<double>(examples());
}

std::optional<double> classification_report::log_loss() const {
  if (examples() == 0 || !probabilities_) return std::nullopt;
  return log_loss_.value() / static_cast<double>(examples());
}

std::uint64_t classification_report::labels_hash() const {
  std::uint64_t hash = detail::fnv1a_offset;
  for (std::string const& label : options_.labels)
    hash = detail::fnv1a({label.c_str(), label.size() + 1}, hash);  // with the terminating zero
  return hash;
}

void classification_report::refuse(char const* what, std::string where, std::string expected,
                                   std::string got) {
  throw setting_error(
      {.what = what, .where = std::move(where), .expected = std::move(expected), .got = std::move(got)});
}

std::string classification_report::name(int c) const {
  std::string text = std::to_string(c);
  if (!options_.labels.empty()) text += ' ' + options_.labels[at(c)];
  return text;
}

std::string classification_report::stats() const {
  if (examples() == 0) return "  no examples of " + std::to_string(classes()) + " classes\n";
  std::string text = totals_text() + '\n' + per_class_text();
  if (classes() <= most_printed_classes) text += '\n' + confusion_text();
  std::string const remarks = remarks_text();
  return remarks.empty() ? text : text + '\n' + remarks;
}

std::string classification_report::totals_text() const {
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

std::string classification_report::per_class_text() const {
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

std::string classification_report::confusion_text() const {
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

std::string classification_report::remarks_text() const {
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

  std::string undefined;
  auto note = [&](char const* metric, int classes) {
    if (classes > 0) undefined += detail::text_of({undefined.empty() ? "" : ", ", classes, " of ", metric});
  };
  note("precision", average(averaging::macro, [](auto const& c) { return c.precision(); }).undefined_classes);
  note("recall", average(averaging::macro, [](auto const& c) { return c.recall(); }).undefined_classes);
  note("F1", average(averaging::macro, [](auto const& c) { return c.f_beta(); }).undefined_classes);
  bool const counts = options_.zero_division == zero_division::zero;
  if (!undefined.empty())
    text += detail::text_of({"  classes with 0/0, ", counts ? "counted as 0 in" : "left out of",
                             " macro and weighted means: ", undefined, '\n'});
  if (!probabilities_) text += "  no log loss: the scores of at least one example are not probabilities\n";
  return text;
}

}  // namespace cohort
