// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/trainer/detail/csv_text.hpp>
#include <cohort/trainer/fit_history.hpp>

namespace cohort {

COHORT_CORE_INLINE std::span<double const> fit_history::operator[](std::string_view name) const {
  auto const found = std::ranges::find(names_, name);
  if (found != names_.end()) return columns_[static_cast<std::size_t>(found - names_.begin())];
  std::string known;
  for (std::string const& one : names_) known += (known.empty() ? "" : ", ") + one;
  throw setting_error({.what = "the history has no column of this name",
                       .where = "fit_history",
                       .expected = {"one of ", known},
                       .got = std::string(name)});
}

COHORT_CORE_INLINE std::string fit_history::csv() const { return detail::csv_text(names_, columns_); }

COHORT_CORE_INLINE void fit_history::add(epoch_report const& done) {
  constexpr std::size_t fixed = 4;
  if (size() == 0)
    for (metric_value const& one : done.validation) {
      names_.push_back(one.name);
      columns_.emplace_back();
    }
  if (done.validation.size() + fixed != names_.size())
    throw setting_error({.what = "a row of the history has other numbers than the first one",
                         .where = "fit_history",
                         .expected = {names_.size() - fixed, " numbers of the validation"},
                         .got = {done.validation.size()}});
  double const row[]{static_cast<double>(done.epoch + 1), done.loss, static_cast<double>(done.examples),
                     done.seconds};
  for (std::size_t c = 0; c < std::size(row); ++c) columns_[c].push_back(row[c]);
  for (std::size_t c = 0; c < done.validation.size(); ++c)
    columns_[fixed + c].push_back(done.validation[c].value);
}

}  // namespace cohort
