// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <exception>
#include <string>
#include <utility>

namespace cohort::detail {

/// Why the ranks of a communicator cannot continue. Every rank receives the report of the first cause and
/// ends with its exit status.
struct failure_report : std::string {
  failure_report() = default;
  failure_report(char const* why) : std::string(why) {}
  failure_report(std::string why, int status = communicator_exit_status)
      : std::string(std::move(why)), exit_status(status) {}

  int exit_status = communicator_exit_status;  ///< 1 to 255
};

/// Exit status of a rank whose own error is not a lost rank: a restart would repeat the error.
inline constexpr int own_error_status = 1;

/// The report of an exception that ends a rank.
failure_report failure_of(std::exception_ptr const& thrown);

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/failure_report.ipp>
#endif
