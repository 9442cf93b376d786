// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cohort/cudnn/detail/cublaslt_functions.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fake_numbers.hpp"

/// cuBLASLt by plain loops, on the processor's memory. It rejects uses that the real library might interpret
/// differently: types other than f32, TF32 and bf16, rounded partial sums, and a workspace or an alignment
/// other than that of the heuristic's request.
struct fake_blas {
  struct matrix {
    std::uint64_t rows, columns;
    std::int64_t step;
    bool is_narrow = false;
    std::int32_t batch = 1;
    std::int64_t stride = 0;  // elements between the matrices of a batch
  };
  struct product {
    cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    void const* bias = nullptr;
    bool in_tf32 = false;
  };
  struct preference {
    std::uint64_t workspace = 0;
    std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
    std::uint32_t alignment[4] = {256, 256, 256, 256};
  };
  /// Number of descriptors that were created and not destroyed.
  static inline std::atomic<int> descriptions = 0;
  static inline bool has_algorithms = true;

  using stream_put = void (*)(void* stream, std::function<void()> work);

  /// `current`: returns whether the calling thread has the GPU's context. `into_stream`: enqueues products.
  static cohort::detail::cublaslt_functions functions(bool (*current)(), stream_put into_stream) {
    context_is_current = current;
    put_into = into_stream;
    cohort::detail::cublaslt_functions made;
    made.status_text = [](cublasStatus_t status) {
      return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "another status";
    };
    made.version = [] { return std::size_t{130000}; };
    made.create = [](cublasLtHandle_t* handle) { return give<int>(handle); };
    made.destroy = [](cublasLtHandle_t handle) { return take<int>(handle); };
    made.create_product = [](cublasLtMatmulDesc_t* one, cublasComputeType_t in, cudaDataType_t scale) {
      if ((in != CUBLAS_COMPUTE_32F && in != CUBLAS_COMPUTE_32F_FAST_TF32) || scale != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
      cublasStatus_t const status = give<product>(one);
      reinterpret_cast<product*>(*one)->in_tf32 = in == CUBLAS_COMPUTE_32F_FAST_TF32;
      return status;
    };
    made.destroy_product = [](cublasLtMatmulDesc_t one) { return take<product>(one); };
    made.set_product = [](cublasLtMatmulDesc_t one, cublasLtMatmulDescAttributes_t which, void const* value,
                          std::size_t bytes) {
      product& of = *reinterpret_cast<product*>(one);
      switch (which) {
        case CUBLASLT_MATMUL_DESC_TRANSA:
          return put(of.a, value, bytes);
        case CUBLASLT_MATMUL_DESC_TRANSB:
          return put(of.b, value, bytes);
        case CUBLASLT_MATMUL_DESC_EPILOGUE:
          return put(of.epilogue, value, bytes);
        case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
          return put(of.bias, value, bytes);
        default:
          return CUBLAS_STATUS_NOT_SUPPORTED;
      }
    };
    made.create_matrix = [](cublasLtMatrixLayout_t* one, cudaDataType type, std::uint64_t rows,
                            std::uint64_t columns, std::int64_t step) {
      if ((type != CUDA_R_32F && type != CUDA_R_16BF) || step < static_cast<std::int64_t>(rows))
        return CUBLAS_STATUS_NOT_SUPPORTED;
      cublasStatus_t const status = give<matrix>(one);
      *reinterpret_cast<matrix*>(*one) = {rows, columns, step, type == CUDA_R_16BF};
      return status;
    };
    made.set_matrix = [](cublasLtMatrixLayout_t one, cublasLtMatrixLayoutAttribute_t which, void const* value,
                         std::size_t bytes) {
      matrix& of = *reinterpret_cast<matrix*>(one);
      if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return put(of.batch, value, bytes);
      if (which == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) return put(of.stride, value, bytes);
      return CUBLAS_STATUS_NOT_SUPPORTED;
    };
    made.destroy_matrix = [](cublasLtMatrixLayout_t one) { return take<matrix>(one); };
    made.create_preference = [](cublasLtMatmulPreference_t* one) { return give<preference>(one); };
    made.destroy_preference = [](cublasLtMatmulPreference_t one) { return take<preference>(one); };
    made.set_preference = [](cublasLtMatmulPreference_t one, cublasLtMatmulPreferenceAttributes_t which,
                             void const* value, std::size_t bytes) {
      preference& of = *reinterpret_cast<preference*>(one);
      if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) return put(of.workspace, value, bytes);
      if (which == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) return put(of.reductions, value, bytes);
      int const operand = which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
      return operand >= 0 && operand < 4 ? put(of.alignment[operand], value, bytes)
                                         : CUBLAS_STATUS_NOT_SUPPORTED;
    };
    made.choose = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t one,
                     int wanted, cublasLtMatmulHeuristicResult_t* found, int* count) {
      preference const& of = *reinterpret_cast<preference const*>(one);
      // other schemes add partial sums in the result's type, or in an undefined order
      bool const any = has_algorithms && of.reductions == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
      *count = any ? std::min(wanted, 3) : 0;
      for (int i = 0; i < *count; ++i) {
        found[i].workspaceSize = of.workspace;
        found[i].algo.data[0] = of.workspace;  // multiply checks workspace bytes and alignment
        found[i].algo.data[1] =
            std::max({of.alignment[0], of.alignment[1], of.alignment[2], of.alignment[3]});
      }
      // the real library also returns algorithms that the GPU does not support
      if (*count == 3) found[2].state = CUBLAS_STATUS_NOT_SUPPORTED;
      return CUBLAS_STATUS_SUCCESS;
    };
    made.multiply = multiply;
    return made;
  }

 private:
  static inline bool (*context_is_current)() = nullptr;
  static inline stream_put put_into = nullptr;

  template <class T, class Handle>
  static cublasStatus_t give(Handle* handle) {
    *handle = reinterpret_cast<Handle>(new T());
    ++descriptions;
    return CUBLAS_STATUS_SUCCESS;
  }
  template <class T, class Handle>
  static cublasStatus_t take(Handle handle) {
    delete reinterpret_cast<T*>(handle);
    --descriptions;
    return CUBLAS_STATUS_SUCCESS;
  }
  template <class T>
  static cublasStatus_t put(T& to, void const* value, std::size_t bytes) {
    if (bytes != sizeof to) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  }

  static cublasStatus_t multiply(cublasLtHandle_t, cublasLtMatmulDesc_t description, void const* alpha,
                                 void const* a, cublasLtMatrixLayout_t of_a, void const* b,
                                 cublasLtMatrixLayout_t of_b, void const* beta, void const* c,
                                 cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t of_d,
                                 cublasLtMatmulAlgo_t const* algorithm, void* workspace,
                                 std::size_t workspace_bytes, cudaStream_t stream) {
    product const& how = *reinterpret_cast<product const*>(description);
    matrix const &A = *reinterpret_cast<matrix const*>(of_a), &B = *reinterpret_cast<matrix const*>(of_b),
                 &D = *reinterpret_cast<matrix const*>(of_d);
    bool const ta = how.a == CUBLAS_OP_T, tb = how.b == CUBLAS_OP_T;
    std::uint64_t const k = ta ? A.rows : A.columns;
    bool const fit = (ta ? A.columns : A.rows) == D.rows && (tb ? B.columns : B.rows) == k
                     && (tb ? B.rows : B.columns) == D.columns;
    bool aligned = true;
    for (void const* one : {a, b, c, static_cast<void const*>(d)})
      aligned = aligned && reinterpret_cast<std::uintptr_t>(one) % algorithm->data[1] == 0;
    for (matrix const* one : {&A, &B, &D})
      if (one->batch > 1)
        aligned =
            aligned && one->batch == D.batch
            && static_cast<std::uint64_t>(one->stride) * (one->is_narrow ? 2 : 4) % algorithm->data[1] == 0;
    if (!context_is_current() || !fit || !aligned || !workspace || workspace_bytes < algorithm->data[0]
        || c != d || *static_cast<float const*>(alpha) != 1 || *static_cast<float const*>(beta) != 0
        || (how.epilogue == CUBLASLT_EPILOGUE_BIAS) != (how.bias != nullptr) || A.is_narrow != B.is_narrow
        || (D.is_narrow && !A.is_narrow))
      return CUBLAS_STATUS_INVALID_VALUE;
    put_into(stream, [=, how = how, A = A, B = B, D = D] {
      auto const at = [](void const* first, matrix const& m, std::int32_t i) {
        return static_cast<std::byte*>(const_cast<void*>(first)) + i * m.stride * (m.is_narrow ? 2 : 4);
      };
      for (std::int32_t i = 0; i < D.batch; ++i) compute(how, at(a, A, i), A, at(b, B, i), B, at(d, D, i), D);
    });
    return CUBLAS_STATUS_SUCCESS;
  }
  static void compute(product const& how, void const* a, matrix const& A, void const* b, matrix const& B,
                      void* d, matrix const& D) {
    bool const ta = how.a == CUBLAS_OP_T, tb = how.b == CUBLAS_OP_T;
    std::uint64_t const k = ta ? A.rows : A.columns;
    auto const element = [&how](void const* of, matrix const& m, bool transposed, std::uint64_t row,
                                std::uint64_t column) {
      auto const step = static_cast<std::uint64_t>(m.step);
      float const found = fake_tensor{
          const_cast<void*>(of),
          m.is_narrow}[static_cast<std::int64_t>(transposed ? row * step + column : column * step + row)];
      return how.in_tf32 ? to_tf32(found) : found;
    };
    for (std::uint64_t column = 0; column < D.columns; ++column)
      for (std::uint64_t row = 0; row < D.rows; ++row) {
        fake_tensor const bias{const_cast<void*>(how.bias), D.is_narrow};
        float sum = how.bias ? bias[static_cast<std::int64_t>(row)] : 0;
        for (std::uint64_t i = 0; i < k; ++i) sum += element(a, A, ta, row, i) * element(b, B, tb, i, column);
        fake_tensor{d, D.is_narrow}.put(
            static_cast<std::int64_t>(column * static_cast<std::uint64_t>(D.step) + row), sum);
      }
  }
};
