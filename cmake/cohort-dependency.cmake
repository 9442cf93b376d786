# SPDX-License-Identifier: Apache-2.0
# Both the build and the installed package include this file, so that they search for the same packages and
# print the same messages.

# The folder in which cmake/setup.sh stores packages that the distribution does not have.
if("$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(cohort_cache "$ENV{HOME}/.cache/cohort")
else()
  set(cohort_cache "$ENV{XDG_CACHE_HOME}/cohort")
endif()

# cohort_dependency(<target> [LINK_ONLY] GET <what it is and how to get it> FIND <arguments of
# find_package>...)
# Appends <target> to cohort_link if the package is found, otherwise appends the GET text to cohort_missing.
# LINK_ONLY: users of the component do not get the target's compile flags.
function(cohort_dependency target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LINK_ONLY" "GET" "FIND")
  list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  find_package(${arg_FIND} QUIET)
  if(NOT TARGET ${target})
    list(GET arg_FIND 0 package)
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
