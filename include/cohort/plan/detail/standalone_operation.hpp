// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstring>
#include <vector>

namespace cohort::detail {

/// One step of a plan, run in separate memory: its kernels, and the reorders that its layouts would need in
/// the plan. Inputs and their gradients are in the request's input layouts; parameters and their gradients
/// are in the operation's layouts. For training, each run reorders the working copies of parameters, as after
/// an update.
///
/// Before    the layer has no targets, and the backend's arenas are in the processor's memory. The calling
///           thread's number of threads is the one for which the operation was prepared.
template <tensor_backend B>
class standalone_operation {
 public:
  standalone_operation(B const& backend, operation_request<B> const& request, backend_operation<B> const& of)
      : backend_(backend), request_(request), operation_(of) {
    for (auto const& kernel : of.forward) add(kernel);
    if (request.training)
      for (auto const& kernel : of.backward) add(kernel);
  }
  standalone_operation(standalone_operation const&) = delete;
  standalone_operation& operator=(standalone_operation const&) = delete;

  void operator()() {
    for (auto& call : calls_) call();
  }

 private:
  using layout = typename B::layout;
  /// Tensor in its layout in the plan, or in the layout of a kernel.
  struct tensor_copy {
    operand_role role;
    int index;
    layout stored_as;
    std::byte* at;
  };

  void add(invocation<B> const& kernel) {
    std::vector<void*> addresses;
    std::vector<tensor_copy> misplaced;  // results that are not in the plan's layout
    for (auto const& o : kernel.operands) {
      using enum operand_role;
      switch (o.role) {
        case input:
          addresses.push_back(read(o, request_.inputs[static_cast<std::size_t>(o.index)]));
          break;
        case output:
        case diff_output:
          addresses.push_back(read(o, operation_.output));
          break;
        case parameter:
          addresses.push_back(read(
              o, request_.training ? operation_.parameters[static_cast<std::size_t>(o.index)] : o.layout));
          break;
        case workspace:
          addresses.push_back(read(o, o.layout));
          break;
        case diff_input:
          addresses.push_back(write(o, request_.inputs[static_cast<std::size_t>(o.index)], misplaced));
          break;
        case diff_parameter:
          addresses.push_back(write(o, operation_.parameters[static_cast<std::size_t>(o.index)], misplaced));
          break;
        default:
          addresses.push_back(allocate(backend_.bytes(o.layout)));
      }
    }
    calls_.push_back(B::bind(kernel.kernel, addresses));
    for (tensor_copy const& one : misplaced)
      add_reorder(one.at, one.stored_as, allocate(backend_.bytes(layout_in_plan(one))), layout_in_plan(one));
  }

  /// Address of a tensor in the operand's layout; reordered once from its layout in the plan (`in_plan`).
  std::byte* read(operand<layout> const& o, layout const& in_plan) {
    if (std::byte* const reordered = find(o, o.layout)) return reordered;
    std::byte* at = find(o, in_plan);
    if (!at) at = allocate_copy(o, in_plan);
    if (in_plan == o.layout) return at;
    std::byte* const copy = allocate_copy(o, o.layout);
    add_reorder(at, in_plan, copy, o.layout);
    return copy;
  }
  std::byte* write(operand<layout> const& o, layout const& in_plan, std::vector<tensor_copy>& misplaced) {
    std::byte* const at = allocate(backend_.bytes(o.layout));
    if (!(o.layout == in_plan)) misplaced.push_back({o.role, o.index, o.layout, at});
    return at;
  }
  layout const& layout_in_plan(tensor_copy const& one) const {
    return one.role == operand_role::diff_input ? request_.inputs[static_cast<std::size_t>(one.index)]
                                                : operation_.parameters[static_cast<std::size_t>(one.index)];
  }

  std::byte* find(operand<layout> const& o, layout const& wanted) const {
    for (tensor_copy const& one : copies_)
      if (one.role == o.role && one.index == o.index && one.stored_as == wanted) return one.at;
    return nullptr;
  }
  std::byte* allocate_copy(operand<layout> const& o, layout const& wanted) {
    copies_.push_back({o.role, o.index, wanted, allocate(backend_.bytes(wanted))});
    return copies_.back().at;
  }
  void add_reorder(std::byte* from, layout const& stored_as, std::byte* to, layout const& wanted) {
    void* const addresses[]{from, to};
    calls_.push_back(B::bind(backend_.reorder(stored_as, wanted), addresses));
  }
  /// Allocates memory. Every byte is 0x3c, which makes a small number in every element type.
  std::byte* allocate(std::size_t bytes) {
    constexpr int small_in_any_type = 0x3c;
    memory_.emplace_back(bytes > 0 ? bytes : buffer::alignment);
    std::memset(memory_.back().data(), small_in_any_type, memory_.back().bytes());
    return memory_.back().data();
  }

  B const& backend_;
  operation_request<B> const& request_;
  backend_operation<B> const& operation_;
  std::vector<buffer> memory_;
  std::vector<tensor_copy> copies_;
  std::vector<typename B::call> calls_;
};

}  // namespace cohort::detail
