# SPDX-License-Identifier: Apache-2.0
# HDF5's C library without MPI: LibHdf5::LibHdf5. CMake's FindHDF5 compiles C, which a project with C++ only
# does not enable. Debian installs the headers in hdf5/serial and the library as libhdf5_serial.
find_path(LibHdf5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(LibHdf5_LIBRARY NAMES hdf5_serial hdf5)
mark_as_advanced(LibHdf5_INCLUDE_DIR LibHdf5_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibHdf5 REQUIRED_VARS LibHdf5_LIBRARY LibHdf5_INCLUDE_DIR)
if(LibHdf5_FOUND AND NOT TARGET LibHdf5::LibHdf5)
  add_library(LibHdf5::LibHdf5 UNKNOWN IMPORTED)
  set_target_properties(LibHdf5::LibHdf5 PROPERTIES
    IMPORTED_LOCATION "${LibHdf5_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${LibHdf5_INCLUDE_DIR}")
endif()
