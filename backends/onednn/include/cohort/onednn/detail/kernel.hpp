// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/backend/host_call.hpp>
#include <cohort/onednn/detail/handle.hpp>
#include <cstddef>
#include <memory>
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
inline std::string implementation_of(dnnl_kernel const& kernel) {
  const_dnnl_primitive_desc_t pd = nullptr;
  if (!kernel.primitive) return {};
  check_dnnl(dnnl_primitive_get_primitive_desc(kernel.primitive.get(), &pd), "describing a primitive");
  return implementation_of(pd);
}

/// A kernel bound to addresses. Primitives get a C array of arguments that is filled once: executing costs no map
/// and no allocation of ours.
class dnnl_call {
 public:
  dnnl_call(dnnl_kernel const& kernel, std::span<void* const> addresses) {
    if (!kernel.primitive) {
      host_.emplace(kernel.host, addresses);
      return;
    }
    primitive_ = kernel.primitive;
    dnnl_stream_t stream = nullptr;
    check_dnnl(dnnl_stream_create(&stream, kernel.engine.get(), dnnl_stream_default_flags),
               "opening a stream");
    stream_ = dnnl_stream_handle(stream);
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
      dnnl_memory_t memory = nullptr;
      std::size_t const offset = kernel.offsets.empty() ? 0 : kernel.offsets[i];
      void* const at = static_cast<std::byte*>(addresses[std::min(i, addresses.size() - 1)]) + offset;
      check_dnnl(dnnl_memory_create(&memory, kernel.layouts[i].get(), kernel.engine.get(), at),
                 "binding memory");
      memory_.emplace_back(memory);
      arguments_.push_back({kernel.arguments[i], memory});
    }
  }

  void operator()() const {
    if (host_) return (*host_)();
    check_dnnl(dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()),
                                      arguments_.data()),
               "running a primitive");
  }
  /// Before    the argument has no offset.
  void set(std::size_t argument, void* where) {
    if (host_)
      host_->set(argument, where);
    else
      check_dnnl(dnnl_memory_set_data_handle(arguments_[argument].memory, where), "binding memory");
  }

 private:
  std::optional<host_call> host_;
  dnnl_primitive_handle primitive_;
  dnnl_stream_handle stream_;
  std::vector<dnnl_memory_handle> memory_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace cohort::detail
