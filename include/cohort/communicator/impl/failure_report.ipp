// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/failure_report.hpp>
#include <cohort/detail/config.hpp>

namespace cohort::detail {

[[gnu::cold]] COHORT_CORE_INLINE failure_report failure_of(std::exception_ptr const& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (communicator_error const& e) {
    return {e.what(), e.exit_status()};
  } catch (std::exception const& e) {
    return {e.what(), own_error_status};
  } catch (...) {
    return {"an exception that is not derived from std::exception", own_error_status};
  }
}

}  // namespace cohort::detail
