// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cohort/execution/flat_simd.hpp>
#include <cohort/optimizer/update_simd.hpp>
#include <cohort/plan/arena_passes.hpp>
#include <cohort/tensor/bf16.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstring>

namespace cohort {

namespace detail {

/// Passes over arenas of T in the processor's memory.
template <class T>
class passes_on_host final : public arena_passes {
 public:
  explicit passes_on_host(parallel_parts parallel = nullptr) : parallel_(parallel) {}

  std::string name() const override { return std::string(name_of(isa_)); }
  std::shared_ptr<memory_space> space() const override { return nullptr; }
  std::shared_ptr<memory_space> results() const override { return nullptr; }
  void upload(std::byte const*, std::byte*, std::size_t) override {}
  void download(std::byte const*, std::byte*, std::size_t) override {}
  void wait() override {}

  void copy(std::byte const* from, std::byte* to, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void fill(std::byte* arena, std::size_t begin, std::size_t n, double value) override {
    std::fill_n(at(arena, begin), n, static_cast<T>(value));
  }
  void add(std::byte const* from, std::byte* to, std::size_t n) override {
    T const* const both[]{at(to, 0), reinterpret_cast<T const*>(from)};
    sum_parts(isa_, at(to, 0), both, 2, n);
  }
  void scale(std::byte* x, std::size_t n, double factor) override {
    if (factor == 0) return fill(x, 0, n, 0);
    for (T& one : std::span(at(x, 0), n)) one *= static_cast<T>(factor);
  }
  /// Runs chunk by chunk, so that a chunk is still in the cache when it is zeroed.
  void join(std::span<std::byte* const> parts, std::size_t begin, std::size_t n) override {
    T const* from[max_parts];
    for (std::size_t done = 0; done < n; done += chunk) {
      std::size_t const size = std::min(chunk, n - done);
      point(parts, begin + done, from);
      sum_parts(isa_, at(parts[0], begin + done), from, static_cast<int>(parts.size()), size);
      for (std::size_t k = 1; k < parts.size(); ++k)
        std::memset(at(parts[k], begin + done), 0, size * sizeof(T));
    }
  }
  bool finite(element_type type, std::byte const* x, std::size_t n) override {
    if (type != element_type::bf16) {
      std::atomic<bool> found{true};
      each_part(n, [&](std::size_t begin, std::size_t count) {
        if (!all_finite(isa_, reinterpret_cast<T const*>(x) + begin, count)) found = false;
      });
      return found;
    }
    auto const* const values = reinterpret_cast<bf16 const*>(x);
    std::size_t i = 0;
    while (i < n && is_finite(values[i].value())) ++i;
    return i == n;
  }

  void square_sums(std::span<std::byte* const> parts, std::size_t begin, std::size_t n,
                   double* sums) override {
    each_part(n, [&](std::size_t first, std::size_t count) {
      T const* from[max_parts];
      for (std::size_t done = first; done < first + count; done += chunk) {
        point(parts, begin + done, from);
        sums[done / chunk] =
            square_sum(isa_, from, static_cast<int>(parts.size()), std::min(chunk, n - done));
      }
    });
  }
  void step_square_sums(optimizer_rule const& rule, update_scalars const& now, std::byte* master,
                        std::span<std::byte* const> parts, std::span<std::byte* const> state,
                        std::size_t begin, std::size_t n, double* sums) override {
    T const* from[max_parts];
    T* states[max_state_arrays];
    for (std::size_t done = 0; done < n; done += chunk) {
      point(parts, begin + done, from);
      point(state, begin + done, states);
      *sums++ = step_square_sum(isa_, rule, now, at(master, begin + done), from,
                                static_cast<int>(parts.size()), states, std::min(chunk, n - done));
    }
  }
  void update(std::span<update_range const> ranges, std::byte* master, std::span<std::byte* const> parts,
              std::span<std::byte* const> state) override {
    T const* from[max_parts];
    T* states[max_state_arrays];
    for (update_range const& one : ranges) {
      point(parts, one.begin, from);
      point(state, one.begin, states);
      apply_update(isa_, *one.rule, one.now, at(master, one.begin), from, static_cast<int>(parts.size()),
                   states, one.n);
    }
  }
  void merge_statistics(std::byte const* means, std::byte const* variances, double const* weight,
                        batch_moments* to, std::size_t n) override {
    auto const* const b = reinterpret_cast<T const*>(means);
    auto const* const s = reinterpret_cast<T const*>(variances);
    for (std::size_t c = 0; c < n; ++c)
      to[c] = combine_moments(to[c], {*weight, static_cast<double>(b[c]), static_cast<double>(s[c])});
  }
  void merge_moments(batch_moments const* from, batch_moments* to, std::size_t n) override {
    for (std::size_t c = 0; c < n; ++c) to[c] = combine_moments(to[c], from[c]);
  }
  void follow_statistics(std::byte* master, std::size_t mean, std::size_t variance,
                         batch_moments const* batch, std::size_t n, double momentum) override {
    T* const m = at(master, mean);
    T* const v = at(master, variance);
    for (std::size_t c = 0; c < n; ++c) {
      m[c] = static_cast<T>(followed_mean(static_cast<double>(m[c]), batch[c], momentum));
      v[c] = static_cast<T>(followed_variance(static_cast<double>(v[c]), batch[c], momentum));
    }
  }

 protected:
  void run_parts(void (*run)(void const* with, int part, int parts), void const* with) override {
    parallel_ ? parallel_(run, with) : run(with, 0, 1);
  }

 private:
  static T* at(std::byte* arena, std::size_t begin) { return reinterpret_cast<T*>(arena) + begin; }
  template <class Pointer>
  static void point(std::span<std::byte* const> arenas, std::size_t begin, Pointer* to) {
    for (std::byte* arena : arenas) *to++ = at(arena, begin);
  }

  /// Calls visit(begin, count) for parts of n elements, in parallel if n is large. Each part begins at a
  /// multiple of `chunk`.
  template <class Visit>
  void each_part(std::size_t n, Visit visit) {
    constexpr std::size_t many = 64 * chunk;
    if (n < many) return visit(0, n);
    std::size_t const chunks = (n + chunk - 1) / chunk;
    in_parallel([&](int part, int parts) {
      auto const bound = [&](int which) {
        return std::min(n,
                        chunks * static_cast<std::size_t>(which) / static_cast<std::size_t>(parts) * chunk);
      };
      visit(bound(part), bound(part + 1) - bound(part));
    });
  }

  isa isa_ = best_isa();
  parallel_parts parallel_;
};

template <>
std::shared_ptr<arena_passes> passes_on_processor<float>(parallel_parts parallel) {
  if (parallel) return std::make_shared<passes_on_host<float>>(parallel);
  static passes_on_host<float> passes;  // has no state, so all callers share it
  return {std::shared_ptr<void>(), &passes};
}

template <>
std::shared_ptr<arena_passes> passes_on_processor<double>(parallel_parts parallel) {
  if (parallel) return std::make_shared<passes_on_host<double>>(parallel);
  static passes_on_host<double> passes;  // has no state, so all callers share it
  return {std::shared_ptr<void>(), &passes};
}

}  // namespace detail

}  // namespace cohort
