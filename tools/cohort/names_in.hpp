// SPDX-License-Identifier: Apache-2.0
#pragma once
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

}  // namespace cohort_program
