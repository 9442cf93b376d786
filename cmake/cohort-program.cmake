# SPDX-License-Identifier: Apache-2.0
# Functions for programs that declare the components that they need. The build includes this file. It is also
# installed, for copies of examples/.

# cohort_rules(<file> <prefix>): reads the rules in a source's first ten lines into variables:
#   // needs: onednn zlib     <prefix>_needs    required components; without them the source is not built
#   // uses: xtensor          <prefix>_uses     components that are linked if available
#   # tools: clang++          <prefix>_tools    programs without which a test in Python is not added; cohort:
#                                             the program in tools/cohort
#   // flags: -ffast-math     <prefix>_flags    additional compile flags
#   // parts: error tensor    <prefix>_parts    parts of the core's implementation to compile with these
#                                             flags, instead of linking the implementation
#   // label: slow            <prefix>_label    a test's labels: slow (not built by asan and tsan),
#                                             long (only in the preset full), gpu (skipped without a GPU)
#   // ranks: 1 2 4           <prefix>_ranks    runs the test under mpirun, once per number of ranks; a test
#                                             in Python starts that many ranks itself
#   // suites: gradients      <prefix>_suites   test suites that the source does not register by TEST
#   // alone: a reason        <prefix>_alone    the test is compiled as a separate program; a test in Python
#                                             runs while no other test does
function(cohort_rules file prefix)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(STRINGS "${file}" lines LIMIT_COUNT 10)
  foreach(rule IN ITEMS needs uses tools flags parts suites label ranks alone)
    set(values)
    foreach(line IN LISTS lines)
      if(line MATCHES "^(//|#) ${rule}: *([A-Za-z0-9_=,.+/ -]+)$")
        string(REPLACE " " ";" values "${CMAKE_MATCH_2}")
      endif()
    endforeach()
    set(${prefix}_${rule} ${values} PARENT_SCOPE)
  endforeach()
endfunction()

# cohort_available(<result> <component>...): sets <result> to ON if all these components are available.
function(cohort_available result)
  set(${result} ON PARENT_SCOPE)
  foreach(component IN LISTS ARGN)
    if(NOT TARGET cohort::${component})
      set(${result} OFF PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# cohort_link(<target> <scope> <component>...): links those of the components that are available.
function(cohort_link target scope)
  foreach(component IN LISTS ARGN)
    if(TARGET cohort::${component})
      target_link_libraries(${target} ${scope} cohort::${component})
    endif()
  endforeach()
endfunction()

# cohort_program(<target> <source> [COMPONENTS <component>...] [LINK <library>...]):
# Adds an executable of this project if all components that the source needs are available. In addition to the
# components of the source's rules, links the given COMPONENTS and those in the variable
# cohort_program_components.
function(cohort_program target source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "COMPONENTS;LINK")
  cmake_path(ABSOLUTE_PATH source)
  cohort_rules("${source}" rule)
  cohort_available(available ${rule_needs})
  if(NOT available)
    list(JOIN rule_needs ", " needs)
    message(STATUS "${target}: not built, it needs the components ${needs}")
    return()
  endif()
  add_executable(${target} "${source}")
  target_compile_options(${target} PRIVATE ${rule_flags})
  if(rule_parts)
    set(folder "${PROJECT_SOURCE_DIR}/include")
    target_include_directories(${target} PRIVATE "${folder}")
    target_compile_features(${target} PRIVATE cxx_std_20)
    foreach(part IN LISTS rule_parts)
      string(REGEX REPLACE "^([a-z]+)$" "\\1/\\1" part "${part}")
      string(REPLACE "/" "/impl/" part "${part}")
      target_sources(${target} PRIVATE "${folder}/cohort/${part}.cpp")
    endforeach()
  else()
    cohort_link(${target} PRIVATE core ${cohort_program_components} ${rule_needs} ${rule_uses} ${arg_COMPONENTS})
  endif()
  target_link_libraries(${target} PRIVATE ${arg_LINK})
endfunction()
