// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/host_call.hpp>
#include <cohort/detail/build_check.hpp>
#include <cohort/onednn/detail/handle.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

using dnnl_primitive_handle = dnnl_shared<dnnl_primitive, dnnl_primitive_destroy>;
using dnnl_stream_handle = dnnl_shared<dnnl_stream, dnnl_stream_destroy>;
using dnnl_memory_handle = dnnl_shared<dnnl_memory, dnnl_memory_destroy>;

/// A primitive with the indices and descriptors of its arguments, or a host function. If a dnnl_call gets
/// fewer addresses than arguments, the remaining arguments use the last address: an in-place primitive has
/// the same source and destination.
///
/// Units     `offsets`: bytes from the operand's address to the argument's; empty, or one per argument.
struct dnnl_kernel {
  dnnl_kernel() = default;
  dnnl_kernel(host_function function) : host(std::move(function)) {}

  host_function host{};
  dnnl_primitive_handle primitive{};
  dnnl_engine_handle engine{};
  std::vector<int> arguments{};
  std::vector<memory_layout> layouts{};
  std::vector<std::size_t> offsets{};
};

/// Returns oneDNN's name of the kernel's implementation; "" for a host function.
std::string implementation_of(dnnl_kernel const& kernel);

/// A kernel bound to addresses. The C array of a primitive's arguments is filled once, so that Cohort
/// allocates nothing per execution.
class dnnl_call {
 public:
  dnnl_call(dnnl_kernel const& kernel, std::span<void* const> addresses);

  void operator()() const;
  /// Binds an argument to another address.
  ///
  /// Before    the argument has no offset.
  void set(std::size_t argument, void* where);

 private:
  std::optional<host_call> host_;
  dnnl_primitive_handle primitive_;
  dnnl_stream_handle stream_;
  std::vector<dnnl_memory_handle> memory_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace cohort::detail
