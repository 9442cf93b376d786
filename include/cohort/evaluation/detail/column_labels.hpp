// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/random/hash.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// What the columns of a report are called: their numbers, with names where there are any.
///
/// Errors    setting_error for a number of columns that makes no sense, and for another number of names.
class column_labels {
 public:
  static constexpr int most_printed = 20;

  column_labels(int columns, std::vector<std::string> names) : names_(std::move(names)) {
    if (columns < 1 || columns > 100'000)
      throw setting_error({.what = "cannot report on outputs",
                           .where = "columns",
                           .expected = "1 to 100000",
                           .got = {columns}});
    if (!names_.empty() && names_.size() != static_cast<std::size_t>(columns))
      throw setting_error({.what = "cannot report on outputs",
                           .where = "labels",
                           .expected = {columns, " names"},
                           .got = {names_.size()}});
  }

  std::string name(int column) const {
    std::string text = std::to_string(column);
    if (!names_.empty()) text += ' ' + names_[static_cast<std::size_t>(column)];
    return text;
  }
  std::uint64_t hash() const {
    std::uint64_t hash = fnv1a_offset;
    for (std::string const& one : names_)
      hash = fnv1a({one.c_str(), one.size() + 1}, hash);  // with the zero that ends it
    return hash;
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace cohort::detail
