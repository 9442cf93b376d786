// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cohort::detail {

/// What the columns of a report are called: their numbers, with names where there are any.
///
/// Errors    setting_error for a number of columns that makes no sense, and for another number of names.
class column_labels {
 public:
  static constexpr int most_printed = 20;

  column_labels(int columns, std::vector<std::string> names);

  std::string name(int column) const;
  std::uint64_t hash() const;

 private:
  std::vector<std::string> names_;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/evaluation/impl/column_labels.ipp>
#endif
