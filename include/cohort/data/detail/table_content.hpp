// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/detail/number_format.hpp>
#include <cohort/tensor/element.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace cohort::detail {

/// Transparent hash, so that std::string keys can be looked up by string_view.
struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class Value>
using text_map = std::unordered_map<std::string, Value, text_hash, std::equal_to<>>;

/// One column of a data_table. Only the vector of its type is used.
struct table_column {
  bool is_text = false;
  std::vector<float> f32;
  std::vector<double> f64;
  std::vector<std::int32_t> codes;
  std::vector<std::string> vocabulary;
  std::string first_text;  // position and contents of the first field that is not a number
  // If the column has texts and its type was not given: counts of fields with a number, and of other fields.
  std::int64_t number_fields = 0, text_fields = 0;
  std::string merged{};  // two different integers that are the same f32, with their positions

  template <class T>
  std::vector<T>& numbers() {
    if constexpr (std::is_same_v<T, float>)
      return f32;
    else
      return f64;
  }
  template <class T>
  std::vector<T> const& numbers() const {
    return const_cast<table_column*>(this)->numbers<T>();
  }
};

/// The contents of a data_table.
struct table_content {
  std::string where;  // name of the file or text
  element_type number_type = element_type::f32;
  int rows = 0;
  std::vector<std::int32_t> row_numbers;  // in the text, from 1; empty: row i is number i + 1
  std::int64_t rows_before = 0;           // rows of the file before the text
  number_format numbers{};                // signs in the numbers of the text
  std::uint64_t pipeline = 0;  // fingerprint of the fitted_pipeline that prepared the rows; 0: none
  std::vector<std::string> names;
  std::vector<table_column> columns;
  text_map<std::size_t> by_name;
};

}  // namespace cohort::detail
