// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD: programs that open NVIDIA's driver and libraries get replacements, which simulate
// one GPU. Their kernels and the work of the libraries run on the processor. Libraries must be opened by
// one thread at a time.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "../nccl/fake_nccl.hpp"
#include "fake_machine.hpp"

namespace {

using cohort::detail::library_source;

/// The machine and its NCCL. Never destroyed, because programs release their context at exit.
struct simulation {
  cohort::fake_machine machine{};
  cohort::fake_nccl nccl{};
  library_source of_machine{}, of_nccl = nccl.source();

  simulation() {
    // No real NVRTC has this version, so no other program reads the kernels that this NVRTC has cached.
    machine.nvrtc.version = [](int* major, int* minor) {
      *major = 13, *minor = 999;
      return NVRTC_SUCCESS;
    };
    of_machine = machine.source();
  }
  library_source const* source_of(void const* handle) const {
    if (handle == &nccl) return &of_nccl;
    for (std::string const& name : machine.libraries)
      if (handle == &name) return &of_machine;
    return nullptr;
  }
};
simulation& simulated() {
  static auto& made = *new simulation;
  return made;
}

/// The system's function of this name. The replacement must call it as its last action, and this file must be
/// compiled with -O2. The call then keeps the return address, by which the loader identifies the calling
/// library.
template <class Function>
Function* of_system(char const* name) {
  void* const found = ::dlvsym(RTLD_NEXT, name, "GLIBC_2.34");
  if (!found) {
    std::fprintf(stderr, "simulated_libraries: the C library has no %s of version 2.34\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* dlopen(char const* file, int mode) {
  static auto* const real = of_system<void*(char const*, int)>("dlopen");
  if (file) {
    std::string why;
    if (void* const found = simulated().of_machine.open(file, why)) return found;
    if (void* const found = simulated().of_nccl.open(file, why)) return found;
  }
  return real(file, mode);
}

extern "C" __attribute__((visibility("default"))) void* dlsym(void* library, char const* symbol) {
  static auto* const real = of_system<void*(void*, char const*)>("dlsym");
  if (library_source const* const from = simulated().source_of(library)) return from->find(library, symbol);
  return real(library, symbol);
}
