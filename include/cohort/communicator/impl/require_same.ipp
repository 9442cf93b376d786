// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/detail/texts_of_all.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/error/exceptions.hpp>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Calls visit(name, value) for each fact in "name\0value\0name\0value\0…".
template <class Visit>
void for_each_fact(std::string_view remaining, Visit visit) {
  while (!remaining.empty()) {
    std::string_view word[2];
    for (std::string_view& one : word) {
      std::size_t const end = std::min(remaining.find('\0'), remaining.size());
      one = remaining.substr(0, end);
      remaining.remove_prefix(std::min(end + 1, remaining.size()));
    }
    visit(word[0], word[1]);
  }
}

std::string encoded_facts(std::span<shared_fact const> facts) {
  std::string text;
  for (shared_fact const& one : facts)
    text.append(one.name).append(1, '\0').append(one.value).append(1, '\0');
  return text;
}

/// Removes the clauses at the beginning and the end that all texts have in common. "; " separates clauses.
void remove_common_clauses(std::vector<std::string>& texts) {
  std::vector<std::vector<std::string_view>> clauses(texts.size());
  std::size_t least = std::string::npos;
  for (std::size_t r = 0; r < texts.size(); ++r) {
    std::string_view remaining = texts[r];
    for (std::size_t end = 0; end != remaining.npos;
         remaining.remove_prefix(end == remaining.npos ? 0 : end + 2))
      clauses[r].push_back(remaining.substr(0, end = remaining.find("; ")));
    least = std::min(least, clauses[r].size());
  }
  auto const equal = [&](auto clause_of) {
    return std::ranges::all_of(clauses,
                               [&](auto const& one) { return clause_of(one) == clause_of(clauses[0]); });
  };
  std::size_t front = 0, back = 0;
  while (front < least && equal([&](auto const& one) { return one[front]; })) ++front;
  while (front + back < least && equal([&](auto const& one) { return one[one.size() - 1 - back]; })) ++back;
  std::vector<std::string> shorter(texts.size());
  for (std::size_t r = 0; r < texts.size(); ++r)
    for (std::size_t k = front; k < clauses[r].size() - back; ++k)
      shorter[r].append(k == front ? "" : "; ").append(clauses[r][k]);
  texts = std::move(shorter);
}

std::vector<shared_fact> differing_facts(std::span<std::string const> all) {
  std::vector<std::string_view> known;  // names of the facts of any rank, in the order of ranks
  for (std::string const& text : all)
    for_each_fact(text, [&](std::string_view name, std::string_view) {
      if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
    });
  std::vector<shared_fact> different;
  for (std::string_view const wanted : known) {
    std::vector<std::string> values(all.size());
    for (std::size_t r = 0; r < all.size(); ++r)
      for_each_fact(all[r], [&](std::string_view name, std::string_view value) {
        if (name == wanted) values[r] = value;
      });
    if (are_equal(values)) continue;
    remove_common_clauses(values);
    different.push_back({std::string(wanted), by_rank(values)});
  }
  return different;
}

void require_same(communicator& world, std::string_view call, std::span<shared_fact const> facts) {
  std::vector<std::string> const all = texts_of_all(world, call, encoded_facts(facts));
  std::string names, what;
  for (auto const& [name, values] : differing_facts(all)) {
    names += (names.empty() ? "" : ", ") + name;
    what += (what.empty() ? "" : ". ") + name + ": " + values;
  }
  if (!names.empty())
    throw setting_error({.what = "the ranks of this run differ",
                         .where = names,
                         .expected = "the same value on every rank",
                         .got = what});
}

}  // namespace cohort::detail

namespace cohort {

void require_same(communicator& world, std::span<shared_fact const> facts) {
  detail::require_same(world, "require_same", facts);
}

}  // namespace cohort
