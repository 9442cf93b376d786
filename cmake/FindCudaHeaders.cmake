# SPDX-License-Identifier: Apache-2.0
# Headers of the CUDA toolkit: CudaHeaders::CudaHeaders. Nothing is linked. CMake's own package and the
# toolkit's package are not used, because they also require a compiler or libraries.
find_path(CudaHeaders_INCLUDE_DIR cublasLt.h
  HINTS "$ENV{CUDA_PATH}/include"
  PATHS /usr/local/cuda/include "${cohort_cache}/cuda-13.0/include")
mark_as_advanced(CudaHeaders_INCLUDE_DIR)
foreach(header IN ITEMS cuda.h cuda_runtime_api.h nv/target nvrtc.h)
  if(NOT EXISTS "${CudaHeaders_INCLUDE_DIR}/${header}")
    set(CudaHeaders_INCLUDE_DIR CudaHeaders_INCLUDE_DIR-NOTFOUND)
  endif()
endforeach()
set(CudaHeaders_VERSION)
if(CudaHeaders_INCLUDE_DIR)
  file(STRINGS "${CudaHeaders_INCLUDE_DIR}/cuda.h" version REGEX "^#define CUDA_VERSION +[0-9]+")
  string(REGEX MATCH "[0-9]+$" version "${version}")
  math(EXPR major "${version} / 1000")
  math(EXPR minor "${version} % 1000 / 10")
  set(CudaHeaders_VERSION ${major}.${minor})
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudaHeaders
  REQUIRED_VARS CudaHeaders_INCLUDE_DIR VERSION_VAR CudaHeaders_VERSION)
if(CudaHeaders_FOUND AND NOT TARGET CudaHeaders::CudaHeaders)
  add_library(CudaHeaders::CudaHeaders INTERFACE IMPORTED)
  set_target_properties(CudaHeaders::CudaHeaders PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${CudaHeaders_INCLUDE_DIR}")
endif()
