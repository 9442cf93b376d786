// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/tensor_backend.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstring>
#include <vector>

namespace cohort::detail {

/// One step of a plan by itself, in memory of its own: its kernels, and the reorders that its layouts cost in a plan. Inputs
/// come, and their gradients leave, as the request says that inputs lie; parameters' as the operation does. Working copies
/// of parameters are derived where they would be after each update.
///
/// Before    a layer without targets, on a backend whose arenas lie in the processor's memory; it runs on a thread that has the
///           number of threads that the operation was made for.
template <tensor_backend B>
class standalone_operation {
 public:
  standalone_operation(B const& backend, operation_request<B> const& request, operation<B> const& of)
      : backend_(backend), request_(request), of_(of) {
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
  /// A tensor, as it lies in the plan or as kernels wanted it.
  struct held {
    operand_role role;
    int index;
    layout lies;
    std::byte* at;
  };

  void add(invocation<B> const& kernel) {
    std::vector<void*> addresses;
    std::vector<held> moved;  // what the kernel leaves in another layout
    for (auto const& o : kernel.operands) {
      using enum operand_role;
      switch (o.role) {
        case input:
          addresses.push_back(read(o, request_.inputs[static_cast<std::size_t>(o.index)]));
          break;
        case output:
        case diff_output:
          addresses.push_back(read(o, of_.output));
          break;
        case parameter:
          addresses.push_back(
              read(o, request_.training ? of_.parameters[static_cast<std::size_t>(o.index)] : o.layout));
          break;
        case workspace:
          addresses.push_back(read(o, o.layout));
          break;
        case diff_input:
          addresses.push_back(write(o, request_.inputs[static_cast<std::size_t>(o.index)], moved));
          break;
        case diff_parameter:
          addresses.push_back(write(o, of_.parameters[static_cast<std::size_t>(o.index)], moved));
          break;
        default:
          addresses.push_back(room(backend_.bytes(o.layout)));
      }
    }
    calls_.push_back(B::bind(kernel.kernel, addresses));
    for (held const& one : moved)
      move(one.at, one.lies, room(backend_.bytes(layout_in_plan(one))), layout_in_plan(one));
  }

  /// Where a tensor that lies in the plan so is in the operand's layout: reordered once.
  std::byte* read(operand<layout> const& o, layout const& lies) {
    if (std::byte* const there = find(o, o.layout)) return there;
    std::byte* at = find(o, lies);
    if (!at) at = keep(o, lies);
    if (lies == o.layout) return at;
    std::byte* const copy = keep(o, o.layout);
    move(at, lies, copy, o.layout);
    return copy;
  }
  std::byte* write(operand<layout> const& o, layout const& lies, std::vector<held>& moved) {
    std::byte* const at = room(backend_.bytes(o.layout));
    if (!(o.layout == lies)) moved.push_back({o.role, o.index, o.layout, at});
    return at;
  }
  layout const& layout_in_plan(held const& one) const {
    return one.role == operand_role::diff_input ? request_.inputs[static_cast<std::size_t>(one.index)]
                                                : of_.parameters[static_cast<std::size_t>(one.index)];
  }

  std::byte* find(operand<layout> const& o, layout const& lies) const {
    for (held const& one : held_)
      if (one.role == o.role && one.index == o.index && one.lies == lies) return one.at;
    return nullptr;
  }
  std::byte* keep(operand<layout> const& o, layout const& lies) {
    held_.push_back({o.role, o.index, lies, room(backend_.bytes(lies))});
    return held_.back().at;
  }
  void move(std::byte* from, layout const& lies, std::byte* to, layout const& wanted) {
    void* const addresses[]{from, to};
    calls_.push_back(B::bind(backend_.reorder(lies, wanted), addresses));
  }
  /// Memory of small numbers, whatever its elements are.
  std::byte* room(std::size_t bytes) {
    constexpr int in_any_type = 0x3c;
    memory_.emplace_back(bytes > 0 ? bytes : buffer::alignment);
    std::memset(memory_.back().data(), in_any_type, memory_.back().bytes());
    return memory_.back().data();
  }

  B const& backend_;
  operation_request<B> const& request_;
  operation<B> const& of_;
  std::vector<buffer> memory_;
  std::vector<held> held_;
  std::vector<typename B::call> calls_;
};

}  // namespace cohort::detail
