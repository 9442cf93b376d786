# SPDX-License-Identifier: Apache-2.0
# Untested. This port downloads nothing: it is a part of the sources that it installs.
#   vcpkg install "cohort[onednn,zlib]" --overlay-ports=cmake/packages/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release)  # headers only

set(options)
foreach(component IN ITEMS documents image keras onednn tcp xtensor yaml zlib mpi)
  string(TOUPPER "${component}" name)
  if(component IN_LIST FEATURES)
    list(APPEND options -DCOHORT_${name}=ON)
  else()
    list(APPEND options -DCOHORT_${name}=OFF)
  endif()
endforeach()

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DCOHORT_BUILD_TESTS=OFF -DCOHORT_BUILD_EXAMPLES=OFF -DCOHORT_BUILD_TOOLS=OFF -DCOHORT_BUILD_BENCHMARKS=OFF
    -DCOHORT_CUDNN=OFF -DCOHORT_NCCL=OFF -DCOHORT_C=OFF -DCOHORT_PYTHON_MODULE=OFF ${options})
vcpkg_cmake_install()
# CMake files stay in share/cmake/cohort, because find_package also searches there.
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
