# SPDX-License-Identifier: Apache-2.0
# Only headers are needed: programs load CUDA's libraries at run time.
cohort_dependency(CudaHeaders::CudaHeaders
  GET "the headers of CUDA >= 12.0 (its toolkit, cmake/setup.sh --cuda of cohort, or their install prefix in CMAKE_PREFIX_PATH)"
  FIND CudaHeaders 12.0)
cohort_dependency(CudnnHeaders::CudnnHeaders
  GET "the headers of cuDNN >= 9.0 (cmake/setup.sh --cuda of cohort, or their install prefix in CMAKE_PREFIX_PATH)"
  FIND CudnnHeaders 9.0)
list(APPEND cohort_link ${CMAKE_DL_LIBS})
