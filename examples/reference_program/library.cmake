# SPDX-License-Identifier: Apache-2.0
# The library of flags, ranks, checkpoints and reports, compiled once for the programs of the reference
# networks and for the program cohort.
add_library(reference_program STATIC)
target_sources(reference_program PRIVATE "${CMAKE_CURRENT_LIST_DIR}/monitors.cpp" "${CMAKE_CURRENT_LIST_DIR}/options.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/program.cpp")
target_include_directories(reference_program PUBLIC "${CMAKE_CURRENT_LIST_DIR}/..")
cohort_link(reference_program PUBLIC core configuration interchange monitoring records text onednn cudnn mpi nccl tcp)
foreach(component IN ITEMS cudnn mpi nccl tcp)
  if(TARGET cohort::${component})
    string(TOUPPER ${component} name)
    target_compile_definitions(reference_program PRIVATE HAS_${name}=1)
  endif()
endforeach()
