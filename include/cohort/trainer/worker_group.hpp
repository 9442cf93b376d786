// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cohort/data/batch.hpp>
#include <cohort/data/order.hpp>
#include <cohort/execution/team.hpp>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/strategy/strategy.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/trainer/settings.hpp>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// A backend behind functions: all that training needs of it.
struct backend_port {
  std::string name;
  std::shared_ptr<parameter_set> parameters;
  std::function<std::shared_ptr<plan const>(plan_settings const&)> make_plan;
  std::function<int(int)> threads;
};

/// The workers of one rank: threads that share the parameters, split each batch, and update a shard each.
///
/// Order     forward and backward on every worker | barrier | exchange | barrier | update of a shard | barrier |
///           working copies. Two barriers a step without an exchange, three with one.
class worker_group {
 public:
  worker_group(backend_port port, training_settings const& settings, int state_arrays)
      : port_(std::move(port)),
        settings_(settings),
        state_arrays_(state_arrays),
        former_threads_(static_cast<std::size_t>(settings.workers)),
        team_(settings.workers,
              {.deadline = settings.deadline,
               .enter =
                   [this](int w) {
                     former_threads_[static_cast<std::size_t>(w)] = port_.threads(settings_.threads);
                   },
               .leave = [this](int w) { port_.threads(former_threads_[static_cast<std::size_t>(w)]); }}),
        results_(static_cast<std::size_t>(settings.workers)),
        contexts_(static_cast<std::size_t>(settings.workers)),
        arrived_(port_.parameters->buckets().size()) {}

  int size() const { return team_.size(); }
  /// Somebody else wrote the parameters: the next step derives the working copies first.
  void parameters_changed() { fresh_ = false; }
  backend_port const& port() const { return port_; }

  /// The plan for that many examples a worker; made on a thread that has the workers' number of threads.
  std::shared_ptr<plan const> plan_for(int examples, bool training) {
    auto& made = entry(plans_, {examples, training});
    plan_settings const wanted{.batch = examples,
                               .training = training,
                               .max_bytes = settings_.max_bytes,
                               .contexts = size(),
                               .state_arrays = training ? state_arrays_ : 0};
    if (!made)
      team_.run([&](int w) {
        if (w == 0) made = port_.make_plan(wanted);
      });
    return made;
  }

  /// Gives every worker its gradient arena.  Before: a plan has been made, so the arena has its size.
  gradient_parts& gradients() {
    if (!gradients_) {
      std::vector<std::byte*> parts;
      for (int w = 0; w < size(); ++w) {
        arenas_.emplace_back(port_.parameters->arena_bytes());
        parts.push_back(arenas_.back().data());
      }
      gradients_.emplace(*port_.parameters, std::move(parts));
    }
    return *gradients_;
  }

  /// One step on one batch of this rank; returns Σ of the losses.
  ///
  /// Errors    numeric_error naming step and first layer if the loss or a gradient is not finite; then no parameter
  ///           has changed.
  double step(batch const& b, step_info const& now, strategy& agree, parameter_update& update) {
    bool const exchanges = agree.exchanges();
    prepare(b.count, true);
    bad_.store(false, std::memory_order_relaxed);
    for (auto& count : arrived_) count.store(0, std::memory_order_relaxed);
    agree.begin(now, *port_.parameters);
    team_.run([&](int w) {
      compute(w, b, now, agree, exchanges);
      team_.barrier(w);
      if (bad_.load(std::memory_order_relaxed)) return;
      if (exchanges) {
        if (w == 0) agree.before_update(now, *gradients_);
        team_.barrier(w);
      }
      update.apply(w, size(), gradients_->all(), now.step, now.epoch);
      team_.barrier(w);
      port_.parameters->refresh(w, size());
    });
    if (bad_.load()) refuse(now);
    port_.parameters->changed();
    agree.after_update(now, *port_.parameters);
    double loss = 0;
    for (result const& one : results_) loss += one.loss;
    return loss;
  }

  /// Runs the batch forward only; `take(worker's first row, output)` is called for each worker's part, in order.
  template <class Take>
  void infer(std::span<tensor_view const> inputs, int count, Take take) {
    prepare(count, false);
    refresh();
    team_.run([&](int w) {
      order_slice const rows = part_of({0, count}, w, size());
      if (rows.count == 0) return;
      std::vector<tensor_view> mine;
      for (tensor_view const& input : inputs)
        mine.push_back(input.rows(static_cast<int>(rows.first), static_cast<int>(rows.count)));
      results_[static_cast<std::size_t>(w)].now->forward(mine, {});
    });
    for (int w = 0; w < size(); ++w) {
      order_slice const rows = part_of({0, count}, w, size());
      if (rows.count > 0) take(rows.first, *results_[static_cast<std::size_t>(w)].now);
    }
  }

  /// Takes the time of every kernel of training, or stops to; the sum over the workers.
  void profile(bool on) {
    profiling_ = on;
    for (auto& of_worker : contexts_)
      for (auto& one : of_worker)
        if (one.made) one.made->profile(on);
  }
  std::vector<plan_row> profile(int examples) {
    std::vector<plan_row> rows;
    for (auto& of_worker : contexts_) {
      context const* const found = entry(of_worker, {examples, true}).get();
      if (!found) continue;
      std::vector<plan_row> const more = found->profile();
      if (rows.empty())
        rows = more;
      else
        for (std::size_t r = 0; r < rows.size(); ++r) {
          rows[r].seconds += more[r].seconds;
          rows[r].calls += more[r].calls;
        }
    }
    return rows;
  }

 private:
  /// What a worker's plans and contexts are made for; there are few, so they are searched from front to back.
  struct key {
    int examples;
    bool training;
    bool operator==(key const&) const = default;
  };
  template <class T>
  struct made_for {
    key what;
    T made{};
  };
  template <class T>
  static T& entry(std::vector<made_for<T>>& list, key const& what) {
    for (made_for<T>& one : list)
      if (one.what == what) return one.made;
    return list.emplace_back(made_for<T>{what}).made;
  }
  struct alignas(64) result {
    double loss = 0;
    context* now = nullptr;
    ready_function ready{};
    step_info const* info = nullptr;
    strategy* agree = nullptr;
    std::vector<tensor_view> inputs{};
    std::vector<tensor_view> targets{};
  };

  /// Brings every working copy up to date, on a thread that has the workers' number of threads.
  void refresh() {
    team_.run([&](int w) {
      if (w == 0) port_.parameters->refresh_stale();
    });
  }

  /// Sees to it that every worker has a context for its part of `count` examples.
  void prepare(int count, bool training) {
    for (int w = 0; w < size(); ++w) {
      auto const rows = static_cast<int>(part_of({0, count}, w, size()).count);
      result& mine = results_[static_cast<std::size_t>(w)];
      mine.now = nullptr;
      if (rows == 0) continue;
      auto& of_worker = contexts_[static_cast<std::size_t>(w)];
      std::unique_ptr<context>& found = entry(of_worker, {rows, training});
      if (!found) {
        auto const made = plan_for(rows, training);
        std::byte* const arena = training ? gradients().all()[static_cast<std::size_t>(w)] : nullptr;
        team_.run([&](int who) {
          if (who == w) found = made->make_context(arena);
        });
        found->profile(profiling_);
      }
      mine.now = found.get();
    }
    if (training && !fresh_) {
      refresh();
      fresh_ = true;
    }
  }

  void compute(int w, batch const& b, step_info const& now, strategy& agree, bool exchanges) {
    result& mine = results_[static_cast<std::size_t>(w)];
    mine.loss = 0;
    std::byte* const arena = gradients_->all()[static_cast<std::size_t>(w)];
    if (!mine.now) {
      std::memset(arena, 0, port_.parameters->arena_bytes());
      if (exchanges)
        for (bucket const& one : port_.parameters->buckets()) arrive(one, now, agree);
      return;
    }
    order_slice const rows = part_of({0, b.count}, w, size());
    mine.inputs.clear();
    mine.targets.clear();
    for (std::size_t i = 0; i < b.inputs.size(); ++i)
      mine.inputs.push_back(b.input(i).rows(static_cast<int>(rows.first), static_cast<int>(rows.count)));
    for (std::size_t i = 0; i < b.targets.size(); ++i)
      mine.targets.push_back(b.target(i).rows(static_cast<int>(rows.first), static_cast<int>(rows.count)));
    mine.now->forward(mine.inputs, mine.targets);
    mine.loss = mine.now->loss();
    if (!is_finite(mine.loss)) bad_.store(true, std::memory_order_relaxed);
    mine.info = &now;
    mine.agree = &agree;
    if (exchanges && !mine.ready)
      mine.ready = [this, &mine](bucket const& one) { arrive(one, *mine.info, *mine.agree); };
    mine.now->backward({.gradient_scale = 1.0 / b.count, .ready = exchanges ? &mine.ready : nullptr});
    if (!finite(arena)) bad_.store(true, std::memory_order_relaxed);
  }

  /// The last worker to complete a bucket announces it.
  void arrive(bucket const& one, step_info const& now, strategy& agree) {
    if (arrived_[static_cast<std::size_t>(one.index)].fetch_add(1, std::memory_order_acq_rel) + 1 == size())
      agree.ready(now, one, *gradients_);
  }

  bool finite(std::byte const* arena) const {
    parameter_set const& all = *port_.parameters;
    return all.type() == element_type::f64
               ? all_finite(isa_, reinterpret_cast<double const*>(arena), all.arena_elements())
               : all_finite(isa_, reinterpret_cast<float const*>(arena), all.arena_elements());
  }

  [[noreturn]] void refuse(step_info const& now) {
    std::string where;
    team_.run([&](int w) {
      if (w != 0) return;
      for (result& one : results_)
        if (where.empty() && one.now) where = one.now->first_non_finite();
    });
    double loss = 0;
    for (result const& one : results_) loss += one.loss;
    throw numeric_error({.what = is_finite(loss) ? "a gradient is not finite" : "the loss is not finite",
                         .where = {"step ", now.step, ", epoch ", now.epoch,
                                   (where.empty() ? ", in backward" : ", first in " + where)},
                         .expected = "finite numbers; a smaller learning rate, or data without NaN",
                         .got = is_finite(loss)
                                    ? detail::text_of({"a loss of ", loss / std::max(now.examples, 1)})
                                    : "NaN or infinity"});
  }

  backend_port port_;
  training_settings settings_;
  int state_arrays_;
  std::vector<int> former_threads_;
  std::vector<made_for<std::shared_ptr<plan const>>> plans_;
  std::vector<buffer> arenas_;
  std::optional<gradient_parts> gradients_;
  team team_;
  std::vector<result> results_;
  std::vector<std::vector<made_for<std::unique_ptr<context>>>> contexts_;
  std::vector<std::atomic<int>> arrived_;
  std::atomic<bool> bad_{false};
  bool fresh_ = false;
  bool profiling_ = false;
  isa isa_ = best_isa();
};

}  // namespace cohort::detail
