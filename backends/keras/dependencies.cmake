# SPDX-License-Identifier: Apache-2.0
cohort_dependency(HDF5::HDF5
  GET "HDF5's C library (libhdf5-dev on Debian and Ubuntu)"
  FIND HDF5 COMPONENTS C)
