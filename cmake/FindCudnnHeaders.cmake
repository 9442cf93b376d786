# SPDX-License-Identifier: Apache-2.0
# Headers of cuDNN's graph interface: CudnnHeaders::CudnnHeaders. Nothing is linked.
find_path(CudnnHeaders_INCLUDE_DIR cudnn_graph.h
  HINTS "$ENV{CUDA_PATH}/include"
  PATHS /usr/local/cuda/include "${cohort_cache}/cuda-13.0/include")
mark_as_advanced(CudnnHeaders_INCLUDE_DIR)
set(CudnnHeaders_VERSION)
if(CudnnHeaders_INCLUDE_DIR)
  set(header "${CudnnHeaders_INCLUDE_DIR}/cudnn_version.h")
  foreach(part IN ITEMS MAJOR MINOR PATCHLEVEL)
    file(STRINGS "${header}" line REGEX "^#define CUDNN_${part} +[0-9]+")
    string(REGEX MATCH "[0-9]+$" line "${line}")
    list(APPEND CudnnHeaders_VERSION ${line})
  endforeach()
  list(JOIN CudnnHeaders_VERSION "." CudnnHeaders_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudnnHeaders
  REQUIRED_VARS CudnnHeaders_INCLUDE_DIR VERSION_VAR CudnnHeaders_VERSION)
if(CudnnHeaders_FOUND AND NOT TARGET CudnnHeaders::CudnnHeaders)
  add_library(CudnnHeaders::CudnnHeaders INTERFACE IMPORTED)
  set_target_properties(CudnnHeaders::CudnnHeaders PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${CudnnHeaders_INCLUDE_DIR}")
endif()
