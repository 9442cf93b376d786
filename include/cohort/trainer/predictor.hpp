// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/trainer/worker_group.hpp>
#include <memory>
#include <mutex>
#include <span>
#include <string>
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

/// Inference by many threads at once: each call takes a context from a pool and gives it back.
class predictor {
 public:
  static constexpr int largest_batch = 64;

  predictor(backend_port const& port, training_settings const& settings)
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
    int const former = port_.threads(threads_);
    struct restore {
      backend_port const& port;
      int threads;
      ~restore() { port.threads(threads); }
    } const at_end{port_, former};
    int first = 0;
    do {
      int const part = std::min(count - first, largest_batch);
      borrowed const one(*this, layers,
                         static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(part, 1)))));
      std::vector<tensor_view> rows;
      for (tensor_view const& input : inputs) rows.push_back(input.rows(first, part));
      one.use->forward(rows, {});
      for (std::size_t which = 0; which < wanted; ++which) {
        made[which].example = one.plan->outputs()[which];
        append(one.use->output(static_cast<int>(which)), made[which].values);
      }
      first += part;
    } while (first < count);
    return made;
  }

 private:
  struct pool {
    int batch;
    std::vector<int> layers;
    std::shared_ptr<cohort::plan const> plan;
    std::vector<std::unique_ptr<context>> idle;
  };
  pool& pool_of(int batch, std::span<int const> layers) {
    for (pool& one : pools_)
      if (one.batch == batch && std::ranges::equal(one.layers, layers)) return one;
    return pools_.emplace_back(pool{batch, {layers.begin(), layers.end()}, {}, {}});
  }
  /// A context for as long as a call needs it.
  struct borrowed {
    borrowed(predictor& owner, std::span<int const> of, int batch) : from(owner), layers(of), size(batch) {
      std::lock_guard const lock(from.mutex_);
      pool& p = from.pool_of(batch, layers);
      if (!p.plan)
        p.plan = from.port_.make_plan(
            {.batch = batch, .training = false, .max_bytes = from.max_bytes_, .outputs = p.layers});
      from.port_.parameters->refresh_stale();
      plan = p.plan;
      if (p.idle.empty()) p.idle.push_back(p.plan->make_context());
      use = std::move(p.idle.back());
      p.idle.pop_back();
    }
    ~borrowed() {
      std::lock_guard const lock(from.mutex_);
      from.pool_of(size, layers).idle.push_back(std::move(use));
    }
    borrowed(borrowed const&) = delete;
    borrowed& operator=(borrowed const&) = delete;

    predictor& from;
    std::span<int const> layers;
    int size;
    std::shared_ptr<cohort::plan const> plan;
    std::unique_ptr<context> use;
  };

  backend_port const& port_;
  int threads_;
  std::size_t max_bytes_;
  std::mutex mutex_;
  std::vector<pool> pools_;
};

}  // namespace detail

}  // namespace cohort
