// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <map>
#include <string>
#include <string_view>

namespace cohort::detail {

/// Names that differ from each other.
///
/// Cost      adding n names takes O(n log n) steps, also if all of them have the same base.
class unique_names {
 public:
  /// `separator`: character between a base and its number.
  explicit unique_names(char separator) : separator_(separator) {}

  /// Adds and returns the first of `base`, base_2, base_3, … that is not a name yet.
  std::string add(std::string_view base) {
    auto const [found, is_new] = last_numbers_.try_emplace(std::string(base), 1);
    std::string name = found->first;
    for (bool added = is_new; !added; added = last_numbers_.try_emplace(name, 1).second)
      name = found->first + separator_ + std::to_string(++found->second);
    return name;
  }
  bool contains(std::string_view name) const { return last_numbers_.contains(name); }

 private:
  char separator_;
  std::map<std::string, int, std::less<>> last_numbers_{};  // of the names with this base
};

}  // namespace cohort::detail
