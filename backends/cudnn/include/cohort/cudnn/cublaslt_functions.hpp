// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cublasLt.h>

namespace cohort::detail {

/// The functions of cuBLASLt that are used.
struct cublaslt_functions {
  decltype(&::cublasLtGetVersion) version = nullptr;
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtDestroy) destroy = nullptr;

  template <class Visit>
  void each(Visit visit) {
    visit("cublasLtGetVersion", version);
    visit("cublasLtCreate", create);
    visit("cublasLtDestroy", destroy);
  }
};

}  // namespace cohort::detail
