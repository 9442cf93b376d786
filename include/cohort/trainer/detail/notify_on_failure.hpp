// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <exception>

namespace cohort::detail {

/// Runs f. abandon(why) hears of what it throws, but for a deadline_error: then a worker may still be at work.
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
    abandon("an exception that is no std::exception");
    throw;
  }
}

}  // namespace cohort::detail
