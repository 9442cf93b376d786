// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>

namespace cohort::detail {

/// Exits the process without running exit handlers, which may wait for lost ranks. Flushes the standard
/// output stream, unless a thread has locked it. Flushes no other stream, because a thread that reads from a
/// stream holds the stream's lock.
[[noreturn, gnu::cold]] void exit_at_once(int status);

}  // namespace cohort::detail
