# SPDX-License-Identifier: Apache-2.0
# Only the header is needed: programs load NCCL at run time, like the libraries of CUDA.
if(TARGET cohort::cudnn)
  list(APPEND cohort_link cohort::cudnn)
elseif(EXISTS "${CMAKE_CURRENT_LIST_DIR}/cohort-cudnn-dependencies.cmake")  # of the installed package
  include("${CMAKE_CURRENT_LIST_DIR}/cohort-cudnn-dependencies.cmake")
  if(NOT cohort_missing)
    include("${CMAKE_CURRENT_LIST_DIR}/cohort-cudnn-targets.cmake")
  endif()
else()
  list(APPEND cohort_missing "the component cudnn")
endif()
cohort_dependency(NcclHeaders::NcclHeaders
  GET "the header of NCCL >= 2.18 (cmake/setup.sh --cuda of cohort, or its install prefix in CMAKE_PREFIX_PATH)"
  FIND NcclHeaders 2.18)
