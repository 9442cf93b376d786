# SPDX-License-Identifier: Apache-2.0
# Both the build and the installed package include this file, so that they search for the same packages and
# print the same messages.

# The folder in which cmake/setup.sh stores packages that the distribution does not have.
if("$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(cohort_cache "$ENV{HOME}/.cache/cohort")
else()
  set(cohort_cache "$ENV{XDG_CACHE_HOME}/cohort")
endif()

# cohort_dependency(<target> [LINK_ONLY] [DEFINES <macro>] GET <what it is and how to get it> FIND <arguments
# of find_package>...)
# Appends <target> to cohort_link if the package is found, otherwise appends the GET text to cohort_missing.
# LINK_ONLY: users of the component do not get the target's compile flags.
# DEFINES: the package is optional. Appends the target to cohort_optional_link and the macro, with which the
# component's implementation is compiled, to cohort_optional_macros if the package is found.
function(cohort_dependency target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LINK_ONLY" "DEFINES;GET" "FIND")
  list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  find_package(${arg_FIND} QUIET)
  list(GET arg_FIND 0 package)
  if(arg_DEFINES)
    if(TARGET ${target} AND ${package}_FOUND)
      set(cohort_optional_link ${cohort_optional_link} ${target} PARENT_SCOPE)
      set(cohort_optional_macros ${cohort_optional_macros} ${arg_DEFINES} PARENT_SCOPE)
    endif()
    return()
  endif()
  if(NOT TARGET ${target})
    if(${package}_CONSIDERED_VERSIONS)
      list(JOIN ${package}_CONSIDERED_VERSIONS ", " found)
      string(APPEND arg_GET ", found only ${found}")
    elseif(${package}_VERSION)
      string(APPEND arg_GET ", found only ${${package}_VERSION}")
    endif()
    set(cohort_missing ${cohort_missing} "${arg_GET}" PARENT_SCOPE)
    return()
  endif()
  if(arg_LINK_ONLY)
    set(target "$<LINK_ONLY:${target}>")
  endif()
  set(cohort_link ${cohort_link} ${target} PARENT_SCOPE)
endfunction()

# cohort_link_optional(<component> <target>): links the optional packages that cohort_dependency found. Each
# machine searches for them again, so they are no part of the exported target.
function(cohort_link_optional name target)
  foreach(library IN LISTS cohort_optional_link)
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES "$<BUILD_INTERFACE:${library}>")
  endforeach()
  set(compiles "$<IN_LIST:${name},$<TARGET_PROPERTY:COHORT_COMPILES>>")
  foreach(macro IN LISTS cohort_optional_macros)
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS
      "$<BUILD_INTERFACE:$<${compiles}:${macro}>>")
  endforeach()
endfunction()
