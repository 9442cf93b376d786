# SPDX-License-Identifier: Apache-2.0
# cmake -P fresh_prefix.cmake BUILD PREFIX: installs BUILD into PREFIX, which contains nothing else
# afterwards.
set(build "${CMAKE_ARGV3}")
set(prefix "${CMAKE_ARGV4}")
file(REMOVE_RECURSE "${prefix}")
execute_process(COMMAND ${CMAKE_COMMAND} --install "${build}" --prefix "${prefix}" COMMAND_ERROR_IS_FATAL ANY)
