// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/table_values.hpp>
#include <iterator>

namespace cohort::detail {

std::string listed_columns(std::vector<std::string> const& columns) {
  constexpr std::size_t listed = 50;
  std::string names;
  for (std::size_t c = 0; c < columns.size() && c < listed; ++c) names += (c == 0 ? "" : ", ") + columns[c];
  if (columns.size() > listed) names += text_of({", … (", columns.size(), " columns)"});
  return names;
}

void refuse_column(std::string const& table, std::vector<std::string> const& columns,
                   std::string_view wanted) {
  throw setting_error({.what = "the table has no such column",
                       .where = table,
                       .expected = {"one of ", listed_columns(columns)},
                       .got = std::string(wanted)});
}

std::vector<std::string> input_names(std::vector<std::string> const& wanted,
                                     std::vector<std::string> const& all, std::string const& target) {
  std::vector<std::string> names = wanted;
  if (names.empty())
    std::ranges::copy_if(all, std::back_inserter(names),
                         [&](std::string const& name) { return name != target; });
  std::vector<std::string> sorted = names;
  if (!target.empty()) sorted.push_back(target);
  std::ranges::sort(sorted);
  auto const twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end())
    throw setting_error({.what = "a column is used twice",
                         .where = "inputs and target",
                         .expected = "different columns",
                         .got = *twice});
  if (names.empty())
    throw setting_error({.what = "there is no input column",
                         .where = "inputs and target",
                         .expected = "at least 1 column beside the target",
                         .got = {"only ", target}});
  return names;
}

}  // namespace cohort::detail
