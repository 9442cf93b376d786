// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cohort/cudnn/detail/product_precision.hpp>
#include <cohort/plan/tuning.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cohort/tensor/element.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace cohort::detail {

/// A cuBLASLt handle and the workspace of its products.
class blas_on_gpu {
 public:
  /// The size recommended for cuBLAS on Hopper.
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

  explicit blas_on_gpu(std::shared_ptr<compute_stream> on);
  blas_on_gpu(blas_on_gpu const&) = delete;
  blas_on_gpu& operator=(blas_on_gpu const&) = delete;
  ~blas_on_gpu() { functions().destroy(handle_); }

  void check(cublasStatus_t status, char const* doing) const;
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

/// Computes D = op(A)·op(B), optionally plus a bias for each row of D; or a batch of `batch` products.
///
/// Shapes    matrices are column-major: op(A) m×k, op(B) k×n, D m×n, the bias m. A transposed A is stored
///           k×m. A and B are bf16 for product_precision::bf16, otherwise f32; D and the bias have the type
///           `result`. `step_x`: leading dimension of a stored matrix (0 if packed); `stride_x`: elements
///           between the matrices of a batch.
/// Before    operands are in the memory of the stream's GPU, aligned to `alignment` bytes. A batch has no
///           bias.
/// Exact     partial sums are f32 and added in a fixed order: the same GPU and library give bitwise equal
///           results.
/// Errors    backend_error if cuBLASLt has no algorithm for the product, or fails.
class matrix_product {
 public:
  struct extents {
    int m, n, k;
    bool transposes_a = false, transposes_b = false, has_bias = false;
    element_type result = element_type::f32;
    int batch = 1;
    int step_a = 0, step_b = 0, step_d = 0;
    std::int64_t stride_a = 0, stride_b = 0, stride_d = 0;
    std::uint32_t alignment = buffer::alignment;

    bool operator==(extents const&) const = default;
  };

  matrix_product(std::shared_ptr<blas_on_gpu const> blas, extents const& sizes,
                 product_precision products = product_precision::f32, tuning* by = nullptr);

  /// Enqueues the product.
  void run(void const* a, void const* b, void const* bias, void* result) const;

 private:
  static constexpr std::size_t max_timed = 8;

  void run(cublasLtMatmulAlgo_t const& algorithm, void const* a, void const* b, void const* bias,
           void* result) const;

  struct descriptors {
    cublaslt_functions const& functions;
    cublasLtMatmulDesc_t product = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, result = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;

    explicit descriptors(cublaslt_functions const& of) : functions(of) {}
    descriptors(descriptors const&) = delete;
    descriptors& operator=(descriptors const&) = delete;
    ~descriptors();
  };

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T const& value) const {
    blas_->check(blas_->functions().set_product(descriptors_.product, attribute, &value, sizeof value),
                 "describing a matrix product");
  }
  template <class T>
  void prefer(cublasLtMatmulPreferenceAttributes_t attribute, T const& value) const {
    blas_->check(blas_->functions().set_preference(descriptors_.preference, attribute, &value, sizeof value),
                 "setting the preferences of a matrix product");
  }
  /// Creates a matrix layout. `step`: as in extents.
  void describe(cublasLtMatrixLayout_t& matrix, element_type type, int rows, int columns, int step, int batch,
                std::int64_t stride) const;

  void choose(std::uint32_t alignment);

  void choose_fastest(tuning& by, extents const& sizes, product_precision products);

  std::shared_ptr<blas_on_gpu const> blas_;
  descriptors descriptors_;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;  // algorithms_[0] is used
  mutable std::mutex mutex_;
};

}  // namespace cohort::detail
