// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <algorithm>
#include <cohort/onednn/detail/composed.hpp>
#include <cohort/onednn/detail/primitive.hpp>
#include <memory>
#include <vector>

namespace cohort::detail {

/// A matmul primitive with separate memory objects.
struct dnnl_product final : prepared_product {
  dnnl_kernel kernel;
  mutable dnnl_call call;
  bool has_scratch;

  dnnl_product(dnnl_kernel const& made, bool scratch)
      : kernel(made), call(kernel, std::vector<void*>(made.arguments.size())), has_scratch(scratch) {}

  std::unique_ptr<prepared_product> clone() const override {
    return std::unique_ptr<prepared_product>(new dnnl_product(kernel, has_scratch));
  }
  void run(void const* left, void const* right, void* to, void* scratch) const override {
    call.set(0, const_cast<void*>(left));
    call.set(1, const_cast<void*>(right));
    call.set(2, to);
    if (has_scratch) call.set(3, scratch);
    call();
  }
};

/// Prepares the matrix products of one step of a plan.
struct dnnl_products final : product_backend {
  using form = product_request::form;

  dnnl_target const& on;
  operation_request<onednn> const& request;
  std::vector<memory_layout> multiplied;  // parameters' layouts in forward and backward; empty: not read
  std::string implementation{};

  dnnl_products(dnnl_target const& target, operation_request<onednn> const& asked)
      : on(target), request(asked), multiplied(2 * asked.parameter_specs.size()) {
    narrow = on.type == dnnl_bf16;
    threads = omp_get_max_threads();
    in_parallel = [](int most, void (*run)(void const*, int, int), void const* with) {
      on_openmp_threads(most, [&](int part, int parts) { run(with, part, parts); });
    };
  }

  static memory_layout matrix(dnnl_dim_t rows, dnnl_dim_t columns, dnnl_data_type_t type, dnnl_dim_t by_row,
                              dnnl_dim_t by_column) {
    dnnl_memory_desc_t md = nullptr;
    dnnl_dims_t const dims{rows, columns}, strides{by_row, by_column};
    check_dnnl(dnnl_memory_desc_create_with_strides(&md, 2, dims, type, strides),
               "creating a memory descriptor");
    return memory_layout(md);
  }
  memory_layout& layout_of_parameter(bool backward, int parameter) {
    return multiplied[2 * static_cast<std::size_t>(parameter) + (backward ? 1 : 0)];
  }

  std::unique_ptr<prepared_product> prepare(product_request const& what) override {
    bool const gradient = what.what == form::gradient, backward = what.what != form::by_transpose;
    memory_layout const left = gradient ? matrix(what.m, what.k, on.type, 1, what.left_stride)
                                        : matrix(what.m, what.k, on.type, what.k, 1);
    memory_layout right = matrix(what.k, what.n, on.type, what.n, 1);
    if (!gradient) {
      right = layout_of_parameter(backward, what.parameter);
      if (!right.get()) right = memory_layout::tagged({what.k, what.n}, on.type);
    }
    memory_layout const to = matrix(what.m, what.n, what.narrow_result ? on.type : dnnl_f32, what.n, 1);
    dnnl_attributes const plain;
    dnnl_primitive_desc_t created = nullptr;
    dnnl_matmul_primitive_desc_create(&created, on.engine.get(), left.get(), right.get(), nullptr, to.get(),
                                      plain.get());
    dnnl_pd const pd(created);
    if (!is_optimised(pd)) refuse_step(request, backward ? "backward" : "forward");
    if (implementation.empty()) implementation = implementation_of(pd.get());
    if (!gradient) layout_of_parameter(backward, what.parameter) = layout_of(pd, DNNL_ARG_WEIGHTS);
    std::size_t const scratch = layout_of(pd, DNNL_ARG_SCRATCHPAD).bytes();
    scratch_bytes = std::max(scratch_bytes, scratch);
    invocation<onednn> const made = invoke(on.engine, pd,
                                           {{operand_role::input, 0, DNNL_ARG_SRC},
                                            {operand_role::parameter, 0, DNNL_ARG_WEIGHTS},
                                            {operand_role::output, 0, DNNL_ARG_DST}});
    return std::unique_ptr<prepared_product>(new dnnl_product(made.kernel, scratch > 0));
  }
};

/// Returns the layout of the transposed matrix in the same memory.
memory_layout transposed(memory_layout const& layout) {
  int const swapped[]{1, 0};
  dnnl_memory_desc_t md = nullptr;
  check_dnnl(dnnl_memory_desc_permute_axes(&md, layout.get(), swapped), "transposing a layout");
  return memory_layout(md);
}

backend_operation<onednn> prepare_composed(dnnl_target const& on, operation_request<onednn> const& request) {
  using enum operand_role;
  kind const& what = *request.kind;
  dnnl_products products(on, request);
  composed_kernel const kernel = what.compose(request.fields,
                                              {.inputs = request.input_shapes,
                                               .batch = request.batch,
                                               .layer = purpose_of("layer", request.name),
                                               .training = request.training,
                                               .frozen = request.frozen,
                                               .masked = request.masked,
                                               .wants_diff_input = request.wants_diff_input},
                                              products);
  auto const dense = [&](shape const& s) {
    return memory_layout::dense(batched_dims(s, request.batch), on.type);
  };
  auto const bytes = [](std::size_t count) {
    return memory_layout::dense({static_cast<dnnl_dim_t>((count + sizeof(float)) / sizeof(float))});
  };
  int const parameters = static_cast<int>(request.parameter_specs.size());
  backend_operation<onednn> made;
  made.output = dense(request.output_shape);
  for (parameter_spec const& spec : request.parameter_specs) {
    std::vector<dnnl_dim_t> dims;
    for (int axis = 0; axis < spec.dims.rank; ++axis) dims.push_back(spec.dims[axis]);
    made.parameters.push_back(memory_layout::dense(dims));
  }
  for (bool const backward : {false, true}) {
    if (backward && !request.training) break;
    invocation<onednn>& call = (backward ? made.backward : made.forward).emplace_back();
    call.kernel = backward ? kernel.backward : kernel.forward;
    call.implementation = kernel.implementation;
    if (!products.implementation.empty()) call.implementation += '+' + products.implementation;
    call.flops = (backward ? 2 : 1) * what.flops(request.fields, request.input_shapes) * request.batch;
    auto const add = [&](operand_role role, int index, memory_layout const& layout) {
      call.operands.push_back({role, index, layout});
    };
    add(scratch, 0, bytes(kernel.scratch_bytes));
    if (request.training) add(workspace, 0, bytes(kernel.workspace_bytes));
    if (kernel.reads_scalars) add(scalars, 0, {});
    if (request.masked) add(mask, 0, {});
    for (std::size_t i = 0; (!backward || kernel.reads_tensors) && i < request.input_shapes.size(); ++i)
      add(input, static_cast<int>(i), dense(request.input_shapes[i]));
    if (!backward || kernel.reads_tensors) add(output, 0, made.output);
    if (backward) add(diff_output, 0, made.output);
    for (std::size_t i = 0; backward && i < request.input_shapes.size(); ++i)
      if (request.wants_diff_input[i]) add(diff_input, static_cast<int>(i), dense(request.input_shapes[i]));
    for (int p = 0; p < parameters; ++p) {
      memory_layout const& multiplied = products.layout_of_parameter(backward, p);
      if (!multiplied.get())
        add(parameter, p, made.parameters[static_cast<std::size_t>(p)]);
      else
        add(parameter, p, backward ? multiplied : transposed(multiplied));
    }
    for (int p = 0; backward && !request.frozen && p < parameters; ++p)
      add(diff_parameter, p, made.parameters[static_cast<std::size_t>(p)]);
  }
  return made;
}

}  // namespace cohort::detail
