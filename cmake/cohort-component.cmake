# SPDX-License-Identifier: Apache-2.0
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include("${CMAKE_CURRENT_LIST_DIR}/cohort-dependency.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/cohort-implementation.cmake")

set(cohort_package_directory "${CMAKE_INSTALL_DATADIR}/cmake/cohort")

# cohort_component(<name> <directory> [DEPENDENCIES <file>] [REQUIRES <component>...]
#   [USES <component>...] [FOLDER | EXCEPT <folder>...] [OPTION])
# Adds the INTERFACE target cohort::<name> with the headers in <directory>/include, the component's
# implementation and a separate export set. With FOLDER, the component has only the headers in cohort/<name>,
# and is installed with core; with EXCEPT, it has all headers except those in the listed folders. The file of
# DEPENDENCIES lists the libraries that the component needs; the installed package also includes this file.
# REQUIRES lists components that were added earlier. USES lists components that are linked if they are
# available where <name> is used, and are not in the program's property COHORT_WITHOUT; the macro
# COHORT_WITH_<NAME> is 1 for each of them. With OPTION the component is optional: COHORT_<NAME> =
# AUTO (built if its dependencies are found), ON or OFF.
function(cohort_component name directory)
  cmake_parse_arguments(PARSE_ARGV 2 arg "OPTION;FOLDER" "DEPENDENCIES" "REQUIRES;USES;EXCEPT")
  set_property(GLOBAL APPEND PROPERTY cohort_known ${name})
  set_property(GLOBAL APPEND_STRING PROPERTY cohort_requirements "set(cohort_${name}_requires ${arg_REQUIRES})\n")

  set(wanted ON)
  if(arg_OPTION)
    string(TOUPPER "COHORT_${name}" option)
    set(${option} AUTO CACHE STRING "Build cohort::${name}: AUTO (if its dependencies are found), ON or OFF")
    set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
    set(wanted "${${option}}")
    if(NOT wanted MATCHES "^(AUTO|ON|OFF|TRUE|FALSE|1|0)$")
      message(FATAL_ERROR "cohort: ${option}: expected AUTO, ON or OFF, got '${wanted}'")
    endif()
    if(NOT wanted STREQUAL "AUTO" AND NOT wanted)
      message(STATUS "cohort::${name}: off (${option})")
      return()
    endif()
  endif()

  # If another project adds this project by add_subdirectory, it links these packages from other directories.
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
  set(cohort_link)
  set(cohort_missing)
  set(cohort_optional_link)
  set(cohort_optional_macros)
  foreach(required IN LISTS arg_REQUIRES)
    list(APPEND cohort_link cohort_${required})
    if(NOT TARGET cohort::${required})
      list(APPEND cohort_missing "the component ${required}")
    endif()
  endforeach()
  if(arg_DEPENDENCIES)
    include("${arg_DEPENDENCIES}")
  endif()
  if(cohort_missing)
    list(JOIN cohort_missing "; " reason)
    if(wanted STREQUAL "AUTO")
      message(STATUS "cohort::${name}: off, it needs ${reason}")
      return()
    endif()
    message(FATAL_ERROR "cohort::${name} needs ${reason}")
  endif()
  message(STATUS "cohort::${name}: on")
  set_property(GLOBAL APPEND PROPERTY cohort_built ${name})

  set(include_directory "${PROJECT_SOURCE_DIR}/${directory}/include")
  cmake_path(NORMAL_PATH include_directory)
  string(REPLACE "[" "[[]" include_pattern "${include_directory}")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${include_pattern}/cohort/*.hpp")
  file(GLOB_RECURSE fragments CONFIGURE_DEPENDS
    "${include_pattern}/cohort/*.cpp" "${include_pattern}/cohort/*.inc" "${include_pattern}/cohort/*.ipp"
    "${include_pattern}/cohort/*.tpp")
  file(GLOB_RECURSE parts CONFIGURE_DEPENDS "${include_pattern}/cohort/*/impl/*.cpp")
  foreach(files IN ITEMS headers fragments parts)
    if(arg_FOLDER)
      list(FILTER ${files} INCLUDE REGEX "/include/cohort/${name}/")
    endif()
    foreach(folder IN LISTS arg_EXCEPT)
      list(FILTER ${files} EXCLUDE REGEX "/include/cohort/${folder}/")
    endforeach()
  endforeach()
  set(implementation ${headers})
  list(FILTER headers EXCLUDE REGEX "/src[.]hpp$")
  list(FILTER implementation INCLUDE REGEX "/src[.]hpp$")
  add_library(cohort_${name} INTERFACE)
  add_library(cohort::${name} ALIAS cohort_${name})
  target_sources(cohort_${name} INTERFACE
    FILE_SET HEADERS BASE_DIRS "${include_directory}" FILES ${headers}
    FILE_SET implementation TYPE HEADERS BASE_DIRS "${include_directory}" FILES ${implementation} ${fragments})
  target_compile_features(cohort_${name} INTERFACE cxx_std_20)
  target_link_libraries(cohort_${name} INTERFACE ${cohort_link})
  cohort_link_optional(${name} cohort_${name})
  set_property(GLOBAL PROPERTY cohort_${name}_optional ${cohort_optional_macros})
  if(NOT name STREQUAL "core")
    target_link_libraries(cohort_${name} INTERFACE cohort_core)
  endif()
  foreach(used IN LISTS arg_USES)
    string(TOUPPER "COHORT_WITH_${used}" macro)
    set(uses "$<AND:$<TARGET_EXISTS:cohort::${used}>,$<NOT:$<IN_LIST:${used},$<TARGET_PROPERTY:COHORT_WITHOUT>>>>")
    target_link_libraries(cohort_${name} INTERFACE "$<${uses}:cohort::${used}>")
    target_compile_definitions(cohort_${name} INTERFACE "$<${uses}:${macro}=1>")
  endforeach()
  set_target_properties(cohort_${name} PROPERTIES
    EXPORT_NAME ${name}
    VERIFY_INTERFACE_HEADER_SETS ${COHORT_BUILD_TESTS}
    INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)

  list(TRANSFORM parts REPLACE "^.*/include/(cohort/)" "\\1")
  cohort_add_implementation(${name} cohort_${name} "${include_directory}" ${parts})
  set_property(GLOBAL PROPERTY cohort_${name}_parts ${parts})
  list(JOIN parts "\n  " cohort_parts)
  file(CONFIGURE OUTPUT cohort-${name}-parts.cmake CONTENT "# SPDX-License-Identifier: Apache-2.0
# The parts of the implementation of cohort::${name}. They are listed explicitly, because the prefix may still
# contain files of an older version.
set(cohort_parts
  @cohort_parts@)
" @ONLY)

  set(with ${name})
  if(arg_FOLDER)
    set(with core)
  endif()
  set_property(GLOBAL PROPERTY cohort_${name}_installed_with ${with})
  set_property(GLOBAL PROPERTY cohort_${name}_requires ${arg_REQUIRES})
  install(TARGETS cohort_${name} EXPORT cohort-${name}
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT ${with}
    FILE_SET implementation DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT ${with})
  install(EXPORT cohort-${name} NAMESPACE cohort::
    FILE cohort-${name}-targets.cmake DESTINATION "${cohort_package_directory}" COMPONENT ${with})
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/cohort-${name}-parts.cmake"
    DESTINATION "${cohort_package_directory}" COMPONENT ${with})
  if(arg_DEPENDENCIES)
    install(FILES "${arg_DEPENDENCIES}"
      RENAME cohort-${name}-dependencies.cmake DESTINATION "${cohort_package_directory}" COMPONENT ${with})
  endif()
endfunction()

# cohort_install_package(): installs the files for find_package(cohort). Call it after the last
# cohort_component.
function(cohort_install_package)
  get_property(cohort_known GLOBAL PROPERTY cohort_known)
  get_property(cohort_built GLOBAL PROPERTY cohort_built)
  get_property(cohort_requirements GLOBAL PROPERTY cohort_requirements)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/cohort-config.cmake.in" cohort-config.cmake
    INSTALL_DESTINATION "${cohort_package_directory}" NO_CHECK_REQUIRED_COMPONENTS_MACRO NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(cohort-config-version.cmake
    COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
  install(FILES
    "${CMAKE_CURRENT_BINARY_DIR}/cohort-config.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/cohort-config-version.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/cohort-dependency.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/cohort-implementation.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/cohort-program.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/FindCudaHeaders.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/FindCudnnHeaders.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/FindNcclHeaders.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/FindTurboJPEG.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/FindWebP.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/FindYamlCpp.cmake"
    DESTINATION "${cohort_package_directory}" COMPONENT core)
endfunction()
