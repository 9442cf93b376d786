// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/documents/detail/implementation.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/sink.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace cohort::documents {

/// A run cannot begin, because a flag or a field of the document has a value that this program or this host
/// cannot use. The message is one sentence. Programs then exit with usage_status.
struct usage_error final : setting_error {
  explicit usage_error(std::string problem) : setting_error({.what = std::move(problem)}) {}
};

/// Exit status of a program whose flags or document are invalid.
inline constexpr int usage_status = 2;

/// Names of settings in error messages: fields of a document, or a program's flags.
struct setting_names {
  char const* backend = "backend";
  char const* ranks = "ranks.count";
  char const* communicator = "ranks.communicator";
  char const* strategy = "strategy";
};

/// The environment variable that limits the memory of training.
inline constexpr char const* max_bytes_variable = "COHORT_MAX_BYTES";

/// Parses a number of bytes: an integer, or an integer with the unit K, M, G or T, which are powers of 1024:
/// "512M" is 536870912. `setting` is the name of the flag or variable in messages.
///
/// Errors    usage_error.
std::size_t bytes_of(std::string_view setting, std::string_view text);

/// Passes each line of a text to a sink.
void print_lines(std::string_view text, sink const& output);

/// Returns a sink that prints lines to the standard output stream, and flushes it.
sink stdout_sink();

}  // namespace cohort::documents
