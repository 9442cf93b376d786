// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/tensor/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

/// The gate orders of a library, one array per parameter: Cohort's block k is the library's block array[k].
///
/// Source    docs/sequences.md, whose table a test compares with golden numbers.
struct gate_orders {
  std::string_view library;
  std::array<int, 4> lstm;
  std::array<int, 3> gru;        ///< −1: the library has none
  std::array<int, 3> peepholes;  ///< −1: the library has none
};

inline constexpr std::array<gate_orders, 4> known_gate_orders{{
    {"pytorch", {0, 1, 2, 3}, {1, 0, 2}, {-1}},
    {"keras", {0, 1, 2, 3}, {0, 1, 2}, {-1}},
    {"onnx", {0, 2, 3, 1}, {0, 1, 2}, {0, 2, 1}},
    {"deeplearning4j", {3, 1, 0, 2}, {-1}, {2, 0, 1}},
}};

/// One operation of a name map.
struct tensor_operation {
  enum class kind { transpose, axes, part, gates, reshape };
  kind what = kind::transpose;
  std::vector<int> numbers{};           ///< axes: the axes; part: index and number of parts
  gate_orders const* orders = nullptr;  ///< gate orders of the operation `gates`

  /// Parses an operation, such as "axes:3,2,0,1". Returns nullopt for any other text.
  static std::optional<tensor_operation> parse(std::string_view text);
};

/// One line of a name map.
struct name_rule {
  int line = 0;
  std::string ours;                 ///< pattern of parameters; "-": the tensors are ignored
  std::vector<std::string> theirs;  ///< patterns of tensors to add; "-": the parameter keeps its value
  std::vector<tensor_operation> operations;

  bool ignores() const { return ours == "-"; }
  bool keeps() const { return theirs.size() == 1 && theirs[0] == "-"; }
};

/// Returns the text that each star of the pattern matches: at least one character, as few as possible.
/// Returns nullopt if the text does not match.
std::optional<std::vector<std::string_view>> match_pattern(std::string_view pattern, std::string_view text);

/// Replaces the k-th star of a pattern with stars[k].  Before: one text per star.
std::string expand_pattern(std::string_view pattern, std::vector<std::string_view> const& stars);

/// The parameter to which a tensor is mapped.
struct mapped_parameter {
  std::string_view layer_kind;  ///< "lstm"
  std::string_view name;        ///< "recurrent_weights"
  shape dims;
};

/// For each element of a parameter, the row-major index of the tensor's element from which that element is
/// read.
///
/// Shapes    `dims`: the extents after the operations that were applied.
struct element_order {
  shape dims;
  std::vector<std::int64_t> from;  ///< empty: the order of the tensor

  /// Applies one operation. If the operation cannot be applied, returns the reason; otherwise "".
  std::string apply(tensor_operation const& next, mapped_parameter const& into);

 private:
  void permute(std::vector<int> const& axes);
  /// Returns the index of the tensor's element at position i.
  std::int64_t at(std::int64_t i) const { return from.empty() ? i : from[static_cast<std::size_t>(i)]; }
};

}  // namespace cohort::detail
