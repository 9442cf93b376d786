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
/// Order     working copies | barrier | forward and backward | barrier | exchange | barrier | update of a shard.
///           Two barriers a step without an exchange, three with one. Working copies are derived at the beginning, so
///           that whoever wrote parameters between two steps is heard.
/// Errors    after a deadline_error a worker may still be at work: group, strategy, update, batch and data must live on.
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
    prepare(b.count, true);
    job_ = {.data = &b, .now = now, .agree = &agree, .update = &update, .exchanges = agree.exchanges()};
    bad_.store(false, std::memory_order_relaxed);
    for (auto& count : arrived_) count.store(0, std::memory_order_relaxed);
    agree.begin(now, *port_.parameters);
    try {
      team_.run(step_);
      if (bad_.load()) refuse();
    } catch (deadline_error const&) {
      throw;
    } catch (...) {
      agree.abandon(now);
      throw;
    }
    port_.parameters->changed();
    agree.after_update(now, *port_.parameters);
    double loss = 0;
    for (result const& one : results_) loss += one.loss;
    return loss;
  }

  /// Runs the batch forward only; `take(worker's first row, output)` is called for each worker's part, in order.
  template <class Take>
  void infer(batch const& b, Take take) {
    prepare(b.count, false);
    refresh_stale();
    job_ = {.data = &b};
    team_.run(inference_);
    for (int w = 0; w < size(); ++w) {
      order_slice const rows = part_of({0, b.count}, w, size());
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
  /// The rows of training plans for a batch of that many examples, summed over the workers.
  std::vector<plan_row> profile_rows(int count) const {
    std::vector<plan_row> rows;
    for (int w = 0; w < size(); ++w)
      for (auto const& one : contexts_[static_cast<std::size_t>(w)]) {
        key const wanted{static_cast<int>(part_of({0, count}, w, size()).count), true};
        if (!(one.what == wanted) || !one.made) continue;
        std::vector<plan_row> const more = one.made->profile();
        if (rows.empty())
          rows.assign(more.begin(), more.end());
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
    std::vector<tensor_view> inputs{};
    std::vector<tensor_view> targets{};
  };
  /// What the workers work on. A member, as everything that they touch: it outlives a call that a deadline ends.
  struct job {
    batch const* data = nullptr;
    step_info now{};
    strategy* agree = nullptr;
    parameter_update* update = nullptr;
    bool exchanges = false;
  };
  struct step_call {
    worker_group* group;
    void operator()(int w) const { group->work(w); }
  };
  struct inference_call {
    worker_group* group;
    void operator()(int w) const {
      result& mine = group->results_[static_cast<std::size_t>(w)];
      if (!mine.now) return;
      group->take_rows(w, false);
      mine.now->forward(mine.inputs, {});
    }
  };

  /// Brings every working copy up to date, on a thread that has the workers' number of threads.
  void refresh_stale() {
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
  }

  /// Worker's rows of the batch, as views.
  void take_rows(int w, bool targets) {
    result& mine = results_[static_cast<std::size_t>(w)];
    order_slice const rows = part_of({0, job_.data->count}, w, size());
    auto const mine_of = [&](tensor_view all) {
      return all.rows(static_cast<int>(rows.first), static_cast<int>(rows.count));
    };
    mine.inputs.clear();
    mine.targets.clear();
    for (std::size_t i = 0; i < job_.data->inputs.size(); ++i)
      mine.inputs.push_back(mine_of(job_.data->input(i)));
    for (std::size_t i = 0; targets && i < job_.data->targets.size(); ++i)
      mine.targets.push_back(mine_of(job_.data->target(i)));
  }

  /// One worker's step.
  void work(int w) {
    port_.parameters->refresh(w, size());
    team_.barrier(w);
    compute(w);
    team_.barrier(w);
    if (bad_.load(std::memory_order_relaxed)) return;
    if (job_.exchanges) {
      if (w == 0) {
        job_.agree->before_update(job_.now, *gradients_);
        for (std::byte const* part : gradients_->all()) check(part, 0, port_.parameters->arena_elements());
      }
      team_.barrier(w);
      if (bad_.load(std::memory_order_relaxed)) return;
    }
    job_.update->apply(w, size(), gradients_->all(), job_.now.step, job_.now.epoch);
  }

  void compute(int w) {
    result& mine = results_[static_cast<std::size_t>(w)];
    mine.loss = 0;
    std::byte* const arena = gradients_->all()[static_cast<std::size_t>(w)];
    if (!mine.now) {
      std::memset(arena, 0, port_.parameters->arena_bytes());
      if (job_.exchanges)
        for (bucket const& one : port_.parameters->buckets()) arrive(one);
      return;
    }
    take_rows(w, true);
    mine.now->forward(mine.inputs, mine.targets);
    mine.loss = mine.now->loss();
    bool const announces = job_.exchanges && is_finite(mine.loss);
    if (!is_finite(mine.loss)) bad_.store(true, std::memory_order_relaxed);
    if (announces && !mine.ready)
      mine.ready = [this, w](bucket const& one) {
        if (check(one, gradients_->all()[static_cast<std::size_t>(w)])) arrive(one);
      };
    mine.now->backward(
        {.gradient_scale = 1.0 / job_.data->count, .ready = announces ? &mine.ready : nullptr});
    if (!job_.exchanges) check(arena, 0, port_.parameters->arena_elements());
  }

  /// The last worker to complete a bucket announces it.
  void arrive(bucket const& one) {
    if (arrived_[static_cast<std::size_t>(one.index)].fetch_add(1, std::memory_order_acq_rel) + 1 == size())
      job_.agree->ready(job_.now, one, *gradients_);
  }

  /// Marks the step as bad where a gradient is not finite: a bucket before it is announced, or a whole arena.
  bool check(bucket const& one, std::byte const* arena) {
    auto const table = port_.parameters->table();
    parameter const& last = table[static_cast<std::size_t>(one.first_parameter + one.parameters - 1)];
    std::size_t const first = table[static_cast<std::size_t>(one.first_parameter)].offset;
    return check(arena, first, last.offset + last.room - first);
  }
  bool check(std::byte const* arena, std::size_t first, std::size_t count) {
    bool const finite = port_.parameters->type() == element_type::f64
                            ? all_finite(isa_, reinterpret_cast<double const*>(arena) + first, count)
                            : all_finite(isa_, reinterpret_cast<float const*>(arena) + first, count);
    if (!finite) bad_.store(true, std::memory_order_relaxed);
    return finite;
  }

  [[noreturn]] void refuse() {
    step_info const& now = job_.now;
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
  job job_{};
  step_call const step_{this};
  inference_call const inference_{this};
  bool profiling_ = false;
  isa isa_ = best_isa();
};

}  // namespace cohort::detail
