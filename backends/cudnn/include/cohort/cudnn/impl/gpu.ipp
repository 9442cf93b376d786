// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/cudnn/detail/gpu.hpp>
#include <cstdlib>

namespace cohort::detail {

/// Returns a CUDA version as text: "12.4" for 12040.
std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

/// Returns a cuDNN version as text: "9.1.2" for 90102, "8.9.7" for 8907.
std::string cudnn_version_text(std::size_t version) {
  std::size_t const major = version < 90000 ? 1000 : 10000;
  return std::to_string(version / major) + '.' + std::to_string(version % major / 100) + '.'
         + std::to_string(version % 100);
}

gpu::gpu(library_source const& from) {
  open_driver(from);
  choose_device();
  driver_.check(driver_.retain_context(&context_, device_), "creating a context on the GPU");
  try {
    check_memory();
    open_libraries(from);
  } catch (...) {
    driver_.release_context(device_);
    throw;
  }
}

gpu::memory_bytes gpu::memory() const {
  use();
  memory_bytes now{};
  driver_.check(driver_.memory(&now.free, &now.total), "reading a GPU's free memory");
  return now;
}

std::byte* gpu::allocate_page_locked(std::size_t bytes) const {
  use();
  void* taken = nullptr;
  CUresult const status = driver_.allocate_page_locked(&taken, bytes, 0);
  if (status == CUDA_ERROR_OUT_OF_MEMORY)
    throw memory_error({.what = "the system has too little page-locked memory",
                        .where = name_,
                        .expected = {bytes, " bytes"}});
  driver_.check(status, "allocating page-locked memory");
  return static_cast<std::byte*>(taken);
}

void gpu::free_page_locked(std::byte* memory) const noexcept {
  make_current();
  driver_.free_page_locked(memory);
}

void gpu::require_tensor_cores(char const* of) const {
  require(least_capability_of_tf32_and_bf16, {"the GPU has no tensor cores for ", of});
}

void gpu::open_driver(library_source const& from) {
  std::string const names[]{"libcuda.so.1"};
  driver_ = load_functions<driver_functions>(from, "the NVIDIA driver", names);
  driver_.check(driver_.version(&cuda_), "reading the NVIDIA driver's version");
  if (cuda_ < oldest_cuda)
    throw backend_error({.what = "the NVIDIA driver is too old",
                         .expected = {"one for CUDA ", cuda_version_text(oldest_cuda), " or newer"},
                         .got = {"one for CUDA ", cuda_version_text(cuda_)}});
}

int gpu::rank_on_machine() {
  for (char const* const variable :
       {"COHORT_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
        "MV2_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID", "LOCAL_RANK", "SLURM_LOCALID"})
    if (char const* const text = std::getenv(variable)) return std::max(0, std::atoi(text));
  return 0;
}

void gpu::choose_device() {
  char const* const visible = std::getenv("CUDA_VISIBLE_DEVICES");  // an empty value hides all GPUs
  std::string hint;
  if (visible) hint = std::string("; CUDA_VISIBLE_DEVICES is ") + (*visible ? visible : "empty");
  CUresult const status = driver_.init(0);
  int count = 0;
  if (status != CUDA_ERROR_NO_DEVICE) {
    driver_.check(status, "starting the NVIDIA driver");
    driver_.check(driver_.device_count(&count), "counting the GPUs");
  }
  if (count == 0) throw backend_error({.what = {"the NVIDIA driver reports no GPU", hint}});
  int const number = rank_on_machine() % count;
  driver_.check(driver_.device(&device_, number), "selecting a GPU");
  char name[128] = {};
  driver_.check(driver_.device_name(name, sizeof name, device_), "reading a GPU's name");
  name_ = count == 1 ? name : text_of({name, ", number ", number, " of ", count});
  driver_.check(driver_.device_identity(&identity_, device_), "reading a GPU's UUID");
  capability_ = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
                + attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  require(least_capability, "the GPU is too old");
}

void gpu::require(int capability, clause const& what) const {
  if (capability_ < capability)
    throw backend_error({.what = what,
                         .where = name_,
                         .expected = {"compute capability ", capability_text(capability)},
                         .got = capability_text(capability_)});
}

void gpu::check_memory() const {
  auto const [free, total] = memory();
  if (free < least_free_bytes)
    throw backend_error({.what = "the GPU has too little free memory",
                         .where = name_,
                         .expected = {least_free_bytes >> 20, " MiB"},
                         .got = {free >> 20, " of ", total >> 20, " MiB"}});
}

void gpu::open_libraries(library_source const& from) {
  nvrtc_ = load_functions<nvrtc_functions>(from, "NVRTC", names_of("libnvrtc.so."));
  check_architecture();
  blas_ = load_functions<cublaslt_functions>(from, "cuBLASLt", names_of("libcublasLt.so."));
  std::string const names[]{"libcudnn.so.9"};
  dnn_ = load_functions<cudnn_functions>(from, "cuDNN 9", names);
  std::size_t const version = dnn_.version();
  if (version < oldest_cudnn)
    throw backend_error({.what = "cuDNN is too old",
                         .expected = {cudnn_version_text(oldest_cudnn), " or newer"},
                         .got = cudnn_version_text(version)});
  if (auto const made_for = static_cast<int>(dnn_.cuda_version()); made_for / 1000 > cuda_ / 1000)
    throw backend_error({.what = "the NVIDIA driver is too old for cuDNN",
                         .where = {"cuDNN ", cudnn_version_text(version)},
                         .expected = {"a driver for CUDA ", made_for / 1000, " or newer"},
                         .got = {"one for CUDA ", cuda_ / 1000}});
}

std::vector<std::string> gpu::names_of(std::string const& stem) const {
  std::vector<std::string> names;
  for (int major = std::min(cuda_ / 1000, newest_library); major >= oldest_cuda / 1000; --major)
    names.push_back(stem + std::to_string(major));
  return names;
}

void gpu::check_architecture() const {
  int count = 0;
  nvrtc_.architectures(&count);
  std::vector<int> known(static_cast<std::size_t>(count));
  nvrtc_.get_architectures(known.data());
  if (std::find(known.begin(), known.end(), capability_) != known.end()) return;
  int major = 0, minor = 0;
  nvrtc_.version(&major, &minor);
  throw backend_error({.what = "NVRTC does not support this GPU",
                       .where = name_,
                       .expected = {"compute capability ", capability_text(capability_)},
                       .got = {"NVRTC ", major, '.', minor}});
}

int gpu::attribute(CUdevice_attribute which) const {
  int value = 0;
  driver_.check(driver_.device_attribute(&value, which, device_), "reading a GPU's attribute");
  return value;
}

std::string gpu::capability_text(int capability) {
  return std::to_string(capability / 10) + '.' + std::to_string(capability % 10);
}

}  // namespace cohort::detail
