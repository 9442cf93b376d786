# SPDX-License-Identifier: Apache-2.0
# yaml-cpp: YamlCpp::YamlCpp. In yaml-cpp's CMake package, the target's name depends on the version. No header
# contains the version; depthguard.h exists since 0.7.
find_path(YamlCpp_INCLUDE_DIR yaml-cpp/depthguard.h)
find_library(YamlCpp_LIBRARY yaml-cpp)
mark_as_advanced(YamlCpp_INCLUDE_DIR YamlCpp_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(YamlCpp REQUIRED_VARS YamlCpp_LIBRARY YamlCpp_INCLUDE_DIR)
if(YamlCpp_FOUND AND NOT TARGET YamlCpp::YamlCpp)
  add_library(YamlCpp::YamlCpp UNKNOWN IMPORTED)
  set_target_properties(YamlCpp::YamlCpp PROPERTIES
    IMPORTED_LOCATION "${YamlCpp_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${YamlCpp_INCLUDE_DIR}")
endif()
