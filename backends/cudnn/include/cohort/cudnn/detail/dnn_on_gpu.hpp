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

/// A cuDNN handle that enqueues its work in a stream.
///
/// Order     a cuDNN handle is not thread-safe: hold lock_handle() while passing handle() to cuDNN.
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
  /// Locks the handle and makes the GPU's context current on this thread.
  std::unique_lock<std::mutex> lock_handle() const;

  void execute(cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t operands) const;

 private:
  std::shared_ptr<compute_stream const> on_;
  cudnnHandle_t handle_ = nullptr;
  mutable std::mutex mutex_;
};

/// Returns cuDNN's attribute type for the C++ type T.
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
    static_assert(std::same_as<T, void*>, "not a type of the cuDNN attributes used here");
    return CUDNN_TYPE_VOID_PTR;
  }
}

/// A descriptor of cuDNN's graph API.
///
/// Order     set the attributes, call finalize, then use the descriptor or get its attributes. A descriptor
///           must outlive the descriptors that refer to it.
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

  /// Writes up to values.size() elements of the attribute to `values`. Returns the attribute's number of
  /// elements.
  template <class T>
  std::size_t get(cudnnBackendAttributeName_t name, std::span<T> values) const {
    return get(name, attribute_type<T>(), values.size(), values.data());
  }
  /// Fills the given descriptors from the attribute; with an empty span, only counts the descriptors. Returns
  /// their number.
  std::size_t get(cudnnBackendAttributeName_t name, std::span<cudnnBackendDescriptor_t> others) const;

  /// Finalizes the descriptor and returns cuDNN's status.
  cudnnStatus_t try_finalize() { return dnn_->functions().finalize(made_); }
  void finalize() { dnn_->check(try_finalize(), "building a cuDNN descriptor"); }
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
