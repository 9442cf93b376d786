// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nvrtc.h>

namespace cohort::detail {

/// The functions of NVRTC, CUDA's run-time compiler, that the backend calls.
struct nvrtc_functions {
  decltype(&::nvrtcGetErrorString) error_text = nullptr;
  decltype(&::nvrtcVersion) version = nullptr;
  decltype(&::nvrtcGetNumSupportedArchs) architectures = nullptr;
  decltype(&::nvrtcGetSupportedArchs) get_architectures = nullptr;
  decltype(&::nvrtcCreateProgram) create = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy = nullptr;
  decltype(&::nvrtcCompileProgram) compile = nullptr;
  decltype(&::nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) get_log = nullptr;
  decltype(&::nvrtcGetCUBINSize) cubin_size = nullptr;
  decltype(&::nvrtcGetCUBIN) get_cubin = nullptr;

  template <class Visit>
  void each(Visit visit) {
    visit("nvrtcGetErrorString", error_text);
    visit("nvrtcVersion", version);
    visit("nvrtcGetNumSupportedArchs", architectures);
    visit("nvrtcGetSupportedArchs", get_architectures);
    visit("nvrtcCreateProgram", create);
    visit("nvrtcDestroyProgram", destroy);
    visit("nvrtcCompileProgram", compile);
    visit("nvrtcGetProgramLogSize", log_size);
    visit("nvrtcGetProgramLog", get_log);
    visit("nvrtcGetCUBINSize", cubin_size);
    visit("nvrtcGetCUBIN", get_cubin);
  }
};

}  // namespace cohort::detail
