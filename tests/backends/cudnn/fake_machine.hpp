// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/cudnn/gpu.hpp>
#include <cohort/cudnn/kernels.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "fake_blas.hpp"
#include "fake_dnn.hpp"
#include "kernel_on_host.hpp"

namespace cohort {

/// A queue of work: done when it is put in, but for what other libraries put in.
struct fake_stream {
  std::atomic<int> work = 0;                                // that was put in, by any thread
  std::map<fake_stream const*, int> waits_for{};            // of others' work
  std::shared_ptr<std::atomic<bool> const> last = nullptr;  // whether that of others is done
};
/// How far a stream was.
struct fake_event {
  fake_stream const* of = nullptr;
  int work = 0;
  std::shared_ptr<std::atomic<bool> const> last = nullptr;
};

/// A machine with a GPU that a test describes: a driver and libraries whose functions answer what stands here. Its memory is
/// this process's, and a kernel that is launched runs here, at once, by its body.
///
/// Order     one at a time: functions of the driver have no argument that would tell machines apart. What needs the GPU's context
///           on the calling thread fails without it.
struct fake_machine {
  static inline std::mutex working;  // for kernels, and for memory: a team's workers share the machine
  std::set<std::string> libraries{"libcuda.so.1", "libnvrtc.so.13", "libcublasLt.so.13", "libcudnn.so.9"};
  std::set<std::string> missing_functions{};
  int driver_version = 13000;
  CUresult init = CUDA_SUCCESS;
  CUresult retain = CUDA_SUCCESS;
  CUresult work = CUDA_SUCCESS;  // what a stream that is asked says
  int gpus = 1;
  bool one_gpu = false;  // for whoever asks; else each gets another
  int major = 9, minor = 0;
  std::size_t free_bytes = std::size_t{70} << 30, total_bytes = std::size_t{80} << 30;
  std::vector<int> architectures{75, 80, 86, 89, 90, 100, 120};
  std::size_t cudnn_version = 91900;
  std::size_t cudnn_cuda_version = 13000;

  nvrtcResult compile = NVRTC_SUCCESS;
  std::string compiler_log = "line 1: so it is";

  std::vector<std::string> opened{};        // in this order
  std::atomic<int> contexts = 0;            // that are held
  std::set<void*> memory{};                 // of the GPU, that is taken
  std::size_t room = std::size_t{1} << 30;  // of one piece
  std::atomic<int> identities = 0;          // that were told
  std::atomic<int> streams = 0;             // that are made
  std::atomic<int> events = 0;              // that are made
  std::atomic<int> modules = 0;             // that are loaded
  std::vector<std::string> compiled{};      // the options of each time
  std::vector<unsigned> blocks{};           // of each launch
  std::atomic<std::size_t> crossed = 0;     // bytes between the processor and the GPU

  fake_machine() {
    now = this;
    current = nullptr;
    describe_driver();
    describe_libraries();
  }
  fake_machine(fake_machine const&) = delete;
  fake_machine& operator=(fake_machine const&) = delete;
  ~fake_machine() { now = nullptr; }

  detail::library_source source() {
    return {.open = [this](std::string const& name, std::string& why) -> void* {
              auto const found = libraries.find(name);
              if (found == libraries.end()) {
                why = name + ": no such file";
                return nullptr;
              }
              opened.push_back(name);
              return const_cast<std::string*>(&*found);
            },
            .find = [this](void*, char const* symbol) -> void* {
              if (missing_functions.contains(symbol)) return nullptr;
              void* found = nullptr;
              auto const look = [&](char const* name, auto function) {
                if (std::strcmp(name, symbol) == 0) found = reinterpret_cast<void*>(function);
              };
              driver.each(look);
              nvrtc.each(look);
              blas.each(look);
              dnn.each(look);
              return found;
            }};
  }

  detail::driver_functions driver{};
  detail::nvrtc_functions nvrtc{};
  detail::cublaslt_functions blas{};
  detail::cudnn_functions dnn{};

 private:
  static inline fake_machine* now = nullptr;
  static inline thread_local CUcontext current = nullptr;
  static bool in_context() { return now && current == reinterpret_cast<CUcontext>(now); }

  /// What no test calls, but every library must have.
  template <class Functions>
  static void fill(Functions& functions) {
    functions.each([](char const*, auto& function) {
      if (!function)
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(+[] { std::abort(); });
    });
  }

  void describe_driver() {
    driver.error_name = [](CUresult status, char const** text) {
      *text = status == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OTHER";
      return CUDA_SUCCESS;
    };
    driver.error_text = [](CUresult, char const** text) {
      *text = "so it is";
      return CUDA_SUCCESS;
    };
    driver.version = [](int* version) {
      *version = now->driver_version;
      return CUDA_SUCCESS;
    };
    driver.init = [](unsigned) { return now->init; };
    driver.device_count = [](int* count) {
      *count = now->gpus;
      return CUDA_SUCCESS;
    };
    driver.device = [](CUdevice* device, int number) {
      *device = number;
      return number < now->gpus ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    };
    driver.device_name = [](char* name, int bytes, CUdevice) {
      std::strncpy(name, "Pretended GPU", static_cast<std::size_t>(bytes));
      return CUDA_SUCCESS;
    };
    driver.device_identity = [](CUuuid* identity, CUdevice) {
      *identity = {};
      identity->bytes[0] = static_cast<char>(now->one_gpu ? 0 : ++now->identities);
      return CUDA_SUCCESS;
    };
    driver.device_attribute = [](int* value, CUdevice_attribute which, CUdevice) {
      *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? now->major : now->minor;
      return CUDA_SUCCESS;
    };
    driver.retain_context = [](CUcontext* context, CUdevice) {
      if (now->retain == CUDA_SUCCESS) ++now->contexts;
      *context = reinterpret_cast<CUcontext>(now);
      return now->retain;
    };
    driver.release_context = [](CUdevice) {
      --now->contexts;
      return CUDA_SUCCESS;
    };
    driver.set_context = [](CUcontext context) {
      current = context;
      return CUDA_SUCCESS;
    };
    driver.memory = [](std::size_t* free, std::size_t* total) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      *free = now->free_bytes;
      *total = now->total_bytes;
      return CUDA_SUCCESS;
    };
    driver.load_module = [](CUmodule* module, void const* code) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      if (std::string_view(static_cast<char const*>(code)).substr(0, 8) != "code for")
        return CUDA_ERROR_INVALID_IMAGE;
      ++now->modules;
      *module = reinterpret_cast<CUmodule>(now);
      return CUDA_SUCCESS;
    };
    driver.unload_module = [](CUmodule) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      --now->modules;
      return CUDA_SUCCESS;
    };
    driver.module_function = [](CUfunction* function, CUmodule, char const* symbol) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      for (body const& one : bodies())
        if (one.symbol == symbol) {
          *function = reinterpret_cast<CUfunction>(const_cast<body*>(&one));
          return CUDA_SUCCESS;
        }
      return CUDA_ERROR_NOT_FOUND;
    };
    driver.launch = [](CUfunction function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                       unsigned, unsigned, CUstream stream, void** arguments, void**) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      put_into(stream);
      if (threads != detail::block_threads || blocks == 0) return CUDA_ERROR_INVALID_VALUE;
      std::lock_guard const in_turn(working);
      now->blocks.push_back(blocks);
      reinterpret_cast<body const*>(function)->run(arguments, blocks);
      return CUDA_SUCCESS;
    };
    describe_memory();
    fill(driver);
  }

  void describe_memory() {
    driver.allocate = [](CUdeviceptr* taken, std::size_t bytes) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      std::lock_guard const in_turn(working);
      if (bytes > now->room) return CUDA_ERROR_OUT_OF_MEMORY;
      void* const made = std::aligned_alloc(256, (bytes + 255) / 256 * 256);  // as cuMemAlloc does
      std::memset(made, 0xff, bytes);                                         // what was there before
      now->memory.insert(made);
      *taken = reinterpret_cast<CUdeviceptr>(made);
      return CUDA_SUCCESS;
    };
    driver.free = [](CUdeviceptr given) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      std::lock_guard const in_turn(working);
      if (now->memory.erase(host(given)) == 0) return CUDA_ERROR_INVALID_VALUE;
      std::free(host(given));
      return CUDA_SUCCESS;
    };
    driver.set_bytes = [](CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      put_into(stream);
      std::memset(host(to), value, bytes);
      return CUDA_SUCCESS;
    };
    driver.bring = [](CUdeviceptr to, void const* from, std::size_t bytes, CUstream stream) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      put_into(stream);
      std::memcpy(host(to), from, bytes);
      now->crossed += bytes;
      return CUDA_SUCCESS;
    };
    driver.fetch = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      put_into(stream);
      std::memcpy(to, host(from), bytes);
      now->crossed += bytes;
      return CUDA_SUCCESS;
    };
    driver.copy = [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      put_into(stream);
      std::memcpy(host(to), host(from), bytes);
      return CUDA_SUCCESS;
    };
    driver.create_stream = [](CUstream* made, unsigned) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      ++now->streams;
      *made = reinterpret_cast<CUstream>(new fake_stream());
      return CUDA_SUCCESS;
    };
    driver.destroy_stream = [](CUstream stream) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      --now->streams;
      delete reinterpret_cast<fake_stream*>(stream);
      return CUDA_SUCCESS;
    };
    driver.query = [](CUstream) { return in_context() ? now->work : CUDA_ERROR_INVALID_CONTEXT; };
    describe_events();
  }
  void describe_events() {
    driver.create_event = [](CUevent* made, unsigned) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      ++now->events;
      *made = reinterpret_cast<CUevent>(new fake_event());
      return CUDA_SUCCESS;
    };
    driver.destroy_event = [](CUevent event) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      --now->events;
      delete reinterpret_cast<fake_event*>(event);
      return CUDA_SUCCESS;
    };
    driver.record = [](CUevent event, CUstream stream) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      auto const* const of = reinterpret_cast<fake_stream const*>(stream);
      *reinterpret_cast<fake_event*>(event) = {of, of->work, of->last};
      return CUDA_SUCCESS;
    };
    driver.wait_for_event = [](CUstream stream, CUevent event, unsigned) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      auto const& until = *reinterpret_cast<fake_event const*>(event);
      reinterpret_cast<fake_stream*>(stream)->waits_for[until.of] = until.work;
      return CUDA_SUCCESS;
    };
    driver.query_event = [](CUevent event) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      auto const& last = reinterpret_cast<fake_event const*>(event)->last;
      return !last || last->load() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    };
  }
  static void put_into(CUstream stream) {
    if (stream) ++reinterpret_cast<fake_stream*>(stream)->work;
  }
  static void* host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

  struct body {
    std::string symbol;
    void (*run)(void** arguments, unsigned blocks);
  };
  static std::vector<body> const& bodies() {
    static std::vector<body> const all = [] {
      std::vector<body> made;
      detail::each_kernel([&]<class Kernel>(char const* type) {
        made.push_back({detail::kernel_symbol(type), [](void** arguments, unsigned blocks) {
                          run_on_host(*static_cast<Kernel const*>(arguments[0]),
                                      *static_cast<unsigned long long const*>(arguments[1]), blocks);
                        }});
      });
      return made;
    }();
    return all;
  }

  void describe_libraries() {
    nvrtc.version = [](int* major, int* minor) {
      *major = 13;
      *minor = 0;
      return NVRTC_SUCCESS;
    };
    nvrtc.architectures = [](int* count) {
      *count = static_cast<int>(now->architectures.size());
      return NVRTC_SUCCESS;
    };
    nvrtc.get_architectures = [](int* to) {
      for (int one : now->architectures) *to++ = one;
      return NVRTC_SUCCESS;
    };
    nvrtc.error_text = [](nvrtcResult) { return "NVRTC_ERROR_PRETENDED"; };
    nvrtc.create = [](nvrtcProgram* program, char const*, char const*, int, char const* const*,
                      char const* const*) {
      *program = reinterpret_cast<nvrtcProgram>(now);
      return NVRTC_SUCCESS;
    };
    nvrtc.destroy = [](nvrtcProgram*) { return NVRTC_SUCCESS; };
    nvrtc.compile = [](nvrtcProgram, int count, char const* const* options) {
      std::string all;
      for (int i = 0; i < count; ++i) all += (i > 0 ? " " : "") + std::string(options[i]);
      now->compiled.push_back(all);
      return now->compile;
    };
    nvrtc.log_size = [](nvrtcProgram, std::size_t* bytes) {
      *bytes = now->compiler_log.size() + 1;
      return NVRTC_SUCCESS;
    };
    nvrtc.get_log = [](nvrtcProgram, char* to) {
      std::strcpy(to, now->compiler_log.c_str());
      return NVRTC_SUCCESS;
    };
    nvrtc.cubin_size = [](nvrtcProgram, std::size_t* bytes) {
      *bytes = code().size();
      return NVRTC_SUCCESS;
    };
    nvrtc.get_cubin = [](nvrtcProgram, char* to) {
      std::memcpy(to, code().data(), code().size());
      return NVRTC_SUCCESS;
    };
    dnn = fake_dnn::functions(in_context);
    dnn.version = [] { return now->cudnn_version; };
    dnn.cuda_version = [] { return now->cudnn_cuda_version; };
    blas = fake_blas::functions(in_context);
    fill(nvrtc);
    fill(blas);
    fill(dnn);
  }
  static std::string code() { return "code for " + now->compiled.back(); }
};

}  // namespace cohort
