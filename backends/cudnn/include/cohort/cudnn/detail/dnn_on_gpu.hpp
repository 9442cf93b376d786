// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

namespace cohort::detail {

/// cuDNN on a GPU, whose work goes into a stream.
///
/// Order     a handle of cuDNN's is not for several threads at a time: whoever gives it away holds alone().
class dnn_on_gpu {
 public:
  explicit dnn_on_gpu(std::shared_ptr<compute_stream const> on);
  dnn_on_gpu(dnn_on_gpu const&) = delete;
  dnn_on_gpu& operator=(dnn_on_gpu const&) = delete;
  ~dnn_on_gpu();

  void check(cudnnStatus_t status, char const* doing) const;
  compute_stream const& stream() const { return *on_; }
  std::shared_ptr<compute_stream const> const& shared_stream() const { return on_; }
  cudnn_functions const& functions() const { return on_->device().networks(); }
  cudnnHandle_t handle() const { return handle_; }
  /// Waits for other threads that use the handle; the GPU's context is current on this one.
  std::unique_lock<std::mutex> alone() const;

  void execute(cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t operands) const;

 private:
  std::shared_ptr<compute_stream const> on_;
  cudnnHandle_t handle_ = nullptr;
  mutable std::mutex mutex_;
};

/// The type that cuDNN gives an attribute of C++'s type T.
template <class T>
constexpr cudnnBackendAttributeType_t attribute_type() {
  if constexpr (std::same_as<T, std::int64_t>)
    return CUDNN_TYPE_INT64;
  else if constexpr (std::same_as<T, float>)
    return CUDNN_TYPE_FLOAT;
  else if constexpr (std::same_as<T, cudnnDataType_t>)
    return CUDNN_TYPE_DATA_TYPE;
  else if constexpr (std::same_as<T, cudnnConvolutionMode_t>)
    return CUDNN_TYPE_CONVOLUTION_MODE;
  else if constexpr (std::same_as<T, cudnnBackendHeurMode_t>)
    return CUDNN_TYPE_HEUR_MODE;
  else if constexpr (std::same_as<T, cudnnBackendNumericalNote_t>)
    return CUDNN_TYPE_NUMERICAL_NOTE;
  else if constexpr (std::same_as<T, cudnnHandle_t>)
    return CUDNN_TYPE_HANDLE;
  else {
    static_assert(std::same_as<T, void*>, "a type that cuDNN's attributes are not used with here");
    return CUDNN_TYPE_VOID_PTR;
  }
}

/// One of the descriptions that cuDNN's graph interface is made of.
///
/// Order     set what it has, then finalize; then it can be used and asked. It outlives those that name it.
class dnn_description {
 public:
  dnn_description(dnn_on_gpu const& dnn, cudnnBackendDescriptorType_t type);
  dnn_description(dnn_description&& other) noexcept
      : dnn_(other.dnn_), made_(std::exchange(other.made_, nullptr)) {}
  dnn_description& operator=(dnn_description&& other) noexcept;
  ~dnn_description();

  template <class T, std::size_t N>
  void set(cudnnBackendAttributeName_t name, std::array<T, N> const& values) {
    set(name, attribute_type<T>(), N, values.data());
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, T const& value) {
    set(name, attribute_type<T>(), 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, dnn_description const& other);

  /// Before    `values` has as many as are asked for. Returns how many there are.
  template <class T>
  std::size_t get(cudnnBackendAttributeName_t name, std::span<T> values) const {
    return get(name, attribute_type<T>(), values.size(), values.data());
  }
  /// The descriptions in it, which are filled, or counted only.
  std::size_t get(cudnnBackendAttributeName_t name, std::span<cudnnBackendDescriptor_t> others) const;

  /// What cuDNN says to it.
  cudnnStatus_t try_finalize() { return dnn_->functions().finalize(made_); }
  void finalize() { dnn_->check(try_finalize(), "describing a graph to cuDNN"); }
  cudnnBackendDescriptor_t handle() const { return made_; }

 private:
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::size_t count,
           void const* values);
  std::size_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::size_t count,
                  void* values) const;

  dnn_on_gpu const* dnn_;
  cudnnBackendDescriptor_t made_ = nullptr;
};

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/dnn_on_gpu.ipp>
#endif
