# SPDX-License-Identifier: Apache-2.0
# pkg-config files of the components, and Debian packages by CPack: the target deb of the preset packages.
include("${CMAKE_CURRENT_LIST_DIR}/debian.cmake")

# cohort_pkgconfig(<component> [REQUIRES <module>...] [CFLAGS <flag>...] [LIBS <flag>...]
#   [DIRECTORY <folder>]): installs cohort-<component>.pc (cohort.pc for core). If the flags contain paths of
# third-party libraries on this machine, Debian packages omit the file. The variable `sources` lists the parts
# of the component's implementation.
function(cohort_pkgconfig component)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DIRECTORY" "REQUIRES;CFLAGS;LIBS")
  if(NOT TARGET cohort::${component})
    return()
  endif()
  if(NOT arg_DIRECTORY)
    set(arg_DIRECTORY "${CMAKE_INSTALL_DATADIR}/pkgconfig")
  endif()
  set(name cohort-${component})
  string(REPLACE "_" "-" name "${name}")
  if(component STREQUAL "core")
    set(name cohort)
  elseif(NOT component STREQUAL "c")
    list(PREPEND arg_REQUIRES "cohort = ${PROJECT_VERSION}")
  endif()
  # The prefix is relative, so an installed folder may be moved.
  cmake_path(ABSOLUTE_PATH arg_DIRECTORY BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE directory)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${directory}" OUTPUT_VARIABLE prefix)
  list(JOIN arg_REQUIRES ", " requires)
  list(JOIN arg_CFLAGS " " cflags)
  list(JOIN arg_LIBS " " libs)
  get_property(parts GLOBAL PROPERTY cohort_${component}_parts)
  list(TRANSFORM parts PREPEND "\${includedir}/")
  list(JOIN parts " " sources)
  set(libdir)  # only of the C library: the folder depends on the architecture
  if(component STREQUAL "c")
    set(libdir "libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}\n")
  endif()
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc")
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT "prefix=\${pcfiledir}/@prefix@
includedir=\${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
@libdir@sources=@sources@

Name: @name@
Description: ${cohort_${component}_summary}
Version: @PROJECT_VERSION@
Requires: @requires@
Cflags: -I\${includedir} @cflags@
Libs: @libs@
")
  set(installed_with ${component})
  if("${cflags} ${libs}" MATCHES "-[IL]/")
    set(installed_with ${component}_here)
  elseif(component STREQUAL "c")
    set(installed_with c c_development)
  endif()
  foreach(with IN LISTS installed_with)
    set(excluded)
    if(component STREQUAL "c")
      set(excluded EXCLUDE_FROM_ALL)
    endif()
    install(FILES "${file}" DESTINATION "${arg_DIRECTORY}" COMPONENT ${with} ${excluded})
  endforeach()
endfunction()

# cohort_include_flag(<result> <target>): the flag for a library's include folder, unless compilers search it.
function(cohort_include_flag result target)
  get_target_property(folder ${target} INTERFACE_INCLUDE_DIRECTORIES)
  set(${result} PARENT_SCOPE)
  if(folder AND NOT folder MATCHES "^/usr/(local/)?include(/|$)")
    set(${result} "-I${folder}" PARENT_SCOPE)
  endif()
endfunction()

set(cohort_core_summary "Distributed training of neural networks")
set(cohort_c_summary "Prediction with models of Cohort from C")
set(cohort_cudnn_summary "Backend of Cohort for NVIDIA GPUs")
set(cohort_image_summary "JPEG and PNG data sets for Cohort")
set(cohort_keras_summary "Import of Keras models and HDF5 rows for Cohort")
set(cohort_mpi_summary "Ranks as MPI processes for Cohort")
set(cohort_nccl_summary "Sums between NVIDIA GPUs for Cohort")
set(cohort_onednn_summary "CPU backend of Cohort by oneDNN")
set(cohort_tcp_summary "Ranks as processes that meet over TCP for Cohort")
set(cohort_xtensor_summary "Arrays of xtensor as data of Cohort")
set(cohort_yaml_summary "Run documents of Cohort in YAML")
set(cohort_zlib_summary "Compressed files, MNIST and .npz files for Cohort")

cohort_pkgconfig(core LIBS -pthread)
cohort_pkgconfig(keras)
cohort_pkgconfig(image REQUIRES libturbojpeg "libpng >= 1.6" libzip)
cohort_pkgconfig(tcp REQUIRES "openssl >= 3")
cohort_pkgconfig(xtensor REQUIRES "xtensor >= 0.24")
cohort_pkgconfig(yaml REQUIRES "yaml-cpp >= 0.7")
cohort_pkgconfig(zlib REQUIRES zlib)
cohort_pkgconfig(mpi REQUIRES ompi-cxx CFLAGS -DOMPI_SKIP_MPICXX LIBS -lboost_mpi -lboost_serialization)
set(cohort_onednn_is_packaged OFF)
if(TARGET cohort::onednn)
  cohort_include_flag(include DNNL::dnnl)
  set(libraries -ldnnl -fopenmp)
  if(include)
    get_target_property(library DNNL::dnnl IMPORTED_LOCATION_RELEASE)
    cmake_path(GET library PARENT_PATH folder)
    list(PREPEND libraries "-L${folder}" "-Wl,-rpath,${folder}")
  else()
    set(cohort_onednn_is_packaged ON)
  endif()
  cohort_pkgconfig(onednn CFLAGS ${include} LIBS ${libraries})
endif()
if(TARGET cohort::cudnn)
  cohort_include_flag(cuda CudaHeaders::CudaHeaders)
  cohort_include_flag(cudnn CudnnHeaders::CudnnHeaders)
  set(flags ${cuda} ${cudnn})
  list(REMOVE_DUPLICATES flags)
  cohort_pkgconfig(cudnn CFLAGS ${flags} LIBS -ldl)
endif()
if(TARGET cohort::nccl)
  cohort_include_flag(nccl NcclHeaders::NcclHeaders)
  cohort_pkgconfig(nccl REQUIRES "cohort-cudnn = ${PROJECT_VERSION}" CFLAGS ${nccl})
endif()
cohort_pkgconfig(c DIRECTORY "${CMAKE_INSTALL_LIBDIR}/pkgconfig" LIBS "-L\${libdir}" -lcohort_c)

if(PROJECT_IS_TOP_LEVEL)
  cohort_debian_packages()
endif()
