// SPDX-License-Identifier: Apache-2.0
// Malformed files of a hyperparameter search. The first byte selects: 0, a journal; 1, a journal whose lines
// get valid checksums; otherwise a space of values. A journal that was read, written and read again has the
// same results. A space is refused, or its points are valid JSON.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/tools_cohort_search_fuzz some/folder tests/tools/cohort/search_fuzz
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include "../../../tools/cohort/search_journal.hpp"
#include "../../../tools/cohort/search_space.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void read_journal(std::string_view text) {
  cohort_program::journal_content const content = cohort_program::read_journal(text);
  std::string again = cohort_program::journal_line(content.settings);
  for (auto const& [place, result] : content.results) again += cohort_program::journal_line(place, result);
  cohort_program::journal_content const copy = cohort_program::read_journal(again);
  require(copy.results == content.results);
  require(copy.damaged == (content.settings.empty() ? 1 : 0));  // a line without settings is not whole
}

std::string with_checksums(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    lines += cohort_program::journal_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void read_space(std::string_view text) {
  try {
    auto const parsed = cohort::io::parse_json(text, "space");
    cohort_program::search_space const space(parsed.root());
    auto const points = space.sample(1, 3);
    require(!points.empty());
    for (cohort_program::search_point const& point : points) {
      require(point.size() == space.parameters().size());
      for (std::string const& value : point) cohort::io::parse_json(value);
    }
    require(space.sample(1, 3) == points);
  } catch (cohort::data_error const&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view const text(reinterpret_cast<char const*>(data + 1), size - 1);
  if (data[0] == 0)
    read_journal(text);
  else if (data[0] == 1)
    read_journal(with_checksums(text));
  else
    read_space(text);
  return 0;
}
