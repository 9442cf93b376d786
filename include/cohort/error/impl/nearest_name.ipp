// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/detail/nearest_name.hpp>
#include <cstddef>
#include <numeric>
#include <vector>

namespace cohort::detail {

/// Levenshtein distance: the number of characters to insert, remove or replace.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t const replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string_view nearest_name(std::string_view wanted, std::span<std::string_view const> names) {
  constexpr std::size_t longest = 100;  // bounds the time for an untrusted name
  std::string_view nearest;
  std::size_t least = wanted.size();
  if (wanted.size() > longest) return nearest;
  for (std::string_view const name : names) {
    std::size_t const distance = edit_distance(wanted, name);
    if (distance > (std::max(name.size(), wanted.size()) + 1) / 3 || distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

std::string names_and_nearest(std::string_view wanted, std::span<std::string_view const> names) {
  std::string list;
  for (std::string_view const name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  std::string_view const nearest = nearest_name(wanted, names);
  if (!nearest.empty()) list += "; the nearest name is " + std::string(nearest);
  return list;
}

}  // namespace cohort::detail
