# SPDX-License-Identifier: Apache-2.0
cohort_dependency(LibHdf5::LibHdf5
  GET "HDF5's C library (libhdf5-dev on Debian and Ubuntu)"
  FIND LibHdf5)
