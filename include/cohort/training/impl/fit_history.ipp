// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/training/detail/csv_text.hpp>
#include <cohort/training/fit_history.hpp>

namespace cohort {

namespace detail {

/// Formats names: "loss, accuracy", or "none".
std::string names_text(std::span<std::string const> names) {
  std::string text;
  for (std::string const& one : names) text += (text.empty() ? "" : ", ") + one;
  return text.empty() ? "none" : text;
}

}  // namespace detail

std::span<std::string const> fit_history::names() const& { return names_; }

std::span<double const> fit_history::operator[](std::string_view name) const& {
  auto const found = std::ranges::find(names_, name);
  if (found != names_.end()) return columns_[static_cast<std::size_t>(found - names_.begin())];
  throw setting_error({.what = "the history has no column of this name",
                       .where = "fit_history",
                       .expected = {"one of ", detail::names_text(names_)},
                       .got = std::string(name)});
}

std::string fit_history::csv() const { return detail::csv_text(names_, columns_); }

void fit_history::add(epoch_report const& done) {
  constexpr std::size_t fixed = 4;
  std::vector<std::string> metrics;
  for (metric_value const& one : done.validation) metrics.push_back(one.name);
  std::span<std::string const> const known = std::span(names_).subspan(fixed);
  if (size() > 0 && !std::ranges::equal(metrics, known))
    throw setting_error({.what = "the metrics of an epoch differ from those of the first one",
                         .where = {"fit_history, epoch ", done.epoch + 1},
                         .expected = detail::names_text(known),
                         .got = detail::names_text(metrics)});
  if (size() == 0) {
    names_.insert(names_.end(), metrics.begin(), metrics.end());
    columns_.resize(names_.size());
  }
  double const row[]{static_cast<double>(done.epoch + 1), done.loss, static_cast<double>(done.examples),
                     done.seconds};
  for (std::size_t c = 0; c < std::size(row); ++c) columns_[c].push_back(row[c]);
  for (std::size_t c = 0; c < metrics.size(); ++c) columns_[fixed + c].push_back(done.validation[c].value);
}

}  // namespace cohort
