// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace cohort {

/// A kernel that is a function on the processor: it finds its arguments in its operands' order.
using host_function = std::function<void(std::span<void* const> arguments)>;

/// A host function with its arguments' addresses. Calling it allocates nothing.
class host_call {
 public:
  host_call(host_function const& function, std::span<void* const> arguments);
  void operator()() const { function_(arguments_); }
  void set(std::size_t argument, void* where) { arguments_[argument] = where; }

 private:
  host_function function_;
  std::vector<void*> arguments_;
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/backend/impl/host_call.ipp>
#endif
