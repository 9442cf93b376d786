// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <functional>
#include <string_view>

namespace cohort {

/// Receives one line of output, without its newline. The library prints only through sinks.
///
/// Order     each object that holds a sink calls the sink from one thread at a time.
using sink = std::function<void(std::string_view line)>;

/// Returns a sink that prints to stderr, each line in one write, so that the lines of several ranks do not
/// mix.
sink stderr_sink();

/// Returns a sink that discards all lines.
sink silent_sink();

}  // namespace cohort
