// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <charconv>
#include <cohort/checkpoint/detail/process_identity.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/io/detail/host_identity.hpp>
#include <cstddef>
#include <fstream>
#include <iterator>

namespace cohort::detail {

inline constexpr std::string_view process_word = ", process ", start_word = ", started ";

/// Returns field 22 of /proc/PID/stat. Returns "" if there is no such process, or if it is a zombie (field 3
/// is Z or X), which no longer writes files.
std::string start_time(std::string_view process) {
  std::ifstream file("/proc/" + std::string(process) + "/stat");
  std::string const text{std::istreambuf_iterator<char>(file), {}};
  std::size_t at = text.rfind(')');  // ends field 2, which may contain spaces
  if (at == text.npos || text.find_first_of("ZX", at) == at + 2) return {};
  constexpr int fields_to_skip = 20;
  for (int field = 0; field < fields_to_skip && at != text.npos; ++field) at = text.find(' ', at + 1);
  return at == text.npos ? std::string() : text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

std::string process_identity() {
  std::string const process = text_of({::getpid()});
  return text_of({host_name(), process_word, process, start_word, start_time(process)});
}

bool is_running_here(std::string_view identity) {
  std::string_view const host = identity.substr(0, identity.find(process_word));
  std::size_t const process = identity.find(process_word), start = identity.find(start_word);
  if (process == identity.npos || start == identity.npos || start < process || host != host_name())
    return false;
  std::string_view const number =
      identity.substr(process + process_word.size(), start - process - process_word.size());
  int pid = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), pid).ptr != number.data() + number.size())
    return false;
  std::string const now = start_time(number);
  return !now.empty() && now == identity.substr(start + start_word.size());
}

}  // namespace cohort::detail
