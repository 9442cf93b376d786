// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/onednn/detail/kernel.hpp>

namespace cohort::detail {

std::string implementation_of(dnnl_kernel const& kernel) {
  const_dnnl_primitive_desc_t pd = nullptr;
  if (!kernel.primitive) return {};
  check_dnnl(dnnl_primitive_get_primitive_desc(kernel.primitive.get(), &pd), "describing a primitive");
  return implementation_of(pd);
}

dnnl_call::dnnl_call(dnnl_kernel const& kernel, std::span<void* const> addresses) {
  if (!kernel.primitive) {
    host_.emplace(kernel.host, addresses);
    return;
  }
  primitive_ = kernel.primitive;
  dnnl_stream_t stream = nullptr;
  check_dnnl(dnnl_stream_create(&stream, kernel.engine.get(), dnnl_stream_default_flags),
             "creating a stream");
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

void dnnl_call::operator()() const {
  if (host_) return (*host_)();
  check_dnnl(dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()),
                                    arguments_.data()),
             "running a primitive");
}

void dnnl_call::set(std::size_t argument, void* where) {
  if (host_)
    host_->set(argument, where);
  else
    check_dnnl(dnnl_memory_set_data_handle(arguments_[argument].memory, where), "binding memory");
}

}  // namespace cohort::detail
