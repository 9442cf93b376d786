// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cublasLt.h>

namespace cohort::detail {

/// The functions of cuBLASLt that the backend calls.
struct cublaslt_functions {
  decltype(&::cublasLtGetStatusString) status_text = nullptr;
  decltype(&::cublasLtGetVersion) version = nullptr;
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtDestroy) destroy = nullptr;
  decltype(&::cublasLtMatmulDescCreate) create_product = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) destroy_product = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) set_product = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) create_matrix = nullptr;
  decltype(&::cublasLtMatrixLayoutSetAttribute) set_matrix = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) destroy_matrix = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) choose = nullptr;
  decltype(&::cublasLtMatmul) multiply = nullptr;

  template <class Visit>
  void each(Visit visit) {
    visit("cublasLtGetStatusString", status_text);
    visit("cublasLtGetVersion", version);
    visit("cublasLtCreate", create);
    visit("cublasLtDestroy", destroy);
    visit("cublasLtMatmulDescCreate", create_product);
    visit("cublasLtMatmulDescDestroy", destroy_product);
    visit("cublasLtMatmulDescSetAttribute", set_product);
    visit("cublasLtMatrixLayoutCreate", create_matrix);
    visit("cublasLtMatrixLayoutSetAttribute", set_matrix);
    visit("cublasLtMatrixLayoutDestroy", destroy_matrix);
    visit("cublasLtMatmulPreferenceCreate", create_preference);
    visit("cublasLtMatmulPreferenceDestroy", destroy_preference);
    visit("cublasLtMatmulPreferenceSetAttribute", set_preference);
    visit("cublasLtMatmulAlgoGetHeuristic", choose);
    visit("cublasLtMatmul", multiply);
  }
};

}  // namespace cohort::detail
