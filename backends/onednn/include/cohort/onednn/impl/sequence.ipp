// SPDX-License-Identifier: Apache-2.0
#include <cohort/layer/batch_norm.hpp>
#include <cohort/layer/conv1d.hpp>
#include <cohort/layer/dense.hpp>
#include <cohort/layer/global_pool.hpp>
#include <cohort/onednn/detail/convolution.hpp>
#include <cohort/onednn/detail/inner_product.hpp>
#include <cohort/onednn/detail/normalisation.hpp>
#include <cohort/onednn/detail/pooling.hpp>
#include <cohort/onednn/detail/primitive.hpp>
#include <cohort/onednn/detail/sequence.hpp>
#include <vector>

namespace cohort::detail {

/// A request that describes the same tensors with other extents.
struct adapted_request {
  std::vector<shape> shapes;
  std::vector<memory_layout> layouts;
  operation_request<onednn> request;

  explicit adapted_request(operation_request<onednn> const& from) : request(from) {}
  adapted_request(adapted_request const&) = delete;
  adapted_request& operator=(adapted_request const&) = delete;
};

/// Replaces the layouts of inputs, output and their gradients with `changed(layout)`.
template <class Change>
void change_layouts(backend_operation<onednn>& made, Change changed) {
  using enum operand_role;
  made.output = changed(made.output);
  for (auto* const pass : {&made.forward, &made.backward})
    for (invocation<onednn>& call : *pass)
      for (auto& o : call.operands)
        if (o.role == input || o.role == output || o.role == diff_input || o.role == diff_output)
          o.layout = changed(o.layout);
}

/// Prepares a layer that processes each step independently: calls `prepare_with(request)` for N·T examples of
/// C elements.
template <class Prepare>
std::optional<backend_operation<onednn>> prepare_rows(operation_request<onednn> const& from,
                                                      Prepare prepare_with) {
  adapted_request rows(from);
  int const steps = from.output_shape[0];
  for (std::size_t i = 0; i < from.input_shapes.size(); ++i) {
    rows.shapes.emplace_back(from.input_shapes[i][1]);
    rows.layouts.push_back(
        memory_layout::dense({from.batch * steps, from.input_shapes[i][1]}, from.inputs[i].type()));
  }
  rows.request.batch = from.batch * steps;
  rows.request.output_shape = from.output_shape.example();
  rows.request.input_shapes = rows.shapes;
  rows.request.inputs = rows.layouts;
  std::optional<backend_operation<onednn>> made = prepare_with(rows.request);
  if (made)
    change_layouts(*made, [&](memory_layout const& one) {
      auto const dims = one.dims();
      if (!(one == memory_layout::dense(dims, one.type()))) refuse_step(from, "dense forward or backward");
      return memory_layout::dense({from.batch, steps, dims[1]}, one.type());
    });
  return made;
}

/// Returns the layout with steps and channels exchanged. Layouts with two extents are unchanged.
memory_layout with_exchanged_axes(memory_layout const& of) {
  if (of.dims().size() != 3) return of;
  int const order[]{0, 2, 1};
  dnnl_memory_desc_t made = nullptr;
  check_dnnl(dnnl_memory_desc_permute_axes(&made, of.get(), order), "exchanging axes");
  return memory_layout(made);
}

/// Prepares a layer whose primitives need channels first: calls `prepare_with(request)` with tensors C×T.
template <class Prepare>
std::optional<backend_operation<onednn>> prepare_channels_first(operation_request<onednn> const& from,
                                                                Prepare prepare_with) {
  auto const exchanged_shape = [](shape const& s) { return s.rank == 2 ? shape{s[1], s[0]} : s; };
  adapted_request columns(from);
  for (shape const& one : from.input_shapes) columns.shapes.push_back(exchanged_shape(one));
  for (memory_layout const& one : from.inputs) columns.layouts.push_back(with_exchanged_axes(one));
  columns.request.output_shape = exchanged_shape(from.output_shape);
  columns.request.input_shapes = columns.shapes;
  columns.request.inputs = columns.layouts;
  std::optional<backend_operation<onednn>> made = prepare_with(columns.request);
  if (made) change_layouts(*made, with_exchanged_axes);
  return made;
}

std::optional<backend_operation<onednn>> prepare_sequence(dnnl_target const& on,
                                                          operation_request<onednn> const& request) {
  kind const& k = *request.kind;
  if (request.input_shapes[0].rank != 2 || (request.masked && k.reads_mask && request.training))
    return std::nullopt;
  if (k == kind_of<dense>)
    return prepare_rows(request, [&](operation_request<onednn> const& rows) {
      return std::optional(prepare(on, rows, decode<dense>(rows.fields), true));
    });
  if (k.name == batch_norm::kind_name)
    return prepare_rows(request, [&](operation_request<onednn> const& rows) {
      return prepare_normalisation(on.engine, rows);
    });
  if (k.name == conv1d::kind_name)
    return prepare_channels_first(request, [&](operation_request<onednn> const& columns) {
      return std::optional(prepare(on, columns, decode<conv1d>(columns.fields)));
    });
  bool const pools = k.name == global_avg_pool::kind_name || k.name == global_max_pool::kind_name;
  if (pools && !request.masked)
    return prepare_channels_first(
        request, [&](operation_request<onednn> const& columns) { return prepare_pool(on.engine, columns); });
  return std::nullopt;
}

}  // namespace cohort::detail
