# SPDX-License-Identifier: Apache-2.0
cohort_dependency(DNNL::dnnl
  GET "oneDNN >= 3.2 (libdnnl-dev on Debian 13, cmake/setup.sh of cohort on Debian 12, or its install prefix in CMAKE_PREFIX_PATH)"
  FIND dnnl 3.2 CONFIG PATHS "${cohort_cache}/onednn-3.2")
cohort_dependency(OpenMP::OpenMP_CXX LINK_ONLY
  GET "OpenMP for the C++ compiler (comes with g++; libomp-dev for clang++)"
  FIND OpenMP COMPONENTS CXX)
