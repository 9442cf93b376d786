// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace benchmarks {

/// Returns an argument as a number from 1 to 1,000,000. For any other argument, prints an error that names
/// `what`, and exits.
inline int whole_number(char const* text, char const* what) {
  char* end = nullptr;
  long const value = std::strtol(text, &end, 10);
  if (*end == 0 && value >= 1 && value <= 1'000'000) return static_cast<int>(value);
  std::fprintf(stderr, "%s: %s: expected a number from 1 to 1,000,000, got %s\n",
               program_invocation_short_name, what, text);
  std::exit(2);
}

/// Returns an argument as a number of at least 0. For any other argument, prints an error that names `what`,
/// and exits.
inline double real_number(char const* text, char const* what) {
  char* end = nullptr;
  double const value = std::strtod(text, &end);
  if (end != text && *end == 0 && value >= 0) return value;
  std::fprintf(stderr, "%s: %s: expected a number of at least 0, got %s\n", program_invocation_short_name,
               what, text);
  std::exit(2);
}

}  // namespace benchmarks
