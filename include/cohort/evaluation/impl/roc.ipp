// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/detail/text_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cohort/evaluation/detail/scored_columns.hpp>
#include <cohort/evaluation/roc.hpp>
#include <utility>

namespace cohort {

roc_report::roc_report(int columns, roc_options options)
    : labels_(columns, std::move(options.labels)), steps_(options.steps) {
  if (steps_ < 0 || steps_ > 1'000'000)
    throw setting_error({.what = "cannot create a ROC report",
                         .where = "steps",
                         .expected = "0 to 1000000",
                         .got = {steps_}});
  curves_.resize(static_cast<std::size_t>(columns));
}

void roc_report::add(tensor_view scores, tensor_view targets, std::optional<std::int64_t> first) {
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

std::vector<std::byte> roc_report::to_bytes() const {
  auto const natural = [](std::int64_t count) { return static_cast<std::uint64_t>(count); };
  detail::report_writer out;
  out.natural(kind()).natural(curves_.size()).natural(natural(steps_)).natural(labels_.hash());
  out.natural(natural(examples_));
  for (roc_curve const& one : curves_) {
    std::vector<roc_curve::group> const groups = one.groups();
    out.natural(groups.size());
    for (auto const& g : groups) out.real(g.score).natural(natural(g.positive)).natural(natural(g.negative));
  }
  return out.release();
}

void roc_report::merge(std::span<std::byte const> bytes) {
  detail::report_reader in(bytes);
  auto const require = [&](std::string_view what, std::uint64_t number) { in.natural(what, number, number); };
  require("kind of report", kind());
  require("columns", curves_.size());
  require("steps", static_cast<std::uint64_t>(steps_));
  require("hash of the labels", labels_.hash());
  std::int64_t const examples = in.count("examples", 0, most_examples - examples_);
  std::vector<roc_curve> all = curves_;
  for (roc_curve& one : all) {
    std::int64_t remaining = examples;
    for (std::uint64_t groups = in.natural("scores", 0, bytes.size()); groups > 0; --groups) {
      roc_curve::group g{.score = in.real("score", lowest(), highest())};
      g.positive = in.count("positive", 0, remaining);
      g.negative = in.count("negative", g.positive > 0 ? 0 : 1, remaining - g.positive);
      remaining -= g.positive + g.negative;
      one.add(g);
    }
    if (remaining != 0)
      in.refuse("counts", detail::text_of({examples, " examples in all"}),
                std::to_string(examples - remaining));
  }
  in.end();
  curves_ = std::move(all);
  examples_ += examples;
}

void roc_report::clear() {
  curves_.assign(curves_.size(), {});
  examples_ = 0;
}

std::optional<double> roc_report::auc() const {
  return mean([](roc_curve const& one) { return one.auc(); });
}

std::optional<double> roc_report::average_precision() const {
  return mean([](roc_curve const& one) { return one.average_precision(); });
}

std::string roc_report::stats() const {
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
    table.add({"mean", "", "", detail::decimal_text(auc(), 4), detail::decimal_text(average_precision(), 4)});
  auto const undefined = std::ranges::count_if(curves_, [](roc_curve const& one) { return !one.auc(); });
  return columns() == 1 || undefined == 0
             ? table.text()
             : detail::text_of(
                 {table.text(), "  columns without a curve, left out of the means: ", undefined, '\n'});
}

}  // namespace cohort
