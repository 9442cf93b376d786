// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/hash.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/detail/column_labels.hpp>
#include <cstddef>
#include <utility>

namespace cohort::detail {

column_labels::column_labels(int columns, std::vector<std::string> names) : names_(std::move(names)) {
  if (columns < 1 || columns > 100'000)
    throw setting_error({.what = "a report has too few or too many columns",
                         .where = "columns",
                         .expected = "1 to 100000",
                         .got = {columns}});
  if (!names_.empty() && names_.size() != static_cast<std::size_t>(columns))
    throw setting_error({.what = "the number of labels differs from the number of columns",
                         .where = "labels",
                         .expected = {columns, " names"},
                         .got = {names_.size()}});
}

std::string column_labels::name(int column) const {
  std::string text = std::to_string(column);
  if (!names_.empty()) text += ' ' + names_[static_cast<std::size_t>(column)];
  return text;
}

std::uint64_t column_labels::hash() const {
  std::uint64_t hash = fnv1a_offset;
  for (std::string const& one : names_)
    hash = fnv1a({one.c_str(), one.size() + 1}, hash);  // with the terminating zero
  return hash;
}

}  // namespace cohort::detail
