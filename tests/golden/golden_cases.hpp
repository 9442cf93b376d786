// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cctype>
#include <cohort/tensor/shape.hpp>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// Numbers of a line, and their shape if the line begins with one: `output 2 8 : …`.
struct golden_tensor {
  cohort::shape dims;
  std::vector<double> values;
};
/// A case of a file in tests/golden: its lines in order, by the words that they begin with, such as `input`
/// or `gradient conv2d_1.bias`. A field in the line `case NAME batch 3` counts as a line.
using golden_case = std::map<std::string, std::vector<golden_tensor>>;

/// Numbers of the first line that begins with `key`.
inline std::vector<double> const& numbers_of(golden_case const& one, std::string const& key) {
  return one.at(key).at(0).values;
}

/// Cases of tests/golden/`name`, by their names.
inline std::map<std::string, golden_case> read_golden_cases(std::string const& name) {
  std::ifstream file(COHORT_SOURCE_DIR "/tests/golden/" + name);
  EXPECT_TRUE(file) << name;
  std::map<std::string, golden_case> cases;
  golden_case* now = nullptr;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key, word;
    words >> key;
    if (key == "case") {
      words >> word;
      now = &cases[word];
      if (!(words >> key)) continue;
    }
    golden_tensor read;
    while (words >> word) {
      if (std::isalpha(static_cast<unsigned char>(word[0])) != 0) {
        key += ' ' + word;
      } else if (word == ":") {
        for (double const extent : read.values) read.dims[read.dims.rank++] = static_cast<int>(extent);
        read.values.clear();
      } else {
        read.values.push_back(std::stod(word));
      }
    }
    (*now)[key].push_back(std::move(read));
  }
  return cases;
}
