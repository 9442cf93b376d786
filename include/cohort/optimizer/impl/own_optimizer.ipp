// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/own_optimizer.hpp>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>

namespace cohort::detail {

namespace {

constexpr std::size_t most_descriptions = 1000;  // bounds the memory that files can use

void require_described_name(bool allowed, char const* where, std::string_view name,
                            std::string const& expected) {
  if (!allowed)
    throw setting_error({.what = "invalid name in the description of an optimizer",
                         .where = where,
                         .expected = expected,
                         .got = quote_for_error(name)});
}

}  // namespace

own_update const& described_update(std::string_view name, std::span<std::string_view const> fields) {
  std::string const length = text_of({"1 to ", own_update::most_name_bytes, " bytes"});
  require_described_name(has_name_length(name), "name", name, length);
  for (std::string_view const field : fields)
    require_described_name(has_name_length(field), "fields", field, length);
  require_described_name(std::ranges::find(update_rows, name, &update_row::name) == update_rows.end(), "name",
                         name, "a name that no built-in optimizer has");
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
  if (known.size() == most_descriptions)
    throw setting_error(
        {.what = "files describe too many optimizers of programs",
         .where = "name",
         .expected = {"at most ", most_descriptions, " different optimizers of programs in a process"},
         .got = {"a further one, ", quote_for_error(name)}});
  update_row row{.name = texts.emplace_back(name)};
  for (std::size_t k = 0; k < fields.size(); ++k) row.fields[k] = texts.emplace_back(fields[k]);
  return known.emplace_back(own_update{.row = row});
}

}  // namespace cohort::detail
