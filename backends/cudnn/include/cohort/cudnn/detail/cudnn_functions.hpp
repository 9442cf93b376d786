// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cudnn_graph.h>

namespace cohort::detail {

/// The functions of cuDNN's graph API that the backend calls.
struct cudnn_functions {
  decltype(&::cudnnGetErrorString) error_text = nullptr;
  decltype(&::cudnnGetVersion) version = nullptr;
  decltype(&::cudnnGetCudartVersion) cuda_version = nullptr;
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnDestroy) destroy = nullptr;
  decltype(&::cudnnSetStream) set_stream = nullptr;
  decltype(&::cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&::cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&::cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendExecute) execute = nullptr;

  template <class Visit>
  void each(Visit visit) {
    visit("cudnnGetErrorString", error_text);
    visit("cudnnGetVersion", version);
    visit("cudnnGetCudartVersion", cuda_version);
    visit("cudnnCreate", create);
    visit("cudnnDestroy", destroy);
    visit("cudnnSetStream", set_stream);
    visit("cudnnBackendCreateDescriptor", create_descriptor);
    visit("cudnnBackendDestroyDescriptor", destroy_descriptor);
    visit("cudnnBackendSetAttribute", set_attribute);
    visit("cudnnBackendGetAttribute", get_attribute);
    visit("cudnnBackendFinalize", finalize);
    visit("cudnnBackendExecute", execute);
  }
};

}  // namespace cohort::detail
