// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/plan/detail/bound_context.hpp>

namespace cohort::detail {

template <tensor_backend B>
void bound_context<B>::load_output_gradients(backward_request const& request) {
  std::vector<int> const& slots = made_->code.output_gradient_slots;
  if (request.output_gradients.size() != slots.size())
    throw shape_error({.what = "backward got the wrong number of gradients of outputs",
                       .expected = {slots.size()},
                       .got = {request.output_gradients.size()}});
  for (std::size_t i = 0; i < slots.size(); ++i) {
    tensor_view const& given = request.output_gradients[i];
    if (shape const wanted = made_->outputs[i].batched(made_->batch);
        !(given.dims == wanted) || (given.type != element_type::f32 && given.type != element_of<T>))
      throw shape_error({.what = "the gradient of an output has the wrong shape or element type",
                         .where = {"output ", i},
                         .expected = {to_string(wanted), " x ", name_of(element_of<T>)},
                         .got = {to_string(given.dims), " x ", name_of(given.type)}});
    auto const count = static_cast<std::size_t>(given.dims.elements());
    std::byte* const slot = slot_address(slots[i]);
    if (passes_.space()) host_gradient_.resize(count * sizeof(T));
    T* const to = reinterpret_cast<T*>(passes_.space() ? host_gradient_.data() : slot);
    auto const write = [&](auto const& from) {
      std::ranges::transform(from, to, [&](auto g) {
        return request.output_scale == 1 ? static_cast<T>(g)
                                         : static_cast<T>(static_cast<double>(g) * request.output_scale);
      });
    };
    if (given.type == element_of<T>)
      write(given.template as<T>());
    else
      write(given.template as<float>());
    if (passes_.space()) passes_.upload(host_gradient_.data(), slot, count * sizeof(T));
  }
}

}  // namespace cohort::detail
