// SPDX-License-Identifier: Apache-2.0
#include <cohort/onednn/detail/matmul.hpp>
#include <cohort/onednn/detail/primitive.hpp>
#include <utility>

namespace cohort::detail {

/// A tensor of the layer, viewed as a stack of matrices.
///
/// `transposed`  the primitive reads the transpose of the matrices in memory
struct matrix_operand {
  operand_role role;
  int index;
  shape dims;
  bool transposed = false;

  matrix_operand transpose() const { return {role, index, dims, !transposed}; }
};

std::optional<invocation<onednn>> multiply_matrices(dnnl_target const& on,
                                                    operation_request<onednn> const& request,
                                                    matrix_operand const& left, matrix_operand const& right,
                                                    matrix_operand const& to, double flops) {
  auto const whole = [&](matrix_operand const& one) {
    return memory_layout::dense(batched_dims(one.dims, request.batch), on.type);
  };
  auto const stack = [&](matrix_operand const& one) {
    dnnl_dim_t const rows = matmul::rows(one.dims, one.transposed),
                     columns = matmul::columns(one.dims, one.transposed);
    return memory_layout::tagged({request.batch * one.dims.elements() / (rows * columns), rows, columns},
                                 on.type, one.transposed ? dnnl_acb : dnnl_abc);
  };
  dnnl_attributes const plain;
  dnnl_primitive_desc_t created = nullptr;
  dnnl_matmul_primitive_desc_create(&created, on.engine.get(), stack(left).get(), stack(right).get(), nullptr,
                                    stack(to).get(), plain.get());
  dnnl_pd const pd(created);
  if (!is_optimised(pd)) return {};
  return invoke(on.engine, pd,
                {{left.role, left.index, DNNL_ARG_SRC, whole(left)},
                 {right.role, right.index, DNNL_ARG_WEIGHTS, whole(right)},
                 {to.role, to.index, DNNL_ARG_DST, whole(to)}},
                flops);
}

std::optional<backend_operation<onednn>> prepare_matmul(dnnl_target const& on,
                                                        operation_request<onednn> const& request,
                                                        matmul const& l) {
  using enum operand_role;
  auto const& in = request.input_shapes;
  if (!(matmul::stack(in[0]).elements() == matmul::stack(in[1]).elements()
        && matmul::stack(in[0]).elements() == matmul::stack(request.output_shape).elements()))
    return {};
  double const flops = l.flops(in) * request.batch;
  matrix_operand const a{input, 0, in[0], l.transpose_a}, b{input, 1, in[1], l.transpose_b};
  backend_operation<onednn> made;
  made.output = memory_layout::dense(batched_dims(request.output_shape, request.batch), on.type);
  auto forward = multiply_matrices(on, request, a, b, {output, 0, request.output_shape}, flops);
  if (!forward) return {};
  made.forward.push_back(std::move(*forward));
  matrix_operand const diff{diff_output, 0, request.output_shape};
  for (int i = 0; request.training && i < 2; ++i) {
    if (!request.wants_diff_input[static_cast<std::size_t>(i)]) continue;
    matrix_operand const to{diff_input, i, in[static_cast<std::size_t>(i)]};
    // The gradient of a is diff · bᵀ, and the gradient of b is aᵀ · diff. If the operand is stored
    // transposed, the transposed product is computed.
    bool const transposed = i == 0 ? l.transpose_a : l.transpose_b;
    matrix_operand const left = i == 0 ? diff : a.transpose(), right = i == 0 ? b.transpose() : diff;
    auto backward = transposed
                        ? multiply_matrices(on, request, right.transpose(), left.transpose(), to, flops)
                        : multiply_matrices(on, request, left, right, to, flops);
    if (!backward) return {};
    made.backward.push_back(std::move(*backward));
  }
  return made;
}

}  // namespace cohort::detail
