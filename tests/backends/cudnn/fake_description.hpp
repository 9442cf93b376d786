// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/cudnn_functions.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

/// An engine of a simulated cuDNN.
struct fake_engine {
  std::int64_t number = 0;
  std::vector<cudnnBackendNumericalNote_t> notes{};
  bool can_plan = true;
  std::int64_t workspace = 0;
  int from_capability = 0;  // lowest compute capability: 90 for 9.0
};

/// An attribute and its number of elements.
struct fake_attribute {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  std::int64_t count;
};

/// Attributes that a descriptor must have.
inline std::vector<fake_attribute> fake_attributes_of(cudnnBackendDescriptorType_t type) {
  auto const integers = CUDNN_TYPE_INT64;
  auto const descriptor = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return {{CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1},
              {CUDNN_ATTR_TENSOR_DIMENSIONS, integers, 4},
              {CUDNN_ATTR_TENSOR_STRIDES, integers, 4},
              {CUDNN_ATTR_TENSOR_UNIQUE_ID, integers, 1},
              {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, integers, 1}};
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return {{CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1},
              {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1},
              {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, integers, 1},
              {CUDNN_ATTR_CONVOLUTION_DILATIONS, integers, 2},
              {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, integers, 2},
              {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, integers, 2},
              {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, integers, 2}};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, descriptor, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, descriptor, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, descriptor, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, descriptor, 1}};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, descriptor, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, descriptor, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, descriptor, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, descriptor, 1}};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, descriptor, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, descriptor, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, descriptor, 1},
              {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, descriptor, 1}};
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return {{CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1},
              {CUDNN_ATTR_OPERATIONGRAPH_OPS, descriptor, 1}};
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, descriptor, 1},
              {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1}};
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return {{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1},
              {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, descriptor, 1}};
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, integers, 3},
              {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3},
              {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1}};
    default:
      return {};
  }
}

/// A descriptor of a simulated cuDNN: a set of attributes.
struct fake_description {
  /// Descriptors that were created and not destroyed.
  static std::set<void*>& alive() {
    static std::set<void*> all;
    return all;
  }

  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, std::vector<std::int64_t>> numbers{};
  std::map<cudnnBackendAttributeName_t, std::vector<void*>> pointers{};
  std::map<cudnnBackendAttributeName_t, float> scalars{};
  fake_engine chosen{};               // for an engine, a configuration or a plan
  fake_description* graph = nullptr;  // for an engine, a configuration or a plan

  cudnnStatus_t set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t as, std::int64_t count,
                    void const* values) {
    if (finalized || !values) return CUDNN_STATUS_BAD_PARAM;
    for (fake_attribute const& one : fake_attributes_of(type))
      if (one.name == name && one.type == as && count == one.count) {
        for (std::int64_t i = 0; i < count; ++i) put(name, as, values, i);
        return CUDNN_STATUS_SUCCESS;
      }
    return CUDNN_STATUS_BAD_PARAM;
  }
  void put(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t as, void const* values,
           std::int64_t i) {
    if (as == CUDNN_TYPE_FLOAT) {
      scalars[name] = static_cast<float const*>(values)[i];
    } else if (as == CUDNN_TYPE_BACKEND_DESCRIPTOR || as == CUDNN_TYPE_VOID_PTR || as == CUDNN_TYPE_HANDLE) {
      pointers[name].resize(static_cast<std::size_t>(i) + 1);
      pointers[name].back() = static_cast<void* const*>(values)[i];
    } else {
      numbers[name].resize(static_cast<std::size_t>(i) + 1);
      numbers[name].back() = as == CUDNN_TYPE_INT64 ? static_cast<std::int64_t const*>(values)[i]
                                                    : static_cast<int const*>(values)[i];
    }
  }

  /// The finalized descriptor of this type that an attribute refers to, or null.
  fake_description* other(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t wanted) {
    auto const found = pointers.find(name);
    if (found == pointers.end() || !alive().contains(found->second[0])) return nullptr;
    auto* const one = static_cast<fake_description*>(found->second[0]);
    return one->finalized && one->type == wanted ? one : nullptr;
  }
  std::int64_t at(cudnnBackendAttributeName_t name, std::size_t i = 0) const {
    return numbers.at(name).at(i);
  }
};
