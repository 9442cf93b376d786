// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda.h>
#include <cohort/detail/build_check.hpp>

#include <string>

namespace cohort::detail {

/// The functions of the CUDA driver (libcuda) that the backend calls.
struct driver_functions {
  decltype(&::cuGetErrorName) error_name = nullptr;
  decltype(&::cuGetErrorString) error_text = nullptr;
  decltype(&::cuDriverGetVersion) version = nullptr;
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuDeviceGetCount) device_count = nullptr;
  decltype(&::cuDeviceGet) device = nullptr;
  decltype(&::cuDeviceGetName) device_name = nullptr;
  decltype(&::cuDeviceGetAttribute) device_attribute = nullptr;
  decltype(&::cuDeviceGetUuid_v2) device_identity = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) retain_context = nullptr;
  decltype(&::cuDevicePrimaryCtxRelease_v2) release_context = nullptr;
  decltype(&::cuCtxSetCurrent) set_context = nullptr;
  decltype(&::cuMemGetInfo_v2) memory = nullptr;
  decltype(&::cuModuleLoadData) load_module = nullptr;
  decltype(&::cuModuleUnload) unload_module = nullptr;
  decltype(&::cuModuleGetFunction) module_function = nullptr;
  decltype(&::cuLaunchKernel) launch = nullptr;
  decltype(&::cuMemAlloc_v2) allocate = nullptr;
  decltype(&::cuMemFree_v2) free = nullptr;
  decltype(&::cuMemHostAlloc) allocate_page_locked = nullptr;
  decltype(&::cuMemFreeHost) free_page_locked = nullptr;
  decltype(&::cuMemsetD8Async) set_bytes = nullptr;
  decltype(&::cuMemcpyHtoDAsync_v2) upload = nullptr;
  decltype(&::cuMemcpyDtoHAsync_v2) download = nullptr;
  decltype(&::cuMemcpyDtoDAsync_v2) copy = nullptr;
  decltype(&::cuStreamCreate) create_stream = nullptr;
  decltype(&::cuStreamCreateWithPriority) create_stream_with_priority = nullptr;
  decltype(&::cuCtxGetStreamPriorityRange) stream_priorities = nullptr;
  decltype(&::cuStreamDestroy_v2) destroy_stream = nullptr;
  decltype(&::cuStreamQuery) query = nullptr;
  decltype(&::cuStreamWaitEvent) wait_for_event = nullptr;
  decltype(&::cuStreamBeginCapture_v2) begin_capture = nullptr;
  decltype(&::cuStreamEndCapture) end_capture = nullptr;
  decltype(&::cuGraphInstantiateWithFlags) make_executable = nullptr;
  decltype(&::cuGraphDestroy) destroy_graph = nullptr;
  decltype(&::cuGraphLaunch) launch_graph = nullptr;
  decltype(&::cuGraphExecDestroy) destroy_executable = nullptr;
  decltype(&::cuEventCreate) create_event = nullptr;
  decltype(&::cuEventDestroy_v2) destroy_event = nullptr;
  decltype(&::cuEventRecord) record = nullptr;
  decltype(&::cuEventQuery) query_event = nullptr;

  template <class Visit>
  void each(Visit visit) {
    visit("cuGetErrorName", error_name);
    visit("cuGetErrorString", error_text);
    visit("cuDriverGetVersion", version);
    visit("cuInit", init);
    visit("cuDeviceGetCount", device_count);
    visit("cuDeviceGet", device);
    visit("cuDeviceGetName", device_name);
    visit("cuDeviceGetAttribute", device_attribute);
    visit("cuDeviceGetUuid_v2", device_identity);
    visit("cuDevicePrimaryCtxRetain", retain_context);
    visit("cuDevicePrimaryCtxRelease_v2", release_context);
    visit("cuCtxSetCurrent", set_context);
    visit("cuMemGetInfo_v2", memory);
    visit("cuModuleLoadData", load_module);
    visit("cuModuleUnload", unload_module);
    visit("cuModuleGetFunction", module_function);
    visit("cuLaunchKernel", launch);
    visit("cuMemAlloc_v2", allocate);
    visit("cuMemFree_v2", free);
    visit("cuMemHostAlloc", allocate_page_locked);
    visit("cuMemFreeHost", free_page_locked);
    visit("cuMemsetD8Async", set_bytes);
    visit("cuMemcpyHtoDAsync_v2", upload);
    visit("cuMemcpyDtoHAsync_v2", download);
    visit("cuMemcpyDtoDAsync_v2", copy);
    visit("cuStreamCreate", create_stream);
    visit("cuStreamCreateWithPriority", create_stream_with_priority);
    visit("cuCtxGetStreamPriorityRange", stream_priorities);
    visit("cuStreamDestroy_v2", destroy_stream);
    visit("cuStreamQuery", query);
    visit("cuStreamWaitEvent", wait_for_event);
    visit("cuStreamBeginCapture_v2", begin_capture);
    visit("cuStreamEndCapture", end_capture);
    visit("cuGraphInstantiateWithFlags", make_executable);
    visit("cuGraphDestroy", destroy_graph);
    visit("cuGraphLaunch", launch_graph);
    visit("cuGraphExecDestroy", destroy_executable);
    visit("cuEventCreate", create_event);
    visit("cuEventDestroy_v2", destroy_event);
    visit("cuEventRecord", record);
    visit("cuEventQuery", query_event);
  }

  /// Throws backend_error if a call has failed: "<doing> failed (CUDA_ERROR_…: the driver's description)", or
  /// "<doing> failed (<gpu>): CUDA_ERROR_…: …" if the GPU is known.
  void check(CUresult status, char const* doing, std::string const& gpu = {}) const;
};

}  // namespace cohort::detail
