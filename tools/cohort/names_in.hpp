// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort_program {

/// Returns the names in a list, which commas separate.
inline std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  for (std::size_t end = 0; end != list.npos;) {
    end = list.find(',');
    names.emplace_back(list.substr(0, end));
    list.remove_prefix(end == list.npos ? 0 : end + 1);
  }
  return names;
}

/// Returns the names of values, separated by commas and blanks. `name`: returns the name of a value.
template <class Range, class Name = std::identity>
std::string list_of(Range const& values, Name name = {}) {
  std::string text;
  for (auto const& value : values) text += (text.empty() ? "" : ", ") + std::invoke(name, value);
  return text;
}

}  // namespace cohort_program
