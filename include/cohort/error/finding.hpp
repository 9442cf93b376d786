// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/error/exceptions.hpp>
#include <cohort/error/source.hpp>
#include <cohort/tensor/shape.hpp>
#include <string_view>

namespace cohort {

/// A string of fixed capacity, usable in constant evaluation and as a template argument. Truncates longer
/// text.
template <std::size_t Capacity>
struct fixed_text {
  char characters[Capacity]{};
  std::size_t size = 0;

  constexpr void append(std::string_view text) {
    for (char c : text)
      if (size + 1 < Capacity) characters[size++] = c;
  }
  constexpr void append(int number) {
    if (number < 0) append("-");
    char digits[12]{};
    int count = 0;
    for (long rest = number < 0 ? -static_cast<long>(number) : number; rest > 0 || count == 0; rest /= 10)
      digits[count++] = static_cast<char>('0' + rest % 10);
    while (count > 0) append(std::string_view(&digits[--count], 1));
  }
  constexpr void append(shape const& extents) {
    if (extents.rank == 0) append("scalar");
    for (int axis = 0; axis < extents.rank; ++axis) {
      if (axis > 0) append("x");
      append(extents[axis]);
    }
  }
  constexpr std::string_view view() const { return {characters, size}; }
};

/// A shape and its label in a message: "kernel 5x5".
struct labelled_shape {
  char const* label = nullptr;
  shape value{};
};

/// Returns a labelled number in the form that `finding` stores: "groups 3".
constexpr labelled_shape labelled_number(char const* label, int number) { return {label, shape(number)}; }

/// The first error in a network, as a value. Constant evaluation and run time use the same rules.
///
/// Before    `sentence`, `layer`, the labels and the `file` fields are string literals.
struct finding {
  char const* sentence = nullptr;          ///< the error; null: none
  char const* layer = "";                  ///< the layer's kind or name
  source_line at{};                        ///< source location of the layer
  std::array<labelled_shape, 2> shapes{};  ///< the values in conflict
  std::array<source_line, 2> operands{};   ///< source locations of the layers that produce `shapes`

  constexpr bool found() const { return sentence != nullptr; }

  /// Returns the message:
  /// "net.cpp:19: conv2d: the kernel is larger than its input (input 1x4x4, kernel 5x5)".
  template <std::size_t Capacity = 512>
  constexpr fixed_text<Capacity> text() const {
    fixed_text<Capacity> line;
    append_source(line, at);
    line.append(": ");
    line.append(layer);
    line.append(": ");
    line.append(sentence ? sentence : "nothing is wrong");
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (!shapes[i].label) continue;
      line.append(i == 0 ? " (" : ", ");
      line.append(shapes[i].label);
      line.append(" ");
      line.append(shapes[i].value);
      if (operands[i].line > 0) {
        line.append(" from ");
        if (std::string_view(operands[i].file) == at.file) {
          line.append("line ");
          line.append(operands[i].line);
        } else {
          append_source(line, operands[i]);
        }
      }
      if (i + 1 == shapes.size() || !shapes[i + 1].label) line.append(")");
    }
    return line;
  }

 private:
  template <std::size_t Capacity>
  static constexpr void append_source(fixed_text<Capacity>& line, source_line where) {
    line.append(where.line > 0 ? std::string_view(where.file) : std::string_view("graph"));
    if (where.line > 0) {
      line.append(":");
      line.append(where.line);
    }
  }
};

}  // namespace cohort
