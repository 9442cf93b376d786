// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cohort/optimizer/named_number.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace golden {

/// A case of a file in tests/golden: `case NAME FIELD VALUE …`, then lines of numbers that begin with a word.
struct one_case {
  struct row {
    std::string word;
    std::vector<double> numbers;
  };
  std::string name;
  std::vector<std::string> field_names;  // memory that `fields` points to
  std::vector<double> field_values;
  std::vector<row> rows;

  std::vector<cohort::named_number> fields() const {
    std::vector<cohort::named_number> list;
    for (std::size_t k = 0; k < field_names.size(); ++k) list.push_back({field_names[k], field_values[k]});
    return list;
  }
  /// Removes a field from the list and returns its value.
  double take(std::string const& field) {
    for (std::size_t k = 0; k < field_names.size(); ++k) {
      if (field_names[k] != field) continue;
      double const value = field_values[k];
      field_names.erase(field_names.begin() + static_cast<std::ptrdiff_t>(k));
      field_values.erase(field_values.begin() + static_cast<std::ptrdiff_t>(k));
      return value;
    }
    ADD_FAILURE() << name << " has no " << field;
    return 0;
  }
};

/// Cases of the file. Rows before the first case belong to an unnamed first case.
inline std::vector<one_case> read(std::string const& name) {
  std::string const here = __FILE__;
  std::string const path = here.substr(0, here.rfind("optimizer/")) + "golden/" + name;
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::vector<one_case> cases(1);
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string word;
    double number = 0;
    line >> word;
    if (word != "case") {
      auto& row = cases.back().rows.emplace_back();
      row.word = word;
      while (line >> number) row.numbers.push_back(number);
      continue;
    }
    auto& next = cases.emplace_back();
    line >> next.name;
    while (line >> word >> number) {
      next.field_names.push_back(word);
      next.field_values.push_back(number);
    }
  }
  return cases;
}

}  // namespace golden
