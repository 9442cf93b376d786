// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/cudnn/detail/autotuned_choice.hpp>
#include <cohort/cudnn/detail/matrix_product.hpp>
#include <cstdint>
#include <string>
#include <utility>

namespace cohort::detail {

blas_on_gpu::blas_on_gpu(std::shared_ptr<compute_stream> on)
    : on_(std::move(on)), workspace_(workspace_bytes, on_) {
  check(functions().create(&handle_), "starting cuBLASLt");
}

void blas_on_gpu::check(cublasStatus_t status, char const* doing) const {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw backend_error({.what = {doing, " failed"}, .where = functions().status_text(status)});
}

matrix_product::matrix_product(std::shared_ptr<blas_on_gpu const> blas, extents const& sizes,
                               product_precision products, tuning* by)
    : blas_(std::move(blas)), descriptors_{blas_->functions()} {
  cublaslt_functions const& f = blas_->functions();
  descriptors& d = descriptors_;
  blas_->check(
      f.create_product(
          &d.product, products == product_precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
          CUDA_R_32F),
      "describing a matrix product");
  cublasOperation_t const not_transposed = CUBLAS_OP_N, transposed = CUBLAS_OP_T;
  set(CUBLASLT_MATMUL_DESC_TRANSA, sizes.transposes_a ? transposed : not_transposed);
  set(CUBLASLT_MATMUL_DESC_TRANSB, sizes.transposes_b ? transposed : not_transposed);
  if (sizes.has_bias) set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  auto const factor = products == product_precision::bf16 ? element_type::bf16 : element_type::f32;
  describe(d.a, factor, sizes.transposes_a ? sizes.k : sizes.m, sizes.transposes_a ? sizes.m : sizes.k,
           sizes.step_a, sizes.batch, sizes.stride_a);
  describe(d.b, factor, sizes.transposes_b ? sizes.n : sizes.k, sizes.transposes_b ? sizes.k : sizes.n,
           sizes.step_b, sizes.batch, sizes.stride_b);
  describe(d.result, sizes.result, sizes.m, sizes.n, sizes.step_d, sizes.batch, sizes.stride_d);
  choose(sizes.alignment);
  if (by && algorithms_.size() > 1) choose_fastest(*by, sizes, products);
  algorithms_.resize(1);
}

void matrix_product::run(void const* a, void const* b, void const* bias, void* result) const {
  run(algorithms_[0], a, b, bias, result);
}

void matrix_product::run(cublasLtMatmulAlgo_t const& algorithm, void const* a, void const* b,
                         void const* bias, void* result) const {
  auto const queue_lock = blas_->stream().lock_queue();
  std::lock_guard const one_at_a_time(mutex_);  // the bias address is an attribute of the shared descriptor
  if (bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  float const one = 1, zero = 0;
  descriptors const& d = descriptors_;
  blas_->check(blas_->functions().multiply(blas_->handle(), d.product, &one, a, d.a, b, d.b, &zero, result,
                                           d.result, result, d.result, &algorithm, blas_->workspace(),
                                           blas_on_gpu::workspace_bytes, blas_->stream().handle()),
               "multiplying matrices");
}

matrix_product::descriptors::~descriptors() {
  if (preference) functions.destroy_preference(preference);
  for (cublasLtMatrixLayout_t one : {a, b, result})
    if (one) functions.destroy_matrix(one);
  if (product) functions.destroy_product(product);
}

void matrix_product::describe(cublasLtMatrixLayout_t& matrix, element_type type, int rows, int columns,
                              int step, int batch, std::int64_t stride) const {
  cublaslt_functions const& f = blas_->functions();
  blas_->check(f.create_matrix(&matrix, type == element_type::bf16 ? CUDA_R_16BF : CUDA_R_32F,
                               static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                               step > 0 ? step : rows),
               "describing a matrix");
  if (batch == 1) return;
  blas_->check(f.set_matrix(matrix, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch),
               "describing a batch of matrices");
  blas_->check(f.set_matrix(matrix, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
               "describing a batch of matrices");
}

void matrix_product::choose(std::uint32_t alignment) {
  cublaslt_functions const& f = blas_->functions();
  descriptors& d = descriptors_;
  blas_->check(f.create_preference(&d.preference), "creating the preferences of a matrix product");
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, blas_on_gpu::workspace_bytes);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  for (auto const operand :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(operand, alignment);
  std::array<cublasLtMatmulHeuristicResult_t, max_timed> found{};
  int count = 0;
  blas_->stream().device().use();
  blas_->check(f.choose(blas_->handle(), d.product, d.a, d.b, d.result, d.result, d.preference,
                        static_cast<int>(found.size()), found.data(), &count),
               "choosing an algorithm for a matrix product");
  for (int i = 0; i < count; ++i)
    if (auto const& one = found[static_cast<std::size_t>(i)]; one.state == CUBLAS_STATUS_SUCCESS)
      algorithms_.push_back(one.algo);
  if (algorithms_.empty()) throw backend_error({.what = "cuBLASLt has no algorithm for a matrix product"});
}

/// Returns batch, leading dimensions and strides as text; "" for a single product of packed matrices.
std::string layout_text(matrix_product::extents const& sizes) {
  matrix_product::extents const packed{.m = sizes.m,
                                       .n = sizes.n,
                                       .k = sizes.k,
                                       .transposes_a = sizes.transposes_a,
                                       .transposes_b = sizes.transposes_b,
                                       .has_bias = sizes.has_bias,
                                       .result = sizes.result};
  if (sizes == packed) return {};
  return text_of({", batch ", sizes.batch, ", steps ", sizes.step_a, ' ', sizes.step_b, ' ', sizes.step_d,
                  ", strides ", sizes.stride_a, ' ', sizes.stride_b, ' ', sizes.stride_d, ", alignment ",
                  sizes.alignment});
}

void matrix_product::choose_fastest(tuning& by, extents const& sizes, product_precision products) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= algorithms_.size(); ++i) names.push_back("algorithm " + std::to_string(i));
  // Bytes of an operand in memory. `transposed`: whether the operand is stored transposed.
  auto const bytes = [&](int rows, int columns, bool transposed, element_type type, int step,
                         std::int64_t stride) {
    if (transposed) std::swap(rows, columns);
    std::int64_t const one = std::int64_t{step > 0 ? step : rows} * (columns - 1) + rows;
    return static_cast<std::size_t>(one + (sizes.batch - 1) * stride) * bytes_of(type);
  };
  auto const factor = products == product_precision::bf16 ? element_type::bf16 : element_type::f32;
  std::vector<buffer> memory;
  auto const enqueue = [&](std::size_t candidate) {
    if (memory.empty())
      for (std::size_t const one :
           {bytes(sizes.m, sizes.k, sizes.transposes_a, factor, sizes.step_a, sizes.stride_a),
            bytes(sizes.k, sizes.n, sizes.transposes_b, factor, sizes.step_b, sizes.stride_b),
            bytes(sizes.m, 1, false, sizes.result, 0, 0),
            bytes(sizes.m, sizes.n, false, sizes.result, sizes.step_d, sizes.stride_d)})
        memory.push_back(timing_buffer(blas_->shared_stream(), one));
    run(algorithms_[candidate], memory[0].data(), memory[1].data(),
        sizes.has_bias ? memory[2].data() : nullptr, memory[3].data());
  };
  std::size_t const chosen = autotuned_choice(
      by, blas_->stream(),
      text_of({"cuBLASLt ", blas_->functions().version(), ", product ", sizes.m, 'x', sizes.n, 'x', sizes.k,
               sizes.transposes_a ? ", a transposed" : "", sizes.transposes_b ? ", b transposed" : "",
               sizes.has_bias ? ", bias" : "", layout_text(sizes), ", by ", name_of(products), " to ",
               name_of(sizes.result)}),
      names, enqueue);
  std::swap(algorithms_[0], algorithms_[chosen]);
}

}  // namespace cohort::detail
