// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

/// Text of the `Error` that `action` throws; empty if it throws nothing. Other exceptions propagate.
template <class Error, class Action>
std::string refusal_of(Action&& action) {
  try {
    action();
  } catch (Error const& refused) {
    return refused.what();
  }
  return {};
}
