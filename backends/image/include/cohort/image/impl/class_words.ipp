// SPDX-License-Identifier: Apache-2.0
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/class_words.hpp>
#include <cohort/io/file_reader.hpp>
#include <cstdint>
#include <string_view>
#include <utility>

namespace cohort {

class_word_map class_words(std::string const& path) {
  std::string const text = io::read_text(path);
  class_word_map words;
  std::int64_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    ++number;
    std::size_t const end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    auto const refuse = [&](char const* expected, std::string got) {
      throw data_error({.what = "a line does not name a class",
                        .where = {path, ", line ", number},
                        .expected = expected,
                        .got = std::move(got)});
    };
    if (detail::invalid_utf8_at(line) != line.size()) refuse("UTF-8", detail::quote_for_error(line));
    std::size_t const tab = line.find('\t');
    if (tab == line.npos || tab == 0 || tab + 1 == line.size() || line.find('\t', tab + 1) != line.npos)
      refuse("an id, a tab and the class's words", detail::quote_for_error(line));
    std::string const id(line.substr(0, tab));
    if (!words.emplace(id, line.substr(tab + 1)).second) refuse("each id once", id + " a second time");
  }
  if (words.empty())
    throw data_error({.what = "the file does not name any class",
                      .where = path,
                      .expected = "lines of an id, a tab and the class's words",
                      .got = "an empty file"});
  return words;
}

std::vector<std::string> named_classes(std::vector<std::string> const& ids, class_word_map const& words) {
  std::map<std::string_view, int> uses;
  std::vector<std::string> names;
  for (std::string const& id : ids) {
    auto const found = words.find(id);
    if (found == words.end())
      throw data_error({.what = "a class has no words",
                        .where = {"class ", id},
                        .expected = {"one of the ", words.size(), " ids of the words"},
                        .got = id});
    ++uses[found->second];
    names.push_back(found->second);
  }
  for (std::size_t k = 0; k < ids.size(); ++k)
    if (uses[names[k]] > 1) names[k] += " (" + ids[k] + ')';
  return names;
}

}  // namespace cohort
