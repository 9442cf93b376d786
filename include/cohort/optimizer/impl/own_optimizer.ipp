// SPDX-License-Identifier: Apache-2.0
#include <cohort/optimizer/own_optimizer.hpp>
#include <list>
#include <mutex>
#include <string>

namespace cohort::detail {

own_update const& described_update(std::string_view name, std::span<std::string_view const> fields) {
  static std::mutex one_at_a_time;
  static auto& texts = *new std::list<std::string>();  // never destroyed: rules of static objects refer to it
  static auto& known = *new std::list<own_update>();
  std::lock_guard const lock(one_at_a_time);
  auto const is_it = [&](own_update const& other) {
    return other.row.name == name
           && std::ranges::equal(std::span(other.row.fields).first(fields.size()), fields)
           && (fields.size() == other.row.fields.size() || other.row.fields[fields.size()].empty());
  };
  if (auto const found = std::ranges::find_if(known, is_it); found != known.end()) return *found;
  update_row row{.name = texts.emplace_back(name)};
  for (std::size_t k = 0; k < fields.size(); ++k) row.fields[k] = texts.emplace_back(fields[k]);
  return known.emplace_back(own_update{.row = row});
}

}  // namespace cohort::detail
