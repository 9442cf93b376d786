// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Reason why the ranks of a communicator cannot continue. Every rank receives the report of the first cause
/// and ends with the report's exit status.
struct failure_report {
  std::string text{};
  int exit_status = communicator_exit_status;  ///< 1 to 255
  std::vector<int> lost{};                     ///< the lost ranks; empty for any other failure

  static constexpr std::size_t most_lost = 256, longest_text = 4096;
  static constexpr std::size_t longest = 4 * (2 + most_lost) + longest_text;

  std::vector<std::byte> encoded() const;
  /// Decodes a report. Ignores missing and invalid parts.
  static failure_report decoded(std::span<std::byte const> bytes);
};

/// Exit status of a rank that fails by an error other than a lost rank. A restart would repeat this error.
inline constexpr int own_error_status = 1;

/// Returns the report of an exception that ends a rank.
failure_report failure_of(std::exception_ptr const& thrown);

}  // namespace cohort::detail
