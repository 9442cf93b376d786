// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/cudnn_functions.hpp>
#include <cohort/cudnn/detail/shared_library.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>

/// The installed cuDNN, which plans for a GPU that a text in JSON describes. No GPU is needed. The handles
/// belong to the simulated machine, and nothing can be executed.
///
/// Order     one GPU at a time: cuDNN's functions have no argument that identifies the object.
/// Source    NVIDIA, cuDNN documentation: deviceless ahead-of-time compilation. cuDNN 9.8 or newer.
struct planning_dnn {
  /// Returns why the library cannot plan; empty if it can.
  static std::string missing() {
    try {
      load();
    } catch (cohort::backend_error const& why) {
      return why.what();
    }
    return real.version() < 90800 ? "deviceless planning needs cuDNN 9.8 or newer" : "";
  }

  /// Before    missing() is empty.
  /// Errors    std::runtime_error if cuDNN rejects the description.
  explicit planning_dnn(std::string const& json) {
    if (real.create_descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &described) != CUDNN_STATUS_SUCCESS
        || real.set_attribute(described, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                              static_cast<std::int64_t>(json.size()), json.data())
               != CUDNN_STATUS_SUCCESS
        || real.finalize(described) != CUDNN_STATUS_SUCCESS)
      throw std::runtime_error("cuDNN rejects the description of a GPU: " + json);
  }
  planning_dnn(planning_dnn const&) = delete;
  planning_dnn& operator=(planning_dnn const&) = delete;
  ~planning_dnn() { real.destroy_descriptor(described); }

  /// cuDNN's functions, with the handles of `fake`.
  static cohort::detail::cudnn_functions functions(cohort::detail::cudnn_functions const& fake) {
    cohort::detail::cudnn_functions made = real;
    made.create = fake.create;
    made.destroy = fake.destroy;
    made.set_stream = fake.set_stream;
    // Replaces each handle that identifies the GPU by the description of the GPU.
    made.set_attribute = [](cudnnBackendDescriptor_t one, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, std::int64_t count, void const* values) {
      if (name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE) return CUDNN_STATUS_SUCCESS;
      if (name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE)
        return real.set_attribute(one, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                  &described);
      if (name == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)
        if (cudnnStatus_t const status = real.set_attribute(one, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                                                            CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &described);
            status != CUDNN_STATUS_SUCCESS)
          return status;
      return real.set_attribute(one, name, type, count, values);
    };
    made.execute = [](cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) {
      return CUDNN_STATUS_EXECUTION_FAILED;
    };
    return made;
  }

 private:
  static void load() {
    std::string const names[]{"libcudnn.so.9"};
    static auto const found = cohort::detail::load_functions<cohort::detail::cudnn_functions>(
        cohort::detail::system_libraries(), "cuDNN 9", names);
    real = found;
  }
  static inline cohort::detail::cudnn_functions real{};
  static inline cudnnBackendDescriptor_t described = nullptr;
};
