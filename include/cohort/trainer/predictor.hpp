// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cohort/trainer/detail/worker_group.hpp>
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

  int count() const {
    return static_cast<int>(static_cast<std::int64_t>(values.size()) / example.elements());
  }
  std::span<float const> operator[](int i) const {
    auto const size = static_cast<std::size_t>(example.elements());
    return std::span<float const>(values).subspan(static_cast<std::size_t>(i) * size, size);
  }
  /// The index of an example's largest output; of equals the lowest.
  int best(int i) const {
    auto const row = (*this)[i];
    return static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
  }
};

/// One example's output under its key.
struct keyed_prediction {
  std::string key;
  std::vector<float> values;
};

namespace detail {

inline void append(tensor_view from, std::vector<float>& to) {
  if (from.type == element_type::f64) {
    for (double const value : from.as<double>()) to.push_back(static_cast<float>(value));
  } else {
    auto const values = from.as<float>();
    to.insert(to.end(), values.begin(), values.end());
  }
}

/// How many of `count` examples one plan takes, and for what batch the plan is: a power of two.
struct portion {
  int examples;
  int batch;

  /// All of them where an eighth of the batch at most stays empty, else as many as fill one: the rest comes after.
  static portion of(int count, int largest) {
    int const part = std::max(std::min(count, largest), 1);
    int const batch = static_cast<int>(std::bit_ceil(static_cast<unsigned>(part)));
    if (batch <= largest && (batch - part) * 8 <= batch) return {std::min(count, part), batch};
    int const full = static_cast<int>(std::bit_floor(static_cast<unsigned>(part)));
    return {full, full};
  }
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
                                   std::span<tensor_view const> inputs) {
    int const count = inputs.empty() || inputs[0].dims.rank == 0 ? 0 : inputs[0].dims[0];
    for (tensor_view const& input : inputs)
      if (input.dims.rank == 0 || input.dims[0] != count)
        throw shape_error({.what = "the inputs have different numbers of examples",
                           .expected = {count},
                           .got = to_string(input.dims)});
    std::vector<predictions> made(wanted);
    std::vector<tensor_view> rows(inputs.begin(), inputs.end());
    threads_scope const threads(port_, threads_);
    refresh();
    lane_scope const on(*this);
    int first = 0;
    do {
      portion const next = portion::of(count - first, largest_batch);
      std::shared_ptr<plan const> const with = plan_for(next.batch, layers);
      context& run = on.own->context_of(*with);
      for (std::size_t i = 0; i < inputs.size(); ++i) rows[i] = inputs[i].rows(first, next.examples);
      run.forward(rows, {});
      for (std::size_t which = 0; which < wanted; ++which) {
        made[which].example = with->outputs()[which];
        auto const size = static_cast<std::size_t>(made[which].example.elements());
        made[which].values.reserve(static_cast<std::size_t>(count) * size);
        append(run.output(static_cast<int>(which)), made[which].values);
      }
      first += next.examples;
    } while (first < count);
    return made;
  }

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

    context& context_of(plan const& with) {
      for (auto const& [of, made] : contexts)
        if (of == &with) return *made;
      return *contexts.emplace_back(&with, with.make_context(nullptr, &memory)).second;
    }
  };
  struct lane_scope {
    explicit lane_scope(predictor& from) : owner(from) {
      std::lock_guard const lock(owner.mutex_);
      if (!owner.idle_.empty()) {
        own = std::move(owner.idle_.back());
        owner.idle_.pop_back();
      } else {
        own = std::make_unique<lane>();
      }
    }
    ~lane_scope() {
      std::lock_guard const lock(owner.mutex_);
      owner.idle_.push_back(std::move(own));
    }
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
  void refresh() {
    if (fresh_.load() == port_.parameters->version()) return;
    std::lock_guard const one_at_a_time(making_);
    if (fresh_.load() == port_.parameters->version()) return;
    port_.parameters->refresh_stale();
    fresh_.store(port_.parameters->version());
  }
  std::shared_ptr<plan const> find(int batch, std::span<int const> layers) {
    std::lock_guard const lock(mutex_);
    for (made_plan const& one : plans_)
      if (one.batch == batch
          && std::equal(one.layers.begin(), one.layers.end(), layers.begin(), layers.end()))
        return one.made;
    return {};
  }
  std::shared_ptr<plan const> plan_for(int batch, std::span<int const> layers) {
    if (auto found = find(batch, layers)) return found;
    std::lock_guard const one_at_a_time(making_);
    if (auto found = find(batch, layers)) return found;
    made_plan one{batch, {layers.begin(), layers.end()}, {}};
    one.made =
        port_.make_plan({.batch = batch, .training = false, .max_bytes = max_bytes_, .outputs = one.layers});
    port_.parameters->refresh_stale();  // its working copies
    std::lock_guard const lock(mutex_);
    return plans_.emplace_back(std::move(one)).made;
  }

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
