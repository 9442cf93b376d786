// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/detail/text_table.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/calibration.hpp>
#include <cohort/evaluation/detail/column_labels.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cohort/evaluation/detail/scored_columns.hpp>

namespace cohort {

calibration_report::calibration_report(int columns, int bins) : columns_(columns), bins_(bins) {
  detail::column_labels(columns, {});
  if (bins < 1 || bins > 10'000)
    throw setting_error({.what = "cannot create a calibration report",
                         .where = "bins",
                         .expected = "1 to 10000",
                         .got = {bins}});
  clear();
}

void calibration_report::add(tensor_view scores, tensor_view targets, std::optional<std::int64_t> first) {
  // A softmax in f32 may exceed 1 by a rounding error.
  detail::scored_columns const given(scores, targets, columns_, first.value_or(examples_), 0, 1 + 1e-6);
  for (std::size_t n = 0; n < given.examples(); ++n) {
    std::size_t best = 0;
    for (std::size_t c = 0; c < given.columns(); ++c) {
      if (given.score(n, c) > given.score(n, best)) best = c;
      count(c, given.score(n, c), given.positive(n, c));
    }
    if (columns_ > 1) count(given.columns(), given.score(n, best), given.positive(n, best));
  }
  examples_ += static_cast<std::int64_t>(given.examples());
}

std::vector<std::byte> calibration_report::to_bytes() const {
  detail::report_writer out;
  out.natural(kind())
      .natural(static_cast<std::uint64_t>(columns_))
      .natural(static_cast<std::uint64_t>(bins_));
  out.natural(static_cast<std::uint64_t>(examples_));
  for (cell const& one : cells_) {
    out.natural(static_cast<std::uint64_t>(one.examples));
    if (one.examples == 0) continue;
    out.natural(static_cast<std::uint64_t>(one.positive))
        .real(one.probability_sum.sum)
        .real(one.probability_sum.compensation);
  }
  return out.release();
}

void calibration_report::merge(std::span<std::byte const> bytes) {
  detail::report_reader in(bytes);
  auto const require = [&](std::string_view what, std::uint64_t number) { in.natural(what, number, number); };
  require("kind of report", kind());
  require("columns", static_cast<std::uint64_t>(columns_));
  require("bins", static_cast<std::uint64_t>(bins_));
  std::int64_t const examples = in.count("examples", 0, (std::int64_t{1} << 53) - examples_);
  std::vector<cell> all = cells_;
  std::int64_t remaining = examples;
  for (std::size_t i = 0; i < all.size(); ++i) {
    cell part{.examples = in.count("examples of a bin", 0, remaining)};
    remaining -= part.examples;
    if (part.examples > 0) {
      part.positive = in.count("positive examples", 0, part.examples);
      auto const count_limit = static_cast<double>(part.examples);
      part.probability_sum = {in.real("sum of probabilities", 0, count_limit),
                              in.real("compensation of the sum", -1e-6 * count_limit, 1e-6 * count_limit)};
      all[i].add(part);
    }
    if ((i + 1) % static_cast<std::size_t>(bins_) != 0) continue;
    if (remaining != 0)
      in.refuse("counts", detail::text_of({examples, " examples in all"}),
                std::to_string(examples - remaining));
    remaining = examples;
  }
  in.end();
  cells_ = std::move(all);
  examples_ += examples;
}

void calibration_report::clear() {
  cells_.assign(static_cast<std::size_t>(columns_ > 1 ? columns_ + 1 : 1) * static_cast<std::size_t>(bins_),
                {});
  examples_ = 0;
}

std::vector<calibration_bin> calibration_report::bins(int column) const {
  std::vector<calibration_bin> made;
  for (int b = 0; b < bins_; ++b) {
    cell const& one = cells_[static_cast<std::size_t>(column) * static_cast<std::size_t>(bins_)
                             + static_cast<std::size_t>(b)];
    auto& bin = made.emplace_back(
        calibration_bin{static_cast<double>(b) / bins_, (b + 1.0) / bins_, one.examples, {}, {}});
    if (one.examples == 0) continue;
    bin.probability = one.probability_sum.value() / static_cast<double>(one.examples);
    bin.frequency = static_cast<double>(one.positive) / static_cast<double>(one.examples);
  }
  return made;
}

std::optional<double> calibration_report::expected_error() const {
  if (examples_ == 0) return std::nullopt;
  double sum = 0;
  for (calibration_bin const& one : bins()) sum += static_cast<double>(one.examples) * error(one);
  return sum / static_cast<double>(examples_);
}

std::optional<double> calibration_report::largest_error() const {
  if (examples_ == 0) return std::nullopt;
  double largest = 0;
  for (calibration_bin const& one : bins()) largest = std::max(largest, error(one));
  return largest;
}

std::string calibration_report::stats() const {
  if (examples_ == 0) return "  no examples\n";
  detail::text_table table({.others = detail::columns::right});
  table.add({"bin", "examples", "probability", "frequency"});
  for (calibration_bin const& one : bins())
    table.add({detail::decimal_text(one.lowest, 2) + " to " + detail::decimal_text(one.highest, 2),
               one.examples, detail::decimal_text(one.probability, 4),
               detail::decimal_text(one.frequency, 4)});
  return table.text() + "\n  expected calibration error  " + detail::decimal_text(expected_error(), 4)
         + "\n  maximum calibration error   " + detail::decimal_text(largest_error(), 4) + '\n';
}

void calibration_report::cell::add(cell const& part) {
  examples += part.examples;
  positive += part.positive;
  probability_sum.add(part.probability_sum);
}

double calibration_report::error(calibration_bin const& one) {
  return one.examples > 0 ? std::abs(*one.probability - *one.frequency) : 0;
}

void calibration_report::count(std::size_t row, double probability, bool positive) {
  probability = std::min(probability, 1.0);
  int const bin = std::min(static_cast<int>(probability * bins_), bins_ - 1);
  cell& one = cells_[row * static_cast<std::size_t>(bins_) + static_cast<std::size_t>(bin)];
  ++one.examples;
  one.positive += positive;
  one.probability_sum.add(probability);
}

}  // namespace cohort
