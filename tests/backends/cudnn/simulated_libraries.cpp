// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD: programs that open NVIDIA's driver and libraries get those of a simulated machine
// with one GPU. Their kernels and the work of the libraries run on the processor.
#include <dlfcn.h>

#include <string>

#include "../nccl/fake_nccl.hpp"
#include "fake_machine.hpp"

namespace {

using cohort::detail::library_source;

/// The machine and its NCCL. Never destroyed, because programs release their context at exit.
struct simulation {
  cohort::fake_machine machine{};
  cohort::fake_nccl nccl{};
  library_source of_machine = machine.source(), of_nccl = nccl.source();

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

/// The system's function of this name. It is called as the last action of its replacement, which keeps the
/// return address: the loader finds the calling library by it.
template <class Function>
Function* of_system(char const* name) {
  return reinterpret_cast<Function*>(::dlvsym(RTLD_NEXT, name, "GLIBC_2.34"));
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
