// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/plan/plan.hpp>
#include <cohort/trainer/detail/backend_handle.hpp>
#include <cohort/trainer/settings.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort {

/// The network's outputs for some examples.
///
/// Shapes    `values`: count × example, dense.
struct predictions {
  shape example{};
  std::vector<float> values{};

  int count() const;
  std::span<float const> operator[](int i) const;
  /// The index of an example's largest output; of equals the lowest.
  int best(int i) const;
};

/// One example's output under its key.
struct keyed_prediction {
  std::string key;
  std::vector<float> values;
};

namespace detail {

void append(tensor_view from, std::vector<float>& to);

/// How many of `count` examples one plan takes, and for what batch the plan is: a power of two.
struct portion {
  int examples;
  int batch;

  /// All of them where an eighth of the batch at most stays empty, else as many as fill one: the rest comes after.
  static portion of(int count, int largest);
};

/// Inference by many threads at once: plans by batch size, and lanes, each with the memory of one call and its contexts.
/// A call takes the lane that was given back last, whose memory is still in a cache.
///
/// Order     calls whose plan is there wait for nobody; plans are made one after the other.
class predictor {
 public:
  static constexpr int largest_batch = 64;

  predictor(backend_handle const& port, training_settings const& settings)
      : port_(port), threads_(settings.threads), max_bytes_(settings.max_bytes) {}

  /// The outputs of the layers of those ids, or the network's where there are none: the first `wanted`.
  std::vector<predictions> predict(std::span<int const> layers, std::size_t wanted,
                                   std::span<tensor_view const> inputs);

 private:
  struct made_plan {
    int batch;
    std::vector<int> layers;
    std::shared_ptr<plan const> made;
  };
  /// Contexts of all plans that a call has needed so far take turns in one memory.
  struct lane {
    context_memory memory;
    std::vector<std::pair<plan const*, std::unique_ptr<context>>> contexts;

    context& context_of(plan const& with);
  };
  struct lane_scope {
    explicit lane_scope(predictor& from);
    ~lane_scope();
    lane_scope(lane_scope const&) = delete;
    lane_scope& operator=(lane_scope const&) = delete;

    predictor& owner;
    std::unique_ptr<lane> own;
  };
  struct threads_scope {
    threads_scope(backend_handle const& on, int count) : port(on), former(port.threads(count)) {}
    ~threads_scope() { port.threads(former); }
    threads_scope(threads_scope const&) = delete;
    threads_scope& operator=(threads_scope const&) = delete;

    backend_handle const& port;
    int former;
  };

  /// Brings working copies up to date with the parameters, where these have changed since a call did so.
  void refresh();
  std::shared_ptr<plan const> find(int batch, std::span<int const> layers);
  std::shared_ptr<plan const> plan_for(int batch, std::span<int const> layers);

  backend_handle const& port_;
  int threads_;
  std::size_t max_bytes_;
  std::atomic<std::uint64_t> fresh_{0};
  std::mutex making_;  // plans and working copies; taken before the other
  std::mutex mutex_;   // what follows
  std::vector<made_plan> plans_;
  std::vector<std::unique_ptr<lane>> idle_;
};

}  // namespace detail

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/predictor.ipp>
#endif
