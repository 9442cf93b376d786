// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/page_locked_space.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

namespace cohort::detail {

/// Operations on f32 arenas in GPU memory. An operation that reads the parts of a gradient begins by adding
/// them. Then the first part contains the range's sum, and the other parts contain zeros.
class passes_on_gpu : public arena_passes {
 public:
  static_assert(chunk == sum_chunk);
  static_assert(std::extent_v<decltype(kernels::update<kernels::sgd>::state)> == max_state_arrays);

  explicit passes_on_gpu(std::shared_ptr<compute_stream> on) : on_(std::move(on)) {}

  std::string name() const override { return on_->device().name(); }
  std::shared_ptr<memory_space> space() const override { return on_; }
  std::shared_ptr<memory_space> results() const override { return std::make_shared<page_locked_space>(on_); }
  void upload(std::byte const* host, std::byte* to, std::size_t bytes) override;
  void download(std::byte const* from, std::byte* host, std::size_t bytes) override;
  void wait() override { on_->wait(); }
  std::function<void()> record(std::function<void()> const& work) override;
  void copy(std::byte const* from, std::byte* to, std::size_t bytes) override;
  void fill(std::byte* arena, std::size_t begin, std::size_t n, double value) override;
  void add(std::byte const* from, std::byte* to, std::size_t n) override;
  void scale(std::byte* x, std::size_t n, double factor) override;
  void join(std::span<std::byte* const> parts, std::size_t begin, std::size_t n) override;
  bool finite(element_type type, std::byte const* x, std::size_t n) override;

  void square_sums(std::span<std::byte* const> parts, std::size_t begin, std::size_t n,
                   double* sums) override;
  void step_square_sums(optimizer_rule const& rule, update_scalars const& now, std::byte* master,
                        std::span<std::byte* const> parts, std::span<std::byte* const> state,
                        std::size_t begin, std::size_t n, double* sums) override;
  /// Launches one kernel per update formula and group of up to most_parts ranges.
  void update(std::span<update_range const> ranges, std::byte* master, std::span<std::byte* const> parts,
              std::span<std::byte* const> state) override;
  void merge_statistics(std::byte const* means, std::byte const* variances, double const* weight,
                        batch_moments* to, std::size_t n) override;
  void merge_moments(batch_moments const* from, batch_moments* to, std::size_t n) override;
  void follow_statistics(std::byte* master, std::size_t mean, std::size_t variance,
                         batch_moments const* batch, std::size_t n, double kept) override;

 private:
  static constexpr std::size_t max_ranges = kernels::most_parts;

  static float* at(std::byte* arena, std::size_t begin) { return reinterpret_cast<float*>(arena) + begin; }
  static float const* at(std::byte const* arena, std::size_t begin);

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

  /// Enqueues the kernel `make(address)` over n elements, which writes its chunk sums to `address`. Then
  /// enqueues the download of these sums to `sums`.
  template <class Make>
  void download_sums(std::size_t n, double* sums, Make make) {
    std::lock_guard const one_at_a_time(mutex_);
    std::size_t const bytes = (n + chunk - 1) / chunk * sizeof(double);
    results_.resize(bytes, on_);
    on_->launch(make(reinterpret_cast<double*>(results_.data())), n);
    on_->download_async(results_.data(), sums, bytes);
  }

  std::shared_ptr<compute_stream> on_;
  std::mutex mutex_;
  reusable_buffer results_;  // chunk sums to be downloaded
};

}  // namespace cohort::detail
