// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/availability.hpp>
#include <cohort/backend/operation.hpp>
#include <cohort/tensor/element.hpp>
#include <concepts>
#include <string_view>
#include <vector>

namespace cohort {

/// What a tensor backend must offer. A backend is a cheap value; its descriptors are shared.
///
/// `scalar`            the element of its master parameters: float, or double
/// `layout`            how a tensor lies in memory: opaque, regular; `shape` extents come batch first
/// `kernel`, `call`    an immutable executable; the same bound to addresses: call(), call.set(argument, address)
/// `probe()`           usable on this machine now? made by running its smallest convolution
/// `threads(n)`        makes this thread run its kernels, and choose them, with n threads; gives back the former n
/// `supports(kind)`    whether `prepare` knows the kind: a priority passes a backend over whose network has others, a plan
///                     refuses them by name
/// `fuses(a, b, training)`  whether b can run inside a's kernel: an activation, or the sum (`add`) of a's output and another tensor
/// `plain(shape)`      dense row-major, what batches and files hold;  `plain(layout)` the same tensor so
/// `bytes(layout)`     with its padding;  `element(layout)`  of what: scalar, or narrower
/// `reorder(a, b)`     operands (from, to);  `accumulate(a)`  operands (from, to): to += from
/// `prepare(request)`  the step's kernels; throws backend_error, naming the layer, where it has none that is fit
///
/// `lies_rounded(a, b)`  only where working copies are narrower than parameters: whether b has each element of a in a's place;
/// `round(from, to, i, n)`  n scalars to elements i, i + 1, … of such a copy, with the bits that a reorder gives
/// `candidates(request)`  only where a step has several ways to run: their names, that of the fixed rule first; one or none
///                     where it has not. `prepare` takes a request for each of them, or throws backend_error.
/// `prepare(request, tuning)`  only where it is smaller things than steps that can run in several ways: asks for each of them
/// `describe_machine()`   static, with candidates: what the ways' times depend on beside the processor: library, threads
/// `passes()`          only where arenas do not lie in the processor's memory: who knows how to reach them (arena_passes)
///
/// Errors    never a wrong result: what a backend cannot do it refuses when the plan is made.
/// Exact     one thread count gives one result, bit by bit.
template <class B>
concept tensor_backend = std::regular<typename B::layout> && requires(
    B const& backend, typename B::layout const& layout, typename B::kernel const& kernel, kind const& k,
    shape const& s, std::span<void* const> addresses, operation_request<B> const& request) {
  typename B::scalar;
  typename B::call;
  { B::name } -> std::convertible_to<std::string_view>;
  { B::probe() } -> std::same_as<availability>;
  { B::threads(1) } -> std::same_as<int>;
  { B::supports(k) } -> std::same_as<bool>;
  { backend.fuses(k, k, true) } -> std::same_as<bool>;
  { backend.plain(s) } -> std::same_as<typename B::layout>;
  { backend.plain(layout) } -> std::same_as<typename B::layout>;
  { backend.bytes(layout) } -> std::same_as<std::size_t>;
  { backend.element(layout) } -> std::same_as<element_type>;
  { backend.describe(layout) } -> std::convertible_to<std::string>;
  { backend.reorder(layout, layout) } -> std::same_as<typename B::kernel>;
  { backend.accumulate(layout) } -> std::same_as<typename B::kernel>;
  { backend.prepare(request) } -> std::same_as<operation<B>>;
  { B::bind(kernel, addresses) } -> std::same_as<typename B::call>;
};

}  // namespace cohort
