// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cohort/nccl/detail/nccl_functions.hpp>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../cudnn/fake_machine.hpp"

namespace cohort {

/// NCCL between GPUs of a simulated machine whose ranks are threads: the last rank to arrive computes the
/// sum. It rejects ranks that would block, sums that may begin before their input is computed, and calls
/// before the previous one has completed. If a rank aborts, the others get a remote error, and its sums end
/// without a result.
struct fake_nccl {
  static constexpr int none = -2;
  int version_number = 22809;
  bool is_there = true;
  int asynchronous_error_at = none;  // index of the sum at which rank 0 gets this error
  int silent_at = none;              // index of the sum that never ends
  bool joins = true;                 // false: joining never returns
  std::atomic<int> ranks = 0;        // ranks that have joined and are not destroyed or aborted
  std::atomic<int> aborted = 0;
  std::atomic<int> too_early = 0;  // ranks destroyed before all ranks had finalised
  std::atomic<int> sums = 0;       // number of sums of all ranks

  fake_nccl() {
    now = this;
    describe();
  }
  fake_nccl(fake_nccl const&) = delete;
  fake_nccl& operator=(fake_nccl const&) = delete;
  ~fake_nccl() { now = nullptr; }

  detail::nccl_functions functions{};

  /// Opens this NCCL, and all other libraries from the machine.
  detail::library_source source() {
    return {.open = [this](std::string const& name, std::string& why) -> void* {
              if (is_there && name == "libnccl.so.2") return this;
              why = name + ": no such file";
              return nullptr;
            },
            .find = [this](void*, char const* symbol) -> void* {
              void* found = nullptr;
              functions.each([&](char const* name, auto function) {
                if (std::strcmp(name, symbol) == 0) found = reinterpret_cast<void*>(function);
              });
              return found;
            }};
  }

 private:
  struct sum {
    std::vector<void*> arrays{};
    std::size_t count = 0;
    ncclDataType_t type = ncclFloat32;
    ncclRedOp_t how = ncclSum;
    std::shared_ptr<std::atomic<bool>> done = std::make_shared<std::atomic<bool>>(false);
  };
  struct ring {
    int size = 0, joined = 0, ended = 0;
    bool aborted = false;
    std::vector<sum> sums{};
  };
  struct member {
    ring* in = nullptr;
    int rank = 0;
    std::size_t started = 0;
    int asked = 0;          // number of queries since the last operation
    bool settling = false;  // the last operation is not in its stream yet
    bool ended = false;
    fake_stream* stream = nullptr;
    std::vector<std::shared_ptr<std::atomic<bool>>> sums{};
  };
  static inline fake_nccl* now = nullptr;
  std::mutex mutex;
  std::map<int, ring> rings;

  static double number(double x) { return x; }
  static double number(bf16 x) { return double{x.value()}; }
  static void put(float& to, double x) { to = static_cast<float>(x); }
  static void put(double& to, double x) { to = x; }
  static void put(bf16& to, double x) { to = bf16::nearest(static_cast<float>(x)); }

  template <class T>
  static void add_up(sum const& one) {
    auto const arrays = [&](std::size_t r) { return static_cast<T*>(one.arrays[r]); };
    for (std::size_t i = 0; i < one.count; ++i) {
      T all = arrays(0)[i];
      for (std::size_t r = 1; r < one.arrays.size(); ++r)
        one.how == ncclSum ? put(all, number(all) + number(arrays(r)[i]))
                           : put(all, std::max(number(all), number(arrays(r)[i])));
      for (std::size_t r = 0; r < one.arrays.size(); ++r) arrays(r)[i] = all;
    }
  }

  void describe() {
    functions.version = [](int* version) {
      *version = now->version_number;
      return ncclSuccess;
    };
    functions.error_text = [](ncclResult_t status) {
      return status == ncclRemoteError ? "a remote error" : "an error of this rank";
    };
    functions.last_error = [](ncclComm_t) { return ""; };
    functions.unique_id = [](ncclUniqueId* id) {
      static std::atomic<int> given = 0;
      *id = {};
      int const number = ++given;
      std::memcpy(id->internal, &number, sizeof number);
      return ncclSuccess;
    };
    functions.join = [](ncclComm_t* made, int size, ncclUniqueId id, int rank, ncclConfig_t* how) {
      if (how->blocking != 0) return ncclInvalidArgument;
      int number = 0;
      std::memcpy(&number, id.internal, sizeof number);
      std::lock_guard const lock(now->mutex);
      ring& in = now->rings[number];
      in.size = size;
      ++in.joined;
      ++now->ranks;
      *made = reinterpret_cast<ncclComm_t>(new member{&in, rank});
      return ncclInProgress;
    };
    functions.state = [](ncclComm_t of, ncclResult_t* status) {
      auto& one = *reinterpret_cast<member*>(of);
      std::lock_guard const lock(now->mutex);
      bool const together =
          now->joins && one.in->joined == one.in->size && (!one.ended || one.in->ended == one.in->size);
      ++one.asked;
      if (one.settling && one.asked > 2) {
        one.settling = false;
        one.stream->last = one.sums.back();
      }
      *status = together && !one.settling ? ncclSuccess : ncclInProgress;
      if (one.in->aborted) *status = ncclRemoteError;
      if (one.rank == 0 && static_cast<int>(one.started) - 1 == now->asynchronous_error_at && one.asked > 3)
        *status = ncclSystemError;
      return ncclSuccess;
    };
    functions.allreduce = [](void const* from, void* to, std::size_t count, ncclDataType_t type,
                             ncclRedOp_t how, ncclComm_t of, cudaStream_t in_stream) {
      auto& one = *reinterpret_cast<member*>(of);
      auto& stream = *reinterpret_cast<fake_stream*>(in_stream);
      bool const waits =
          !stream.waits_for.empty() && std::ranges::all_of(stream.waits_for, [](auto const& other) {
            return other.first->work == other.second;
          });
      if (from != to || !waits) return ncclInvalidUsage;
      std::lock_guard const lock(now->mutex);
      if (one.settling) return ncclInvalidArgument;
      ring& in = *one.in;
      if (in.sums.size() == one.started) in.sums.push_back({.count = count, .type = type, .how = how});
      sum& its = in.sums[one.started];
      if (its.count != count || its.type != type || its.how != how) return ncclInvalidArgument;
      its.arrays.resize(static_cast<std::size_t>(in.size));
      its.arrays[static_cast<std::size_t>(one.rank)] = to;
      one.sums.push_back(its.done);
      one.stream = &stream;
      one.asked = 0;
      one.settling = true;
      ++now->sums;
      bool const silent = static_cast<int>(one.started++) == now->silent_at;
      if (silent || std::ranges::count(its.arrays, nullptr) > 0) return ncclInProgress;
      guarded_memory::access const of_gpu(stream.gpu());
      if (type == ncclFloat32)
        add_up<float>(its);
      else if (type == ncclFloat64)
        add_up<double>(its);
      else if (type == ncclBfloat16)
        add_up<bf16>(its);
      else
        return ncclInvalidArgument;
      its.done->store(true);
      return ncclInProgress;
    };
    functions.finalize = [](ncclComm_t of) {
      auto& one = *reinterpret_cast<member*>(of);
      std::lock_guard const lock(now->mutex);
      one.ended = true;
      ++one.in->ended;
      return ncclInProgress;
    };
    functions.destroy = [](ncclComm_t of) {
      if (ring const& in = *reinterpret_cast<member*>(of)->in; in.ended < in.size) ++now->too_early;
      delete reinterpret_cast<member*>(of);
      --now->ranks;
      return ncclSuccess;
    };
    functions.abort = [](ncclComm_t of) {
      std::lock_guard const lock(now->mutex);
      reinterpret_cast<member*>(of)->in->aborted = true;
      for (auto const& its : reinterpret_cast<member*>(of)->sums) its->store(true);
      delete reinterpret_cast<member*>(of);
      --now->ranks;
      ++now->aborted;
      return ncclSuccess;
    };
  }
};

}  // namespace cohort
