// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <exception>

namespace cohort::detail {

/// Runs f. If f throws, calls abandon(text) and rethrows. After a deadline_error abandon is not called,
/// because a worker may still be running.
template <class F, class Abandon>
void notify_on_failure(F f, Abandon abandon) {
  try {
    f();
  } catch (deadline_error const&) {
    throw;
  } catch (std::exception const& e) {
    abandon(e.what());
    throw;
  } catch (...) {
    abandon("an exception that is not a std::exception");
    throw;
  }
}

}  // namespace cohort::detail
