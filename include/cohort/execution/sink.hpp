// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string_view>

namespace cohort {

/// Where a line of output goes: the library prints nothing by itself. A line comes without its newline.
///
/// Order     called by one thread at a time for each object that holds the sink.
using sink = std::function<void(std::string_view line)>;

/// Each line to the standard error stream, in one write, so that lines of several ranks do not mix.
sink stderr_sink();

sink silent_sink();

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/execution/impl/sink.ipp>
#endif
