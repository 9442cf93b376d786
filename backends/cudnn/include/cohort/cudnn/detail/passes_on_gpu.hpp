// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/cudnn/detail/page_locked_space.hpp>
#include <cohort/cudnn/detail/recorded_work.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>

namespace cohort::detail {

/// Calls visit.operator()<Rule>() for the formula by which an updater takes its steps.
template <class Visit>
void with_formula(update_rule rule, Visit visit) {
  switch (rule) {
    case update_rule::sgd:
    case update_rule::no_op:
      return visit.template operator()<kernels::sgd>();
    case update_rule::momentum:
    case update_rule::lars:
      return visit.template operator()<kernels::momentum>();
    case update_rule::nesterov:
      return visit.template operator()<kernels::nesterov>();
    case update_rule::adam:
      return visit.template operator()<kernels::adam>();
    case update_rule::adamw:
    case update_rule::lamb:
      return visit.template operator()<kernels::adamw>();
    case update_rule::amsgrad:
      return visit.template operator()<kernels::amsgrad>();
    case update_rule::adamax:
      return visit.template operator()<kernels::adamax>();
    case update_rule::nadam:
      return visit.template operator()<kernels::nadam>();
    case update_rule::adabelief:
      return visit.template operator()<kernels::adabelief>();
    case update_rule::adagrad:
      return visit.template operator()<kernels::adagrad>();
    case update_rule::adadelta:
      return visit.template operator()<kernels::adadelta>();
    case update_rule::rmsprop:
      return visit.template operator()<kernels::rmsprop>();
    case update_rule::lion:
      return visit.template operator()<kernels::lion>();
  }
}

/// Arenas of f32 on a GPU. Parts are joined before they are read: after any call but wait, bring, fetch and copy the first part may
/// have the range's sum, the others zeros.
class passes_on_gpu : public arena_passes {
 public:
  static_assert(chunk == sum_chunk);
  static_assert(std::extent_v<decltype(kernels::update<kernels::sgd>::state)> == max_state_arrays);

  explicit passes_on_gpu(std::shared_ptr<compute_stream> on) : on_(std::move(on)) {}

  std::shared_ptr<memory_space> space() const override { return on_; }
  std::shared_ptr<memory_space> results() const override { return std::make_shared<page_locked_space>(on_); }
  void bring(std::byte const* host, std::byte* to, std::size_t bytes) override {
    on_->bring(host, to, bytes);
  }
  void fetch(std::byte const* from, std::byte* host, std::size_t bytes) override {
    on_->fetch(from, host, bytes);
  }
  void wait() override { on_->wait(); }
  std::function<void()> record(std::function<void()> const& work) override {
    CUgraphExec const made = on_->record(work);
    if (!made) return {};
    auto const kept = std::make_shared<recorded_work>(on_, made);
    return [kept] { kept->run(); };
  }
  void copy(std::byte const* from, std::byte* to, std::size_t bytes) override {
    if (bytes > 0) on_->copy(from, to, bytes);
  }
  void fill(std::byte* arena, std::size_t begin, std::size_t n, double value) override {
    on_->launch(kernels::fill{at(arena, begin), static_cast<float>(value)}, n);
  }
  void add(std::byte const* from, std::byte* to, std::size_t n) override {
    on_->launch(kernels::add_to{at(from, 0), at(to, 0)}, n);
  }
  void scale(std::byte* x, std::size_t n, double factor) override {
    if (factor == 0) return fill(x, 0, n, 0);
    on_->launch(kernels::scale{at(x, 0), static_cast<float>(factor)}, n);
  }
  void join(std::span<std::byte* const> parts, std::size_t begin, std::size_t n) override {
    for (std::byte* const part : parts.subspan(1)) {
      on_->launch(kernels::add_to{at(part, begin), at(parts[0], begin)}, n);
      on_->launch(kernels::fill{at(part, begin), 0}, n);
    }
  }
  bool finite(element_type type, std::byte const* x, std::size_t n) override {
    std::lock_guard const one_at_a_time(mutex_);
    unsigned found = 0;
    results_.resize(sizeof found, on_);
    auto* const flag = reinterpret_cast<unsigned*>(results_.data());
    on_->clear(results_.data(), sizeof found);
    if (type == element_type::bf16)
      on_->launch(kernels::find_not_finite_bf16{reinterpret_cast<unsigned short const*>(x), flag}, n);
    else
      on_->launch(kernels::find_not_finite{at(x, 0), flag}, n);
    on_->fetch(results_.data(), &found, sizeof found);
    return found == 0;
  }

  void square_sums(std::span<std::byte* const> parts, std::size_t begin, std::size_t n,
                   double* sums) override {
    join(parts, begin, n);
    put_sums(n, sums, [&](double* to) { return kernels::square_sums{at(parts[0], begin), to}; });
  }
  void step_square_sums(updater const& rule, update_scalars const& now, std::byte* master,
                        std::span<std::byte* const> parts, std::span<std::byte* const> state,
                        std::size_t begin, std::size_t n, double* sums) override {
    join(parts, begin, n);
    auto const step = step_of<kernels::adamw>(constants_at_rate_1(rule, now), master, parts, state, begin);
    put_sums(n, sums, [&](double* to) { return kernels::step_square_sums{step, to}; });
  }
  /// A kernel for each formula, and for most_parts ranges.
  void update(std::span<update_range const> ranges, std::byte* master, std::span<std::byte* const> parts,
              std::span<std::byte* const> state) override {
    for (update_range const& one : ranges) join(parts, one.begin, one.n);
    for (; !ranges.empty(); ranges = ranges.subspan(std::min(ranges.size(), most))) {
      auto const these = ranges.first(std::min(ranges.size(), most));
      for (auto first = these.begin(); first != these.end(); ++first) {
        auto const is_alike = [&](update_range const& one) {
          return one.rule->rule() == first->rule->rule();
        };
        if (std::any_of(these.begin(), first, is_alike)) continue;
        with_formula(first->rule->rule(), [&]<class Rule>() {
          kernels::update_parts<Rule> all{};
          std::size_t n = 0;
          for (update_range const& one : these) {
            if (!is_alike(one)) continue;
            all.begin[all.count] = n;
            all.part[all.count++] =
                step_of<Rule>(constants_of(*one.rule, one.now), master, parts, state, one.begin);
            n += one.n;
          }
          on_->launch(all, n);
        });
      }
    }
  }
  void follow_statistics(std::byte* master, std::span<std::byte* const> parts, std::size_t mean,
                         std::size_t variance, std::size_t n, double kept) override {
    join(parts, mean, n);
    join(parts, variance, n);
    on_->launch(kernels::follow_statistics{at(master, mean), at(master, variance), at(parts[0], mean),
                                           at(parts[0], variance), static_cast<float>(kept)},
                n);
  }

 private:
  static constexpr std::size_t most = kernels::most_parts;

  static float* at(std::byte* arena, std::size_t begin) { return reinterpret_cast<float*>(arena) + begin; }
  static float const* at(std::byte const* arena, std::size_t begin) {
    return reinterpret_cast<float const*>(arena) + begin;
  }

  template <class Rule>
  static kernels::update<Rule> step_of(update_constants const& k, std::byte* master,
                                       std::span<std::byte* const> parts, std::span<std::byte* const> state,
                                       std::size_t begin) {
    kernels::update<Rule> step{};
    step.w = at(master, begin);
    step.gradient = at(parts[0], begin);
    for (std::size_t s = 0; s < static_cast<std::size_t>(Rule::states); ++s)
      step.state[s] = at(state[s], begin);
    for (int i = 0; i < update_constants::size; ++i) step.c[i] = static_cast<float>(k.c[i]);
    step.scale = static_cast<float>(k.scale);
    step.clip = static_cast<float>(k.clip);
    step.l1 = static_cast<float>(k.l1);
    step.l2 = static_cast<float>(k.l2);
    return step;
  }

  /// The sums of n elements' chunks by the kernel that make(where they go) gives.
  template <class Make>
  void put_sums(std::size_t n, double* sums, Make make) {
    std::lock_guard const one_at_a_time(mutex_);
    std::size_t const bytes = (n + chunk - 1) / chunk * sizeof(double);
    results_.resize(bytes, on_);
    on_->launch(make(reinterpret_cast<double*>(results_.data())), n);
    on_->fetch_later(results_.data(), sums, bytes);
  }

  std::shared_ptr<compute_stream> on_;
  std::mutex mutex_;
  reusable_buffer results_;  // on their way to the processor
};

}  // namespace cohort::detail
