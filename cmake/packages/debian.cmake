# SPDX-License-Identifier: Apache-2.0
# Debian packages: libcohort-dev (core), libcohort-<component>-dev, libcohort-c1 with libcohort-c-dev, and the
# program in cohort-tools.

# cohort_debian_package(<install component> <package> [ARCHITECTURE_DEPENDENT] SUMMARY <line> TEXT <text>
#   [DEPENDS <package>...] [RECOMMENDS <package>...]): one package for CPack.
function(cohort_debian_package component package)
  cmake_parse_arguments(PARSE_ARGV 2 arg "ARCHITECTURE_DEPENDENT" "SUMMARY;TEXT" "DEPENDS;RECOMMENDS")
  string(TOUPPER "${component}" key)
  list(JOIN arg_DEPENDS ", " depends)
  list(JOIN arg_RECOMMENDS ", " recommends)
  set(section libdevel)
  set(architecture all)
  if(arg_ARCHITECTURE_DEPENDENT)
    set(architecture)
    if(package MATCHES "^lib.*[0-9]$")
      set(section libs)
    elseif(NOT package MATCHES "-dev$")
      set(section science)
    endif()
  endif()
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_RECOMMENDS "${recommends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_ARCHITECTURE "${architecture}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${arg_SUMMARY}\n${arg_TEXT}" PARENT_SCOPE)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/packages/copyright" "${CMAKE_CURRENT_BINARY_DIR}/debian/changelog.gz"
    DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

# Sets CPack's variables and adds the target deb.
function(cohort_debian_packages)
  find_program(COHORT_GZIP gzip)
  find_program(COHORT_DPKG_DEB dpkg-deb)
  mark_as_advanced(COHORT_GZIP COHORT_DPKG_DEB)
  if(NOT COHORT_GZIP OR NOT COHORT_DPKG_DEB)
    return()
  endif()
  set(maintainer "Cohort maintainers <maintainers@cohort.invalid>")
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  set(changelog "${CMAKE_CURRENT_BINARY_DIR}/debian/changelog")
  file(WRITE "${changelog}" "cohort (${PROJECT_VERSION}) unstable; urgency=medium

  * Release ${PROJECT_VERSION}. CHANGELOG.md of the sources lists the changes.

 -- ${maintainer}  ${date}
")
  execute_process(COMMAND "${COHORT_GZIP}" -9nf "${changelog}" COMMAND_ERROR_IS_FATAL ANY)

  set(CPACK_COMPONENTS_ALL)
  set(about "Cohort is a C++20 library that trains neural networks on several processors,
hosts and GPUs. This package contains")
  set(core "libcohort-dev (= ${PROJECT_VERSION})")
  cohort_debian_package(core libcohort-dev SUMMARY "distributed training of neural networks (headers)"
    TEXT "${about} the headers of the core: networks,
optimizers, strategies, data and model files. Programs use it by CMake or
pkg-config.")
  set(onednn DEPENDS "${core}" "libdnnl-dev (>= 3.2)")
  if(NOT cohort_onednn_is_packaged)  # not in Debian 12, so the package could not be installed
    set(onednn DEPENDS "${core}" RECOMMENDS "libdnnl-dev (>= 3.2)")
  endif()
  set(onednn_text "the CPU backends by oneDNN.")
  set(cudnn DEPENDS "${core}" RECOMMENDS "cuda-toolkit-13 | cuda-toolkit-12 | nvidia-cuda-toolkit (>= 12)"
    "libcudnn9-dev-cuda-13 | libcudnn9-dev-cuda-12")
  set(cudnn_text "the backends for NVIDIA GPUs.
They are compiled with the headers of CUDA and cuDNN, whose libraries programs
load when they run.")
  set(documents DEPENDS "${core}" "libcohort-zlib-dev (= ${PROJECT_VERSION})"
    RECOMMENDS "libcohort-image-dev" "libcohort-keras-dev" "libcohort-onednn-dev" "libcohort-yaml-dev")
  set(documents_text "runs of documents: their data,
ranks, training and reports.")
  set(image DEPENDS "${core}" "libcohort-zlib-dev (= ${PROJECT_VERSION})" "libturbojpeg0-dev" "libpng-dev (>= 1.6)")
  get_property(macros GLOBAL PROPERTY cohort_image_optional)  # the pkg-config file requires these libraries
  if("COHORT_IMAGE_TIFF" IN_LIST macros)
    list(APPEND image "libtiff-dev (>= 4.5)")
  endif()
  if("COHORT_IMAGE_WEBP" IN_LIST macros)
    list(APPEND image "libwebp-dev")
  endif()
  set(image_text "data sets of images.")
  set(keras DEPENDS "${core}")
  set(keras_text "the import of Keras models,
and readers of HDF5 files.")
  set(mpi DEPENDS "${core}" "libboost-mpi-dev" "libopenmpi-dev" RECOMMENDS "openmpi-bin")
  set(mpi_text "ranks in processes under Open MPI.")
  set(nccl DEPENDS "${core}" "libcohort-cudnn-dev (= ${PROJECT_VERSION})" RECOMMENDS "libnccl-dev (>= 2.18)")
  set(nccl_text "sums of gradients between GPUs.")
  set(tcp DEPENDS "${core}" "libssl-dev (>= 3)")
  set(tcp_text "ranks in processes that meet
at one address, encrypted by TLS.")
  set(xtensor DEPENDS "${core}" "libxtensor-dev (>= 0.24)")
  set(xtensor_text "the use of xtensor's arrays.")
  set(yaml DEPENDS "${core}" "libyaml-cpp-dev (>= 0.7)")
  set(yaml_text "run documents in YAML.")
  set(zlib DEPENDS "${core}" "zlib1g-dev")
  set(zlib_text "readers of compressed files,
of MNIST and of NumPy's .npz files.")
  foreach(component IN ITEMS cudnn documents image keras mpi nccl onednn tcp xtensor yaml zlib)
    if(TARGET cohort::${component})
      cohort_debian_package(${component} libcohort-${component}-dev
        SUMMARY "distributed training of neural networks (${component})" TEXT "${about} ${${component}_text}" ${${component}})
    endif()
  endforeach()
  set(debian "${CMAKE_CURRENT_BINARY_DIR}/debian")
  # CPack reads this file when it runs. dpkg-shlibdeps needs a control file in the folder debian/.
  file(WRITE "${debian}/control" "Source: cohort\n\nPackage: cohort\nArchitecture: any\n")
  set(dependencies "find_program(shlibdeps dpkg-shlibdeps)
if(NOT shlibdeps)
  message(FATAL_ERROR \"The packages of the C library and of the program need dpkg-shlibdeps, which is missing: run bash cmake/setup.sh --packages, or apt-get install dpkg-dev\")
endif()
function(cohort_package_depends field)
  execute_process(COMMAND \"\${shlibdeps}\" -O --ignore-missing-info \${ARGN} WORKING_DIRECTORY \"${CMAKE_CURRENT_BINARY_DIR}\"
    OUTPUT_VARIABLE depends OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE \"shlibs:Depends=\" \"\" depends \"\${depends}\")
  set(CPACK_DEBIAN_\${field} \"\${depends}\" PARENT_SCOPE)
endfunction()
")
  set(built)
  set(CPACK_PROJECT_CONFIG_FILE "${debian}/dependencies.cmake")
  if(COHORT_BUILD_TOOLS AND TARGET cohort::documents)
    set(private)
    if(TARGET cohort::onednn AND NOT cohort_onednn_is_packaged)
      get_target_property(onednn DNNL::dnnl IMPORTED_LOCATION_RELEASE)
      cmake_path(GET onednn PARENT_PATH folder)
      set(private "-l${folder} \"${onednn}\"")
    endif()
    list(APPEND built cohort_packaged)
    string(APPEND dependencies
      "cohort_package_depends(PROGRAM_PACKAGE_DEPENDS \"$<TARGET_FILE:cohort_packaged>\" ${private})\n")
    if(TARGET cohort::mpi)
      list(APPEND built cohort_packaged_with_mpi)
      string(APPEND dependencies
        "cohort_package_depends(PROGRAM_PACKAGE_RECOMMENDS \"$<TARGET_FILE:cohort_packaged_with_mpi>\" ${private})
string(REPLACE \", \" \";\" depends \"\${CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS}\")
string(REPLACE \", \" \";\" recommends \"\${CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS}\")
list(REMOVE_ITEM recommends \${depends})
list(JOIN recommends \", \" CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS)
string(APPEND CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS \", openmpi-bin\")
")
    endif()
    set(manual "${CMAKE_CURRENT_BINARY_DIR}/debian/cohort.1.gz")
    execute_process(COMMAND "${COHORT_GZIP}" -9nc "${PROJECT_SOURCE_DIR}/cmake/packages/cohort.1"
      OUTPUT_FILE "${manual}" COMMAND_ERROR_IS_FATAL ANY)
    install(FILES "${manual}" DESTINATION share/man/man1 COMPONENT program EXCLUDE_FROM_ALL)
    cohort_debian_package(program cohort-tools ARCHITECTURE_DEPENDENT
      SUMMARY "training of neural networks without C++" TEXT "${about} the program cohort, which trains and
applies the networks that documents describe.")
  endif()
  # A library that is linked with a oneDNN outside the system's folders cannot be used on other machines.
  set(library)
  if(TARGET cohort::c AND cohort_onednn_is_packaged)
    set(library cohort_c)
    list(APPEND built cohort_c)
    get_target_property(abi cohort_c SOVERSION)
    # CPack's own rules for libraries are not used, because they call ldconfig in scripts instead of by a
    # trigger.
    file(WRITE "${debian}/triggers" "activate-noawait ldconfig\n")
    file(WRITE "${debian}/shlibs" "libcohort_c ${abi} libcohort-c${abi} (>= ${PROJECT_VERSION})\n")
    set(CPACK_DEBIAN_C_LIBRARY_PACKAGE_CONTROL_EXTRA "${debian}/shlibs" "${debian}/triggers")
    string(APPEND dependencies "cohort_package_depends(C_LIBRARY_PACKAGE_DEPENDS \"$<TARGET_FILE:cohort_c>\")\n")
    cohort_debian_package(c_library libcohort-c${abi} ARCHITECTURE_DEPENDENT
      SUMMARY "prediction with models of Cohort (C library)" TEXT "${about} the C library, which opens model
files and predicts.")
    cohort_debian_package(c_development libcohort-c-dev ARCHITECTURE_DEPENDENT
      SUMMARY "prediction with models of Cohort (C header)" TEXT "${about} the header of the C library."
      DEPENDS "libcohort-c${abi} (= ${PROJECT_VERSION})")
  endif()

  file(GENERATE OUTPUT "${debian}/dependencies.cmake" CONTENT "${dependencies}")

  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME cohort)
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # otherwise CPack puts it before the packages' summaries
  set(CPACK_PACKAGE_CONTACT "${maintainer}")
  set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
  set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_VERBATIM_VARIABLES ON)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SOURCE cohort)
  set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  include(CPack)
  add_custom_target(deb
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${CPACK_PACKAGE_DIRECTORY}"
    COMMAND "${CMAKE_CPACK_COMMAND}" -G DEB --config "${PROJECT_BINARY_DIR}/CPackConfig.cmake"
    USES_TERMINAL)
  if(built)
    add_dependencies(deb ${built})
  endif()
endfunction()
