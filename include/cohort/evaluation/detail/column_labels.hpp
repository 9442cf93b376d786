// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort::detail {

/// Labels of a report's columns: the column's index, with its name if names are given.
///
/// Errors    setting_error unless the number of columns is from 1 to 100000, and equal to the number of names
///           if there are names.
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
