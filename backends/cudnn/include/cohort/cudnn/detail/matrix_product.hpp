// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/cudnn/detail/autotuned_choice.hpp>
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cohort/cudnn/detail/product_precision.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/element.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// cuBLASLt on a GPU, and the memory that its products may use besides their operands.
class blas_on_gpu {
 public:
  /// As much as cuBLAS is recommended to have on Hopper.
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

  explicit blas_on_gpu(std::shared_ptr<compute_stream> on)
      : on_(std::move(on)), workspace_(workspace_bytes, on_) {
    check(functions().create(&handle_), "starting cuBLASLt");
  }
  blas_on_gpu(blas_on_gpu const&) = delete;
  blas_on_gpu& operator=(blas_on_gpu const&) = delete;
  ~blas_on_gpu() { functions().destroy(handle_); }

  void check(cublasStatus_t status, char const* doing) const {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw backend_error({.what = {doing, " failed"}, .where = functions().status_text(status)});
  }
  compute_stream const& stream() const { return *on_; }
  std::shared_ptr<compute_stream const> shared_stream() const { return on_; }
  cublaslt_functions const& functions() const { return on_->device().blas(); }
  cublasLtHandle_t handle() const { return handle_; }
  void* workspace() const { return workspace_.data(); }

 private:
  std::shared_ptr<compute_stream> on_;
  buffer workspace_;
  cublasLtHandle_t handle_ = nullptr;
};

/// D = op(A)·op(B), and where wanted a bias for each row of D.
///
/// Shapes    columns lie one behind the other: op(A) m×k, op(B) k×n, D m×n, the bias m. A is stored k×m where it is transposed.
///           A and B are bf16 where products are, D and the bias what `result` says.
/// Before    operands lie on buffer::alignment, on the stream's GPU.
/// Exact     parts of a sum are f32 and added in one order: one GPU and library give one result, bit by bit.
/// Errors    backend_error where cuBLASLt has no algorithm, or fails.
class matrix_product {
 public:
  struct extents {
    int m, n, k;
    bool transposes_a = false, transposes_b = false, has_bias = false;
    element_type result = element_type::f32;
  };

  matrix_product(std::shared_ptr<blas_on_gpu const> blas, extents const& its,
                 product_precision products = product_precision::f32, tuning* by = nullptr)
      : blas_(std::move(blas)), descriptors_{blas_->functions()} {
    cublaslt_functions const& f = blas_->functions();
    descriptors& d = descriptors_;
    blas_->check(f.create_product(
                     &d.product,
                     products == product_precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                     CUDA_R_32F),
                 "describing a matrix product");
    cublasOperation_t const as_it_is = CUBLAS_OP_N, transposed = CUBLAS_OP_T;
    set(CUBLASLT_MATMUL_DESC_TRANSA, its.transposes_a ? transposed : as_it_is);
    set(CUBLASLT_MATMUL_DESC_TRANSB, its.transposes_b ? transposed : as_it_is);
    if (its.has_bias) set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    auto const factor = products == product_precision::bf16 ? element_type::bf16 : element_type::f32;
    describe(d.a, factor, its.transposes_a ? its.k : its.m, its.transposes_a ? its.m : its.k);
    describe(d.b, factor, its.transposes_b ? its.n : its.k, its.transposes_b ? its.k : its.n);
    describe(d.result, its.result, its.m, its.n);
    choose();
    if (by && algorithms_.size() > 1) take_fastest(*by, its, products);
    algorithms_.resize(1);
  }

  /// Puts it into the stream.
  void run(void const* a, void const* b, void const* bias, void* result) const {
    run(algorithms_[0], a, b, bias, result);
  }

 private:
  static constexpr std::size_t most_to_time = 8;

  void run(cublasLtMatmulAlgo_t const& algorithm, void const* a, void const* b, void const* bias,
           void* result) const {
    auto const turn = blas_->stream().turn();
    std::lock_guard const one_at_a_time(mutex_);  // the bias is a property of the description
    if (bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    float const one = 1, zero = 0;
    descriptors const& d = descriptors_;
    blas_->check(blas_->functions().multiply(blas_->handle(), d.product, &one, a, d.a, b, d.b, &zero, result,
                                             d.result, result, d.result, &algorithm, blas_->workspace(),
                                             blas_on_gpu::workspace_bytes, blas_->stream().handle()),
                 "multiplying matrices");
  }

  struct descriptors {
    cublaslt_functions const& functions;
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, result = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;

    explicit descriptors(cublaslt_functions const& of) : functions(of) {}
    descriptors(descriptors const&) = delete;
    descriptors& operator=(descriptors const&) = delete;
    ~descriptors() {
      if (preference) functions.destroy_preference(preference);
      for (cublasLtMatrixLayout_t one : {a, b, result})
        if (one) functions.destroy_matrix(one);
      if (product) functions.destroy_product(product);
    }
  };

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T const& value) const {
    blas_->check(blas_->functions().set_product(descriptors_.product, attribute, &value, sizeof value),
                 "describing a matrix product");
  }
  template <class T>
  void prefer(cublasLtMatmulPreferenceAttributes_t attribute, T const& value) const {
    blas_->check(blas_->functions().set_preference(descriptors_.preference, attribute, &value, sizeof value),
                 "saying what a matrix product may use");
  }
  void describe(cublasLtMatrixLayout_t& matrix, element_type type, int rows, int columns) const {
    blas_->check(blas_->functions().create_matrix(
                     &matrix, type == element_type::bf16 ? CUDA_R_16BF : CUDA_R_32F,
                     static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows),
                 "describing a matrix");
  }

  void choose() {
    cublaslt_functions const& f = blas_->functions();
    descriptors& d = descriptors_;
    blas_->check(f.create_preference(&d.preference), "saying what a matrix product may use");
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, blas_on_gpu::workspace_bytes);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    for (auto const operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(operand, static_cast<std::uint32_t>(buffer::alignment));
    std::array<cublasLtMatmulHeuristicResult_t, most_to_time> found{};
    int count = 0;
    blas_->stream().device().use();
    blas_->check(f.choose(blas_->handle(), d.product, d.a, d.b, d.result, d.result, d.preference,
                          static_cast<int>(found.size()), found.data(), &count),
                 "choosing how to multiply matrices");
    if (count == 0) throw backend_error({.what = "cuBLASLt has no algorithm for a matrix product"});
    for (int i = 0; i < count; ++i) algorithms_.push_back(found[static_cast<std::size_t>(i)].algo);
  }

  void take_fastest(tuning& by, extents const& its, product_precision products) {
    std::vector<std::string> names;
    for (std::size_t i = 1; i <= algorithms_.size(); ++i) names.push_back("algorithm " + std::to_string(i));
    auto const bytes = [](int rows, int columns, element_type type) {
      return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * bytes_of(type);
    };
    auto const factor = products == product_precision::bf16 ? element_type::bf16 : element_type::f32;
    std::vector<buffer> memory;
    auto const put = [&](std::size_t way) {
      if (memory.empty())
        for (std::size_t const one : {bytes(its.m, its.k, factor), bytes(its.k, its.n, factor),
                                      bytes(its.m, 1, its.result), bytes(its.m, its.n, its.result)})
          memory.push_back(memory_to_time_on(blas_->shared_stream(), one));
      run(algorithms_[way], memory[0].data(), memory[1].data(), its.has_bias ? memory[2].data() : nullptr,
          memory[3].data());
    };
    std::size_t const taken = autotuned_choice(
        by, blas_->stream(),
        text_of({"cuBLASLt ", blas_->functions().version(), ", product ", its.m, 'x', its.n, 'x', its.k,
                 its.transposes_a ? ", a transposed" : "", its.transposes_b ? ", b transposed" : "",
                 its.has_bias ? ", bias" : "", ", by ", name_of(products), " to ", name_of(its.result)}),
        names, put);
    std::swap(algorithms_[0], algorithms_[taken]);
  }

  std::shared_ptr<blas_on_gpu const> blas_;
  descriptors descriptors_;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;  // the first one is used
  mutable std::mutex mutex_;
};

}  // namespace cohort::detail
