# SPDX-License-Identifier: Apache-2.0
# The flags and reports of the reference networks, compiled once for their programs.
add_library(reference_program STATIC)
target_sources(reference_program PRIVATE "${CMAKE_CURRENT_LIST_DIR}/options.cpp" "${CMAKE_CURRENT_LIST_DIR}/program.cpp")
target_include_directories(reference_program PUBLIC "${CMAKE_CURRENT_LIST_DIR}/..")
cohort_link(reference_program PUBLIC core configuration documents interchange monitoring records text onednn)
