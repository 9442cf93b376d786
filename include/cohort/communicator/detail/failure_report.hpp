// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Why the ranks of a communicator cannot continue. Every rank receives the report of the first cause and
/// ends with its exit status.
struct failure_report {
  std::string text{};
  int exit_status = communicator_exit_status;  ///< 1 to 255
  std::vector<int> lost{};  ///< the ranks that were found lost; empty: the sender itself has failed

  static constexpr std::size_t most_lost = 256, longest_text = 4096;
  static constexpr std::size_t longest = 4 * (2 + most_lost) + longest_text;

  std::vector<std::byte> encoded() const;
  /// Reads what is valid of the bytes.
  static failure_report decoded(std::span<std::byte const> bytes);
};

/// Exit status of a rank whose own error is not a lost rank: a restart would repeat the error.
inline constexpr int own_error_status = 1;

/// The report of an exception that ends a rank.
failure_report failure_of(std::exception_ptr const& thrown);

}  // namespace cohort::detail
