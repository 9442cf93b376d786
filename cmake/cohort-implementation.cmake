# SPDX-License-Identifier: Apache-2.0
# The implementation of the components. Both the build and the installed package include this file. The
# package compiles the sources in the consumer's build tree with the consumer's flags.

# cohort_add_implementation(<name> <target> <include directory> <part>...)
# <target> is the interface library of the component <name>. All executables and shared libraries that link
# <target> also link one static library, which is compiled from the parts (paths relative to the include
# directory). The parts are compiled only if one of these targets is built. A static library that links
# <target> does not link the parts; the program that links the static library does.
#
# If the flags of a target change the ABI or numbers (-march, -ffast-math, sanitizers), the target must
# compile the components with these flags. It then lists them in the property COHORT_COMPILES:
#   set_target_properties(program PROPERTIES COHORT_COMPILES "core;onednn")
function(cohort_add_implementation name target include_directory)
  set(sources)
  foreach(part IN LISTS ARGN)
    if(NOT EXISTS "${include_directory}/${part}")
      message(FATAL_ERROR "cohort: an installed file is missing, so cohort::${name} cannot be compiled: "
        "expected ${include_directory}/${part}; install cohort again")
    endif()
    list(APPEND sources "${include_directory}/${part}")
  endforeach()
  if(NOT sources)  # headers alone
    return()
  endif()
  if(NOT TARGET cohort_${name}_implementation)
    add_library(cohort_${name}_implementation STATIC EXCLUDE_FROM_ALL)
    target_link_libraries(cohort_${name}_implementation PUBLIC cohort::${name})
    set_target_properties(cohort_${name}_implementation PROPERTIES
      COHORT_COMPILES ${name}
      POSITION_INDEPENDENT_CODE ON
      UNITY_BUILD OFF
      CXX_CLANG_TIDY ""
      CXX_CPPCHECK ""
      CXX_INCLUDE_WHAT_YOU_USE "")
    if(NOT PROJECT_NAME STREQUAL "cohort" OR NOT PROJECT_IS_TOP_LEVEL)
      # Users cannot fix warnings in these sources, and with -Werror the warnings would stop their build.
      target_compile_options(cohort_${name}_implementation PRIVATE -w)
    endif()
  endif()
  set(compiles "$<IN_LIST:${name},$<TARGET_PROPERTY:COHORT_COMPILES>>")
  set_property(TARGET ${target} APPEND PROPERTY INTERFACE_SOURCES "$<BUILD_INTERFACE:$<${compiles}:${sources}>>")
  set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES
    "$<BUILD_INTERFACE:$<$<NOT:${compiles}>:$<LINK_ONLY:cohort_${name}_implementation>>>")
endfunction()
