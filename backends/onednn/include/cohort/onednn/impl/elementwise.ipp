// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/onednn/detail/activation_simd.hpp>
#include <cohort/onednn/detail/elementwise.hpp>
#include <cohort/onednn/detail/primitive.hpp>
#include <cohort/onednn/detail/threads.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cohort::detail {

dnnl_pd forward_of_activation(dnnl_engine_handle const& engine, dnnl_prop_kind_t propagation,
                              dnnl_alg_kind_t algorithm, dnnl_activation const& f,
                              memory_layout const& layout) {
  dnnl_attributes const plain;
  dnnl_primitive_desc_t pd = nullptr;
  dnnl_eltwise_forward_primitive_desc_create(&pd, engine.get(), propagation, algorithm, layout.get(),
                                             layout.get(), f.alpha, f.beta, plain.get());
  return dnnl_pd(pd);
}

invocation<onednn> backward_of_activation(dnnl_engine_handle const& engine,
                                          operation_request<onednn> const& request,
                                          memory_layout const& layout, dnnl_activation const& f) {
  auto const as = [&](memory_layout const& candidate) {
    dnnl_attributes const plain;
    dnnl_pd const hint = forward_of_activation(engine, dnnl_forward_training, f.backward, f, candidate);
    dnnl_primitive_desc_t pd = nullptr;
    if (hint)
      dnnl_eltwise_backward_primitive_desc_create(&pd, engine.get(), f.backward, candidate.get(),
                                                  candidate.get(), candidate.get(), f.alpha, f.beta,
                                                  hint.get(), plain.get());
    return dnnl_pd(pd);
  };
  dnnl_pd const backward = first_optimised(
      [&] { return as(layout); }, [&] { return as(memory_layout::dense(layout.dims(), layout.type())); });
  if (!backward) refuse_step(request, "backward (activation)");
  dnnl_argument const read = f.reads_output() ? dnnl_argument{operand_role::output, 0, DNNL_ARG_DST}
                                              : dnnl_argument{operand_role::input, 0, DNNL_ARG_SRC};
  return invoke(engine, backward,
                {read,
                 {operand_role::diff_output, 0, DNNL_ARG_DIFF_DST},
                 {operand_role::diff_output, 0, DNNL_ARG_DIFF_SRC}});
}

backend_operation<onednn> prepare_activation(dnnl_engine_handle const& engine,
                                             operation_request<onednn> const& request) {
  dnnl_activation const f = activation_of(*request.kind, request.fields);
  auto const as = [&](memory_layout const& layout) {
    return forward_of_activation(engine, request.training ? dnnl_forward_training : dnnl_forward_inference,
                                 f.forward, f, layout);
  };
  memory_layout const& given = request.inputs[0];
  dnnl_pd const forward = first_optimised(
      [&] { return as(given); }, [&] { return as(memory_layout::dense(given.dims(), given.type())); });
  if (!forward) refuse_step(request, "forward");
  backend_operation<onednn> made;
  made.output = layout_of(forward, DNNL_ARG_DST);
  made.overwrites = true;
  made.forward.push_back(invoke(
      engine, forward, {{operand_role::input, 0, DNNL_ARG_SRC}, {operand_role::output, 0, DNNL_ARG_DST}}));
  if (!request.training || !request.wants_diff_input[0]) return made;
  invocation<onednn> backward = backward_of_activation(engine, request, made.output, f);
  backward.operands[2].role = operand_role::diff_input;
  made.backward.push_back(std::move(backward));
  return made;
}

std::optional<curve> curve_of(std::string_view kind) {
  constexpr std::pair<std::string_view, curve> curves[]{{softplus::kind_name, curve::softplus},
                                                        {gelu::kind_name, curve::gelu},
                                                        {gelu_tanh::kind_name, curve::gelu_tanh},
                                                        {mish::kind_name, curve::mish}};
  for (auto const& [name, one] : curves)
    if (name == kind) return one;
  return {};
}

/// Splits `elements` elements into parts, and calls run(begin, n) for each part on an OpenMP thread. Parts
/// begin at multiples of 64; fewer than 8192 elements are a single part.
template <class Run>
void for_parts_of(std::size_t elements, Run const& run) {
  constexpr std::size_t unit = 64, few = 8192;
  auto const most = static_cast<int>(std::min<std::size_t>(elements / few + 1, 4096));
  on_openmp_threads(most, [&](int thread, int threads) {
    auto const bound = [&](int which) {
      std::size_t const units = (elements + unit - 1) / unit;
      return std::min(elements,
                      units * static_cast<std::size_t>(which) / static_cast<std::size_t>(threads) * unit);
    };
    run(bound(thread), bound(thread + 1) - bound(thread));
  });
}

std::optional<backend_operation<onednn>> prepare_own_activation(operation_request<onednn> const& request) {
  std::optional<curve> const found = curve_of(request.kind->name);
  if (!found) return {};
  memory_layout layout = request.inputs[0];
  bool const narrow = layout.type() == dnnl_bf16;
  std::size_t const width = narrow ? sizeof(bf16) : sizeof(float);
  std::size_t unpadded = 1;
  for (dnnl_dim_t const extent : layout.dims()) unpadded *= static_cast<std::size_t>(extent);
  if (*found == curve::softplus && layout.bytes() != unpadded * width)
    layout = memory_layout::dense(layout.dims(), layout.type());
  std::size_t const elements = layout.bytes() / width;
  isa const which = best_isa();
  activation_passes const passes = activation_passes_for(*found, which, narrow);
  std::string const implementation = "own:" + std::string(name_of(narrow ? isa::avx512 : which));
  auto const at = [width](void* tensor, std::size_t element) {
    return static_cast<std::byte*>(tensor) + element * width;
  };
  backend_operation<onednn> made;
  made.output = layout;
  made.overwrites = true;
  made.forward.push_back({host_function([=](std::span<void* const> a) {
                            for_parts_of(elements, [&](std::size_t begin, std::size_t n) {
                              passes.forward(at(a[0], begin), at(a[1], begin), n);
                            });
                          }),
                          {{operand_role::input, 0, layout}, {operand_role::output, 0, layout}},
                          implementation,
                          static_cast<double>(elements)});
  if (!request.training || !request.wants_diff_input[0]) return made;
  made.backward.push_back({host_function([=](std::span<void* const> a) {
                             for_parts_of(elements, [&](std::size_t begin, std::size_t n) {
                               passes.backward(at(a[0], begin), at(a[1], begin), at(a[2], begin), n);
                             });
                           }),
                           {{operand_role::input, 0, layout},
                            {operand_role::diff_output, 0, layout},
                            {operand_role::diff_input, 0, layout}},
                           implementation,
                           static_cast<double>(elements)});
  return made;
}

}  // namespace cohort::detail
