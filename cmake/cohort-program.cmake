# SPDX-License-Identifier: Apache-2.0
# How programs say what they need: read by the build, and installed for copies of examples/.

# cohort_rules(<file> <prefix>): the rules that a source says about itself in its first ten lines, as variables:
#   // needs: onednn zlib     <prefix>_needs    components without which it is not built
#   // uses: xtensor          <prefix>_uses     components that it is linked with where they are on
#   // flags: -ffast-math     <prefix>_flags    flags that it is compiled with besides the others
#   // label: slow            <prefix>_label    a test's label
#   // ranks: 1 2 4           <prefix>_ranks    a test is run by mpirun, once with each number of ranks; in
#                                             Python: it starts as many itself
#   // mode: header-only      <prefix>_mode     the components' headers alone, without their compiled libraries; so are sources
#                                             with flags, since a compiled library has the flags of its own
#   // suites: gradients      <prefix>_suites   test suites that the source registers otherwise than by TEST
#   // alone: a reason        <prefix>_alone    a test is not compiled together with others
function(cohort_rules file prefix)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(STRINGS "${file}" lines LIMIT_COUNT 10)
  foreach(rule IN ITEMS needs uses flags mode suites label ranks alone)
    set(values)
    foreach(line IN LISTS lines)
      if(line MATCHES "^(//|#) ${rule}: *([A-Za-z0-9_=,. -]+)$")
        string(REPLACE " " ";" values "${CMAKE_MATCH_2}")
      endif()
    endforeach()
    set(${prefix}_${rule} ${values} PARENT_SCOPE)
  endforeach()
endfunction()

# cohort_available(<result> <component>...): whether all of them are on.
function(cohort_available result)
  set(${result} ON PARENT_SCOPE)
  foreach(component IN LISTS ARGN)
    if(NOT TARGET cohort::${component})
      set(${result} OFF PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# cohort_link(<target> <scope> [HEADER_ONLY] <component>...): links the components that are on, compiled where they have a
# compiled library, unless HEADER_ONLY is given.
function(cohort_link target scope)
  cmake_parse_arguments(PARSE_ARGV 2 arg "HEADER_ONLY" "" "")
  foreach(component IN LISTS arg_UNPARSED_ARGUMENTS)
    if(TARGET cohort::${component}_compiled AND NOT arg_HEADER_ONLY)
      target_link_libraries(${target} ${scope} cohort::${component}_compiled)
    elseif(TARGET cohort::${component})
      target_link_libraries(${target} ${scope} cohort::${component})
    endif()
  endforeach()
endfunction()

# cohort_program(<target> <source> [HEADER_ONLY] [COMPONENTS <component>...] [LINK <library>...]): an executable of this
# project, with these components beside those that its rules name, if the components that it needs are on.
function(cohort_program target source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "HEADER_ONLY" "" "COMPONENTS;LINK")
  cmake_path(ABSOLUTE_PATH source)
  cohort_rules("${source}" rule)
  cohort_available(available ${rule_needs})
  if(NOT available)
    message(STATUS "${target}: not built, it needs the components ${rule_needs}")
    return()
  endif()
  add_executable(${target} "${source}")
  target_compile_options(${target} PRIVATE ${rule_flags})
  set(header_only)
  if(arg_HEADER_ONLY OR rule_flags OR "header-only" IN_LIST rule_mode)
    set(header_only HEADER_ONLY)
  endif()
  cohort_link(${target} PRIVATE ${header_only} core ${rule_needs} ${rule_uses} ${arg_COMPONENTS})
  target_link_libraries(${target} PRIVATE ${arg_LINK})
endfunction()
