// SPDX-License-Identifier: Apache-2.0
#pragma once
// The journal of a hyperparameter search.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/crc32.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort_program {

/// How a run has ended.
enum class run_outcome : std::uint8_t { succeeded, failed, late };

inline constexpr std::array<std::string_view, 3> outcome_names{"succeeded", "failed", "late"};

/// The result of a run in one rung.
struct run_result {
  run_outcome outcome = run_outcome::succeeded;
  double metric = 0;     ///< if succeeded
  double seconds = 0;    ///< duration of the process
  std::string reason{};  ///< why it has failed; empty: unknown

  friend bool operator==(run_result const&, run_result const&) = default;
};

/// Run and rung of a result, both from 0.
using run_place = std::pair<int, int>;
using run_results = std::map<run_place, run_result>;

/// The contents of a journal.
struct journal_content {
  std::string settings;  ///< of the search, as JSON; empty: the first line is damaged
  run_results results{};
  int damaged = 0;  ///< number of lines that are damaged; each was ignored
};

/// A line of a journal: the CRC-32 of a text in 8 hexadecimal digits, a space, the text, and a line feed.
inline std::string journal_line(std::string_view text) {
  std::array<char, 9> digits;
  std::uint32_t const sum = cohort::io::crc32(std::as_bytes(std::span(text)));
  std::snprintf(digits.data(), digits.size(), "%08x", static_cast<unsigned>(sum));
  return std::string(digits.data()) + ' ' + std::string(text) + '\n';
}

inline std::string journal_line(run_place place, run_result const& result) {
  cohort::io::json_writer out;
  out.begin_object().field("run", place.first).field("rung", place.second);
  out.field("outcome", outcome_names[static_cast<std::size_t>(result.outcome)]);
  if (result.outcome == run_outcome::succeeded) out.field("metric", result.metric);
  out.field("seconds", result.seconds);
  if (!result.reason.empty()) out.field("reason", result.reason);
  return journal_line(out.end_object().text());
}

/// Reads the text of a journal: the settings of the search, then one line for each result. Lines that are
/// damaged or incomplete are counted.
inline journal_content read_journal(std::string_view text) {
  journal_content content;
  constexpr int most = 1'000'000;
  for (bool first = true; !text.empty(); first = false) {
    std::size_t const end = text.find('\n');
    std::string_view const line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    constexpr std::size_t prefix = 9;
    bool const is_whole = end != text.npos && line.size() > prefix
                          && journal_line(line.substr(prefix)).substr(0, prefix) == line.substr(0, prefix);
    if (!is_whole) {
      ++content.damaged;
      continue;
    }
    if (first) {
      content.settings = line.substr(prefix);
      continue;
    }
    try {
      auto const parsed = cohort::io::parse_json(line.substr(prefix), "journal");
      auto const root = parsed.root();
      run_place const place(root.at("run").integer(0, most), root.at("rung").integer(0, most));
      run_result result{.seconds = root.at("seconds").number()};
      std::string_view const name = root.at("outcome").string();
      auto const found = std::ranges::find(outcome_names, name);
      if (found == outcome_names.end()) root.at("outcome").refuse("the name of an outcome");
      result.outcome = static_cast<run_outcome>(found - outcome_names.begin());
      if (result.outcome == run_outcome::succeeded) result.metric = root.at("metric").number();
      if (auto const reason = root.find("reason")) result.reason = reason->string();
      content.results[place] = std::move(result);
    } catch (cohort::data_error const&) {
      ++content.damaged;
    }
  }
  return content;
}

/// The journal of a search as a file, to which results are appended.
///
/// Order     a result is on the disk when `add` returns.
/// Errors    file_error.
class search_journal {
 public:
  /// Writes a journal with these contents, atomically, and opens it.
  search_journal(std::string path, std::string const& settings, run_results const& results)
      : path_(std::move(path)) {
    std::string text = journal_line(settings);
    for (auto const& [place, result] : results) text += journal_line(place, result);
    cohort::io::write_file(path_, text);
    file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file_ < 0) cohort::detail::refuse_file("cannot open the journal", path_, errno);
  }
  search_journal(search_journal const&) = delete;
  search_journal& operator=(search_journal const&) = delete;
  ~search_journal() { ::close(file_); }

  void add(run_place place, run_result const& result) const {
    std::string const line = journal_line(place, result);
    errno = 0;
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()) || ::fsync(file_) != 0)
      cohort::detail::refuse_file("cannot write the journal", path_, errno ? errno : ENOSPC);
  }

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace cohort_program
