// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/host_call.hpp>
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

/// A primitive with the numbers and descriptors of its arguments, or a function of our own. Arguments without an
/// address of their own are the last operand once more: a primitive in place names it as source and destination.
///
/// Units     offsets, bytes from the operand's address to the argument's: none, or one an argument.
struct dnnl_kernel {
  dnnl_kernel() = default;
  dnnl_kernel(host_function own) : host(std::move(own)) {}

  host_function host{};
  dnnl_primitive_handle primitive{};
  dnnl_engine_handle engine{};
  std::vector<int> arguments{};
  std::vector<memory_layout> layouts{};
  std::vector<std::size_t> offsets{};
};

/// What oneDNN calls the kernel's implementation; nothing for a function of our own.
std::string implementation_of(dnnl_kernel const& kernel);

/// A kernel bound to addresses. Primitives get a C array of arguments that is filled once: executing costs no map
/// and no allocation of ours.
class dnnl_call {
 public:
  dnnl_call(dnnl_kernel const& kernel, std::span<void* const> addresses);

  void operator()() const;
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

#ifndef COHORT_ONEDNN_COMPILED
#include <cohort/onednn/impl/kernel.ipp>
#endif
