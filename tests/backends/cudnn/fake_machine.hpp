// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cohort/cudnn/detail/gpu.hpp>
#include <cohort/cudnn/detail/kernels.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fake_blas.hpp"
#include "fake_compiler.hpp"
#include "fake_dnn.hpp"
#include "fake_stream.hpp"
#include "guarded_memory.hpp"
#include "kernel_on_host.hpp"

namespace cohort {

/// A simulated machine with a GPU: the functions of its driver and libraries return the values of these
/// fields. GPU memory is memory of this process that is accessible only while work of the GPU runs. Launched
/// kernels and the work of libraries run in this process when their stream is queried. Copies between
/// processor and GPU require page-locked memory, because other copies would wait without a deadline.
///
/// Order     only one may exist at a time: the driver's functions have no argument that identifies the
///           machine. Functions that need the GPU's context on the calling thread fail without it.
struct fake_machine : fake_compiler {
  static inline std::mutex working;  // guards kernels and memory, because a team's workers share the machine
  std::set<std::string> libraries{"libcuda.so.1", "libnvrtc.so.13", "libcublasLt.so.13", "libcudnn.so.9"};
  std::set<std::string> missing_functions{};
  int driver_version = 13000;
  CUresult init = CUDA_SUCCESS;
  CUresult retain = CUDA_SUCCESS;
  std::atomic<CUresult> work = CUDA_SUCCESS;  // result of querying a stream
  int gpus = 1;
  int selected = -1;     // number on the machine of the GPU that was selected last
  bool one_gpu = false;  // the same GPU for every caller; otherwise each gets another
  std::string name = "Pretended GPU";
  int major = 9, minor = 0;
  bool splits_sums = false;  // whether the loaded module was compiled with this option
  std::size_t free_bytes = std::size_t{70} << 30, total_bytes = std::size_t{80} << 30;
  std::size_t cudnn_version = 91900;
  std::size_t cudnn_cuda_version = 13000;

  std::vector<std::string> opened{};        // libraries in the order of opening
  std::atomic<int> contexts = 0;            // contexts currently retained
  guarded_memory memory{};                  // allocated GPU memory
  std::size_t room = std::size_t{1} << 30;  // largest allocation
  std::atomic<int> allocations_left = -1;  // GPU or page-locked allocations until one fails; −1: none fails
  std::atomic<int> queries_left = -1;      // stream queries until the GPU is lost; −1: it is not lost
  std::atomic<int> identities = 0;         // number of identifiers returned
  std::set<fake_stream*> streams{};        // existing streams
  static constexpr int greatest_priority = -5;
  std::atomic<int> prioritised = 0;  // streams that were created with the greatest priority
  std::atomic<int> events = 0;       // existing events
  std::atomic<int> event_queries = 0;
  std::atomic<int> modules = 0;          // loaded modules
  std::vector<unsigned> blocks{};        // blocks of each launch
  std::atomic<std::size_t> crossed = 0;  // bytes copied between the processor and the GPU
  std::atomic<int> waits = 0;            // waits for a stream with pending work
  std::atomic<int> graphs = 0;           // graphs of recorded work that can be launched
  std::atomic<int> graph_launches = 0;
  std::atomic<int> broken_graphs = 0;                     // failed recordings
  std::map<std::byte const*, std::size_t> page_locked{};  // allocated memory, and its bytes

  fake_machine() {
    now = this;
    current = nullptr;
    describe_driver();
    describe_libraries();
  }
  fake_machine(fake_machine const&) = delete;
  fake_machine& operator=(fake_machine const&) = delete;
  ~fake_machine() {  // memory that was not freed
    for (auto const& one : page_locked) std::free(const_cast<std::byte*>(one.first));
    now = nullptr;
  }

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

  /// The numbers of the GPUs that the driver shows to this process: those in CUDA_VISIBLE_DEVICES up to the
  /// first one that does not exist, or all.
  std::vector<int> visible_gpus() const {
    std::vector<int> numbers;
    char const* list = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!list)
      for (int k = 0; k < gpus; ++k) numbers.push_back(k);
    while (list && *list) {
      char* end = nullptr;
      long const number = std::strtol(list, &end, 10);
      if (end == list || number < 0 || number >= gpus) break;
      numbers.push_back(static_cast<int>(number));
      list = *end == ',' ? end + 1 : end;
    }
    return numbers;
  }

  detail::driver_functions driver{};
  detail::nvrtc_functions nvrtc{};
  detail::cublaslt_functions blas{};
  detail::cudnn_functions dnn{};

 private:
  static inline fake_machine* now = nullptr;
  static inline thread_local CUcontext current = nullptr;
  std::mutex among_streams;
  std::vector<std::unique_ptr<fake_graph>> executables{};  // graphs of a lost GPU are never destroyed
  static bool in_context() { return now && current == reinterpret_cast<CUcontext>(now); }

  /// Fills the functions that no test calls but every library must have.
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
      *count = static_cast<int>(now->visible_gpus().size());
      return CUDA_SUCCESS;
    };
    driver.device = [](CUdevice* device, int number) {
      *device = number;
      std::vector<int> const visible = now->visible_gpus();
      if (number < 0 || number >= static_cast<int>(visible.size())) return CUDA_ERROR_INVALID_DEVICE;
      now->selected = visible[static_cast<std::size_t>(number)];
      return CUDA_SUCCESS;
    };
    driver.device_name = [](char* name, int bytes, CUdevice) {
      std::strncpy(name, now->name.c_str(), static_cast<std::size_t>(bytes));
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
    driver.set_context = [](CUcontext context) { return current = context, CUDA_SUCCESS; };
    driver.memory = [](std::size_t* free, std::size_t* total) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      std::lock_guard const in_turn(working);
      *free = now->free_bytes, *total = now->total_bytes;
      *free -= now->memory.bytes();
      return CUDA_SUCCESS;
    };
    driver.load_module = [](CUmodule* module, void const* code) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      if (std::string_view(static_cast<char const*>(code)).substr(0, 8) != "code for")
        return CUDA_ERROR_INVALID_IMAGE;
      ++now->modules;
      now->splits_sums = std::strstr(static_cast<char const*>(code), "COHORT_SPLIT_SUMS") != nullptr;
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
      for (kernel_body const& one : kernel_bodies())
        if (one.symbol == symbol) {
          *function = reinterpret_cast<CUfunction>(const_cast<kernel_body*>(&one));
          return CUDA_SUCCESS;
        }
      return CUDA_ERROR_NOT_FOUND;
    };
    driver.launch = [](CUfunction function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                       unsigned, unsigned, CUstream stream, void** arguments, void**) {
      if (threads != detail::block_threads || blocks == 0) return CUDA_ERROR_INVALID_VALUE;
      {
        std::lock_guard const in_turn(working);
        now->blocks.push_back(blocks);
      }
      auto const run =
          reinterpret_cast<kernel_body const*>(function)->bind(arguments, blocks, now->splits_sums);
      return put_into(stream, [run] {
        std::lock_guard const in_turn(working);
        run();
      });
    };
    describe_memory();
    fill(driver);
  }

  void describe_memory() {
    driver.allocate = [](CUdeviceptr* taken, std::size_t bytes) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      if (records()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      std::lock_guard const in_turn(working);
      if (bytes > now->room || now->memory.bytes() + bytes > now->free_bytes || fails_to_allocate())
        return CUDA_ERROR_OUT_OF_MEMORY;
      *taken = reinterpret_cast<CUdeviceptr>(now->memory.allocate(bytes));
      return CUDA_SUCCESS;
    };
    driver.free = [](CUdeviceptr given) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      if (records()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      std::lock_guard const in_turn(working);
      return now->memory.release(host(given)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    };
    driver.allocate_page_locked = [](void** taken, std::size_t bytes, unsigned) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      if (records()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      std::lock_guard const in_turn(working);
      if (bytes > now->room || fails_to_allocate()) return CUDA_ERROR_OUT_OF_MEMORY;
      *taken = std::malloc(bytes);
      now->page_locked[static_cast<std::byte*>(*taken)] = bytes;
      return CUDA_SUCCESS;
    };
    driver.free_page_locked = [](void* given) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      if (records()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      std::lock_guard const in_turn(working);
      if (now->page_locked.erase(static_cast<std::byte*>(given)) == 0) return CUDA_ERROR_INVALID_VALUE;
      std::free(given);
      return CUDA_SUCCESS;
    };
    driver.set_bytes = [](CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
      return put_into(stream, [=] { std::memset(host(to), value, bytes); });
    };
    driver.upload = [](CUdeviceptr to, void const* from, std::size_t bytes, CUstream stream) {
      now->crossed += bytes;
      if (!is_page_locked(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
      return put_into(stream, [=] { std::memcpy(host(to), from, bytes); });
    };
    driver.download = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
      now->crossed += bytes;
      if (!is_page_locked(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
      return put_into(stream, [=] { std::memcpy(to, host(from), bytes); });
    };
    driver.copy = [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
      return put_into(stream, [=] { std::memcpy(host(to), host(from), bytes); });
    };
    driver.create_stream = [](CUstream* made, unsigned) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      auto* const stream = new fake_stream(now->memory);
      std::lock_guard const in_turn(now->among_streams);
      now->streams.insert(stream);
      *made = reinterpret_cast<CUstream>(stream);
      return CUDA_SUCCESS;
    };
    driver.stream_priorities = [](int* least, int* greatest) {
      *least = 0;
      *greatest = greatest_priority;
      return CUDA_SUCCESS;
    };
    driver.create_stream_with_priority = [](CUstream* made, unsigned how, int priority) {
      if (priority < greatest_priority || priority > 0) return CUDA_ERROR_INVALID_VALUE;
      if (priority == greatest_priority) ++now->prioritised;
      return now->driver.create_stream(made, how);
    };
    driver.destroy_stream = [](CUstream given) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      auto* const stream = reinterpret_cast<fake_stream*>(given);
      std::lock_guard const in_turn(now->among_streams);
      now->streams.erase(stream);
      delete stream;
      return CUDA_SUCCESS;
    };
    driver.query = [](CUstream stream) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      if (now->queries_left >= 0 && now->queries_left-- == 0) now->work = CUDA_ERROR_LAUNCH_FAILED;
      if (CUresult const says = now->work; says != CUDA_SUCCESS) return says;
      auto const waited = reinterpret_cast<fake_stream*>(stream)->finish();
      if (!waited) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      if (*waited) ++now->waits;
      return CUDA_SUCCESS;
    };
    describe_graphs();
    describe_events();
  }
  void describe_graphs() {
    driver.begin_capture = [](CUstream stream, CUstreamCaptureMode mode) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      if (mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) return CUDA_ERROR_INVALID_VALUE;
      reinterpret_cast<fake_stream*>(stream)->record();
      return CUDA_SUCCESS;
    };
    driver.end_capture = [](CUstream stream, CUgraph* made) {
      auto recorded = reinterpret_cast<fake_stream*>(stream)->recorded();
      *made = recorded ? reinterpret_cast<CUgraph>(new fake_graph(std::move(*recorded))) : nullptr;
      if (!recorded) ++now->broken_graphs;
      return recorded ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    };
    driver.destroy_graph = [](CUgraph graph) {
      delete reinterpret_cast<fake_graph*>(graph);
      return CUDA_SUCCESS;
    };
    driver.make_executable = [](CUgraphExec* made, CUgraph graph, unsigned long long) {
      ++now->graphs;
      std::lock_guard const in_turn(now->among_streams);
      auto& one = now->executables.emplace_back(new fake_graph(*reinterpret_cast<fake_graph*>(graph)));
      *made = reinterpret_cast<CUgraphExec>(one.get());
      return CUDA_SUCCESS;
    };
    driver.destroy_executable = [](CUgraphExec graph) {
      --now->graphs;
      std::lock_guard const in_turn(now->among_streams);
      std::erase_if(now->executables,
                    [&](auto const& one) { return one.get() == reinterpret_cast<fake_graph*>(graph); });
      return CUDA_SUCCESS;
    };
    driver.launch_graph = [](CUgraphExec graph, CUstream stream) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      ++now->graph_launches;
      for (auto const& one : *reinterpret_cast<fake_graph*>(graph))
        reinterpret_cast<fake_stream*>(stream)->put(one);
      return CUDA_SUCCESS;
    };
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
      auto* const of = reinterpret_cast<fake_stream*>(stream);
      *reinterpret_cast<fake_event*>(event) = {of, of->work, of->last};
      return CUDA_SUCCESS;
    };
    driver.wait_for_event = [](CUstream stream, CUevent event, unsigned) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      auto const& until = *reinterpret_cast<fake_event const*>(event);
      until.of->finish();
      reinterpret_cast<fake_stream*>(stream)->waits_for[until.of] = until.work;
      return CUDA_SUCCESS;
    };
    driver.query_event = [](CUevent event) {
      if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
      auto const& [of, position, last] = *reinterpret_cast<fake_event const*>(event);
      if (CUresult const says = now->work; says != CUDA_SUCCESS) return says;
      ++now->event_queries;
      if (of) of->finish();
      return !last || last->load() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    };
  }
  static CUresult put_into(CUstream stream, std::function<void()> what) {
    if (!in_context()) return CUDA_ERROR_INVALID_CONTEXT;
    if (stream) {
      reinterpret_cast<fake_stream*>(stream)->put(std::move(what));
    } else {
      guarded_memory::access const of_gpu(now->memory);
      what();
    }
    return CUDA_SUCCESS;
  }
  static bool fails_to_allocate() { return now->allocations_left >= 0 && now->allocations_left-- == 0; }
  /// Returns whether this thread is recording; a recording thread must not allocate memory.
  static bool records() {
    std::lock_guard const in_turn(now->among_streams);
    return std::ranges::any_of(now->streams, &fake_stream::is_recorded_here);
  }
  static bool is_page_locked(void const* address, std::size_t bytes) {
    std::lock_guard const in_turn(working);
    auto const* const begin = static_cast<std::byte const*>(address);
    auto const above = now->page_locked.upper_bound(begin);
    if (above == now->page_locked.begin()) return false;
    auto const& [piece, size] = *std::prev(above);
    return begin + bytes <= piece + size;
  }
  static void put_of_library(void* stream, std::function<void()> what) {
    reinterpret_cast<fake_stream*>(stream)->put(std::move(what));
  }
  static void* host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

  void describe_libraries() {
    nvrtc = compiler_functions();
    dnn = fake_dnn::functions(in_context, put_of_library);
    dnn.version = [] { return now->cudnn_version; };
    dnn.cuda_version = [] { return now->cudnn_cuda_version; };
    blas = fake_blas::functions(in_context, put_of_library);
    fill(nvrtc);
    fill(blas);
    fill(dnn);
  }
};

}  // namespace cohort
