# SPDX-License-Identifier: Apache-2.0
# Compiles and runs programs with the flags of pkg-config:
#   cmake -P pkg_config.cmake PKG_CONFIG COMPILER PREFIX SOURCE FOLDER MODULE...
# The first module is compiled with a source of this folder, the others are linked by an empty program.
set(pkg_config "${CMAKE_ARGV3}")
set(compiler "${CMAKE_ARGV4}")
set(prefix "${CMAKE_ARGV5}")
set(source "${CMAKE_ARGV6}")
set(folder "${CMAKE_ARGV7}")
file(MAKE_DIRECTORY "${folder}")
file(WRITE "${folder}/empty.cpp" "int main() {}\n")
set(ENV{PKG_CONFIG_PATH} "${prefix}/share/pkgconfig:$ENV{PKG_CONFIG_PATH}")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE 8 ${last})
  set(module "${CMAKE_ARGV${index}}")
  execute_process(COMMAND "${pkg_config}" --cflags --libs "${module}" OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute_process(COMMAND "${compiler}" -std=c++20 "${source}" -o "${folder}/${module}" ${flags} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND "${folder}/${module}" COMMAND_ERROR_IS_FATAL ANY)
  set(source "${folder}/empty.cpp")
endforeach()
