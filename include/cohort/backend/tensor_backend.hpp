// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/backend/availability.hpp>
#include <cohort/backend/operation.hpp>
#include <cohort/tensor/element.hpp>
#include <concepts>
#include <string_view>

namespace cohort {

/// Requirements of a tensor backend. A backend is a value that is cheap to copy; copies share its
/// descriptors.
///
/// `scalar`                    element type of the master parameters: float or double
/// `layout`                    memory layout of a tensor: opaque, regular
/// `kernel`                    immutable executable
/// `call`                      kernel bound to addresses: call(), call.set(argument, address)
/// `bind(kernel, addresses)`   static: returns the call
/// `probe()`                   static: whether the backend is usable on this machine now; as a test, a
///                             backend based on a library runs a small convolution
/// `threads(n)`                static: sets the calling thread's number of threads, used to run and to select
///                             kernels; returns the former number
/// `supports(kind)`            static: whether `prepare` supports this kind of layer. priority skips a
///                             backend that does not support the whole network; a plan throws and names the
///                             layer.
/// `fuses(a, b, training)`     whether b can run inside a's kernel. b is an activation, or the sum (`add`) of
///                             a's output and another tensor.
/// `plain(shape)`              dense row-major layout, as in batches and files. The shape of an input or
///                             output begins with the batch, that of a parameter does not.
/// `plain(layout)`             dense row-major layout of the same tensor
/// `bytes(layout)`             size with padding
/// `element(layout)`           element type: scalar or narrower
/// `describe(layout)`          text for tables
/// `reorder(a, b)`             kernel with operands (from, to)
/// `accumulate(a)`             kernel with operands (from, to): to += from
/// `prepare(request)`          the step's kernels; backend_error, naming the layer, if no kernel is suitable
///
/// Optional:
///
/// `is_gpu`                    static: true for a GPU backend (see priority)
/// `supports(kind, inputs, output)`   static: whether `prepare` supports a layer of these shapes; if not,
///                             priority skips the backend. Without this function, a supported kind is
///                             supported in every shape
/// `is_rounded_copy(a, b)`     for working copies that are narrower than the parameters: whether b stores
///                             each element of a at the same index
/// `round(from, to, i, n)`     rounds n scalars and writes them to elements i, i + 1, … of the working copy
///                             `to`; writes the same bits as a reorder
/// `candidates(request)`       for steps with several implementations: returns the names of the
///                             implementations, first the one that the fixed rule selects; at most one name
///                             if there is no choice. For a request with one of these names as its
///                             `candidate`, `prepare` returns that implementation or throws backend_error.
/// `prepare(request, tuning)`  for backends with several implementations of parts smaller than a step: calls
///                             `tuning` for each part
/// `describe_machine()`        static; required with `candidates`: describes everything that run times depend
///                             on (library, threads), except the processor
/// `passes()`                  for arenas in device memory: the passes that access them (arena_passes)
///
/// Errors    unsupported requests are rejected when the plan is made; they never produce a wrong result.
/// Exact     bitwise reproducible for a given number of threads.
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
  { backend.prepare(request) } -> std::same_as<backend_operation<B>>;
  { B::bind(kernel, addresses) } -> std::same_as<typename B::call>;
};

namespace detail {

/// Whether the compiled implementation (src.hpp) contains the plans of backend B.
template <class B>
inline constexpr bool has_compiled_plans = false;

}  // namespace detail

}  // namespace cohort
