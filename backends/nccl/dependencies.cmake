# SPDX-License-Identifier: Apache-2.0
# Only the header is needed: programs load NCCL at run time, like the libraries of CUDA.
cohort_dependency(NcclHeaders::NcclHeaders
  GET "the header of NCCL >= 2.18 (cmake/setup.sh --cuda of cohort, or its install prefix in CMAKE_PREFIX_PATH)"
  FIND NcclHeaders 2.18)
