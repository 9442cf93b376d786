// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/layer/kind.hpp>
#include <vector>

namespace cohort::detail {

/// In header-only programs: the kinds of layers on demand whose header at least one source of the program
/// includes. With the compiled library, this list is empty, because built_in_kinds() contains these kinds.
[[gnu::visibility("default")]] inline std::vector<kind const*> kinds_on_demand;

/// Adds a kind; called before main. Returns true.
inline bool add_kind_on_demand(kind const& one) {
  if (std::find(kinds_on_demand.begin(), kinds_on_demand.end(), &one) == kinds_on_demand.end())
    kinds_on_demand.push_back(&one);
  return true;
}

}  // namespace cohort::detail
