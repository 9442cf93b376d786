// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/sharing_settings.hpp>
#include <string>
#include <string_view>

namespace cohort::detail {

/// Returns the text of a sharing strategy: its compressor and settings. Its hash identifies the run in
/// messages and in checkpoints with pending messages, so the text must not change.
std::string sharing_text(std::string_view compressor, sharing_settings const& settings);

}  // namespace cohort::detail
