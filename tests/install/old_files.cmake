# SPDX-License-Identifier: Apache-2.0
# cmake -P old_files.cmake BUILD SOURCE FOLDER OPTION...: checks an installation prefix that contains more or
# fewer files than this version installs, and whose path has brackets. OPTIONs configure consumers.
set(build "${CMAKE_ARGV3}")
set(source "${CMAKE_ARGV4}")
set(folder "${CMAKE_ARGV5}")
set(options)
foreach(index RANGE 6 ${CMAKE_ARGC})
  if(NOT "${CMAKE_ARGV${index}}" STREQUAL "")
    list(APPEND options "${CMAKE_ARGV${index}}")
  endif()
endforeach()
set(prefix "${folder}/prefix [1]")
set(consumer "${folder}/consumer")
file(REMOVE_RECURSE "${folder}")
list(APPEND options "-DCMAKE_PREFIX_PATH=${prefix}")

# configure(<result> <project> <option>...): the output of configuring a consumer anew.
function(configure result project)
  execute_process(COMMAND "${CMAKE_COMMAND}" --fresh -S "${source}/tests/install/${project}" -B "${consumer}" ${options} ${ARGN}
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

function(expect what text pattern)
  if(NOT text MATCHES "${pattern}")
    message(SEND_ERROR "${what}: expected ${pattern}, got ${text}")
  endif()
endfunction()

execute_process(COMMAND "${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(WRITE "${prefix}/include/cohort/plan/impl/removed.cpp" "#error removed by this version\n")
file(WRITE "${prefix}/include/cohort/removed/impl/removed.cpp" "#error removed by this version\n")
configure(output refused -DWANTED=core)
expect("a prefix with old files" "${output}" "accepted")
file(READ "${consumer}/parts.txt" parts)
expect("the parts of the prefix" "${parts}" "/cohort/plan/impl/plan.cpp")
if(parts MATCHES "removed")
  message(SEND_ERROR "the implementation contains a part that this version does not have: ${parts}")
endif()

file(REMOVE "${prefix}/include/cohort/plan/impl/plan.cpp")
configure(output refused -DWANTED=core)
expect("a prefix without one of its files" "${output}"
  "an installed file is missing, so cohort::core cannot be compiled: expected .*/cohort/plan/impl/plan.cpp; install cohort again")

# The same version is installed again, without a component.
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${source}" -B "${folder}/without" ${options} -DCOHORT_BUILD_TESTS=OFF
    -DCOHORT_BUILD_EXAMPLES=OFF -DCOHORT_BUILD_TOOLS=OFF -DCOHORT_BUILD_BENCHMARKS=OFF -DCOHORT_XTENSOR=OFF
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(TOUCH "${prefix}/share/cmake/cohort/cohort-xtensor-targets.cmake")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${folder}/without" --prefix "${prefix}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
configure(output refused -DWANTED=core)
expect("a prefix that was completed" "${output}" "accepted")
configure(output refused -DWANTED=xtensor)
expect("a component of an older version" "${output}" "cohort was installed without its component 'xtensor'")
