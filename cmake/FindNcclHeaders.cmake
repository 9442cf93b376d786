# SPDX-License-Identifier: Apache-2.0
# Header of NCCL: NcclHeaders::NcclHeaders. Nothing is linked.
find_path(NcclHeaders_INCLUDE_DIR nccl.h
  HINTS "$ENV{CUDA_PATH}/include"
  PATHS /usr/local/cuda/include "${cohort_cache}/cuda-13.0/include")
mark_as_advanced(NcclHeaders_INCLUDE_DIR)
set(NcclHeaders_VERSION)
if(NcclHeaders_INCLUDE_DIR)
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    file(STRINGS "${NcclHeaders_INCLUDE_DIR}/nccl.h" line REGEX "^#define NCCL_${part} +[0-9]+")
    string(REGEX MATCH "[0-9]+$" line "${line}")
    list(APPEND NcclHeaders_VERSION ${line})
  endforeach()
  list(JOIN NcclHeaders_VERSION "." NcclHeaders_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NcclHeaders
  REQUIRED_VARS NcclHeaders_INCLUDE_DIR VERSION_VAR NcclHeaders_VERSION)
if(NcclHeaders_FOUND AND NOT TARGET NcclHeaders::NcclHeaders)
  add_library(NcclHeaders::NcclHeaders INTERFACE IMPORTED)
  set_target_properties(NcclHeaders::NcclHeaders PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${NcclHeaders_INCLUDE_DIR}")
endif()
