// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace cohort {

/// Kernel that runs on the host. `arguments` are the addresses of the kernel's operands, in their order.
using host_function = std::function<void(std::span<void* const> arguments)>;

/// Host function bound to its arguments' addresses. Calling it allocates no memory.
class host_call {
 public:
  host_call(host_function const& function, std::span<void* const> arguments);
  void operator()() const { function_({arguments_.data(), arguments_.size()}); }
  /// Binds one argument to another address.
  void set(std::size_t argument, void* where) { arguments_[argument] = where; }

 private:
  host_function function_;
  std::vector<void*> arguments_;
};

}  // namespace cohort
