# SPDX-License-Identifier: Apache-2.0
# Compiled targets. Both the build and the installed package include this file. The package compiles the
# sources in the consumer's build tree with the consumer's flags.

# cohort_compiled_component(<name> <include directory> <implementation file>...)
# Adds the static library cohort::<name>_compiled from the component's implementation files (impl/*.ipp),
# given relative to the include directory. Sources that use the library see declarations only; sources that
# use cohort::<name> alone compile the implementation files themselves. The library is built only if a target
# links it. The files are listed, not searched for, because a prefix may still contain files of an older
# version.
function(cohort_compiled_component name include_directory)
  # The files of a folder form one source, so that its headers are parsed once. Explicit instantiations are
  # separate sources, because they take long to compile.
  set(parts)
  foreach(file IN LISTS ARGN)
    if(NOT EXISTS "${include_directory}/${file}")
      message(FATAL_ERROR "cohort: an installed file is missing, so cohort::${name} cannot be compiled: "
        "expected ${include_directory}/${file}; install cohort again")
    endif()
    cmake_path(GET file PARENT_PATH folder)
    string(REGEX REPLACE "^cohort/(.*)/impl$" "\\1" part "${folder}")
    if(file MATCHES "/([a-z_]*(instantiations|host_kernels))\\.ipp$")
      string(APPEND part "_${CMAKE_MATCH_1}")
    endif()
    list(APPEND parts ${part})
    string(APPEND ${part}_text "#include <${file}>\n")
  endforeach()
  if(NOT parts OR TARGET cohort::${name}_compiled)
    return()
  endif()
  list(REMOVE_DUPLICATES parts)
  set(sources)
  foreach(part IN LISTS parts)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/cohort_compiled/${name}/${part}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "${${part}_text}" @ONLY)
    list(APPEND sources "${source}")
  endforeach()
  add_library(cohort_${name}_compiled STATIC EXCLUDE_FROM_ALL ${sources})
  add_library(cohort::${name}_compiled ALIAS cohort_${name}_compiled)
  string(TOUPPER "COHORT_${name}_COMPILED" definition)
  target_compile_definitions(cohort_${name}_compiled PUBLIC ${definition})
  target_link_libraries(cohort_${name}_compiled PUBLIC cohort::${name})
  if(NOT name STREQUAL "core")
    target_link_libraries(cohort_${name}_compiled PUBLIC cohort::core_compiled)
  endif()
  # A component that includes another component also links that component's compiled library.
  get_target_property(links cohort::${name} INTERFACE_LINK_LIBRARIES)
  foreach(link IN LISTS links)
    if(link MATCHES "^cohort::" AND TARGET ${link}_compiled)
      target_link_libraries(cohort_${name}_compiled PUBLIC ${link}_compiled)
    endif()
  endforeach()
  set_target_properties(cohort_${name}_compiled PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    UNITY_BUILD OFF
    CXX_CLANG_TIDY ""
    CXX_CPPCHECK ""
    CXX_INCLUDE_WHAT_YOU_USE "")
  if(NOT PROJECT_NAME STREQUAL "cohort" OR NOT PROJECT_IS_TOP_LEVEL)
    # Users cannot fix warnings in these sources, and with -Werror the warnings would stop their build.
    target_compile_options(cohort_${name}_compiled PRIVATE -w)
  endif()
endfunction()
