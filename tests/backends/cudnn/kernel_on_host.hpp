// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cohort/cudnn/detail/kernels.hpp>
#include <functional>
#include <string>
#include <vector>

namespace cohort {

/// Runs one thread of a kernel that adds up terms. Returns its sums.
template <class Sum, class Kernel>
auto thread_sums(Kernel const& kernel, unsigned block, unsigned thread) {
  std::array<Sum, Kernel::sum_count> parts{};
  detail::kernels::walk(kernel, block, thread, parts.data());
  std::array<double, Kernel::sum_count> sums{};
  std::ranges::transform(parts, sums.begin(), &Sum::value);
  return sums;
}

/// Runs a kernel's body as a launch with this number of blocks would: loops replace the grid.
template <class Kernel>
void run_on_host(Kernel const& kernel, unsigned long long n, unsigned long long blocks, bool splits_sums) {
  unsigned long long const threads = detail::block_threads;
  for (unsigned long long block = 0; block < blocks; ++block) {
    if constexpr (detail::walking_sums<Kernel>) {
      detail::kernels::channel_walk const& walked = kernel.walked;
      std::vector<std::array<double, Kernel::sum_count>> sums(threads);
      for (unsigned t = 0; t < threads; ++t) {
        auto const b = static_cast<unsigned>(block);
        if constexpr (requires { typename Kernel::partial; })
          sums[t] = thread_sums<typename Kernel::partial>(kernel, b, t);
        else
          sums[t] = splits_sums ? thread_sums<detail::kernels::split_sum>(kernel, b, t)
                                : thread_sums<detail::kernels::wide_sum>(kernel, b, t);
      }
      for (std::size_t half = threads / 2; half >= walked.lanes(); half /= 2)
        for (std::size_t t = 0; t < half; ++t)
          for (std::size_t s = 0; s < sums[t].size(); ++s) sums[t][s] += sums[t + half][s];
      for (unsigned t = 0; t < walked.lanes(); ++t)
        if (auto const channel = (block / walked.chunks.value * walked.lanes() + t) * Kernel::width;
            channel < walked.channels)
          kernel.finish(channel, block % walked.chunks.value, sums[t].data());
    } else if constexpr (detail::walking_kernel<Kernel>) {
      detail::kernels::no_state none;
      for (unsigned t = 0; t < threads; ++t)
        detail::kernels::walk(kernel, static_cast<unsigned>(block), t, &none);
    } else if constexpr (detail::summing_kernel<Kernel>) {
      auto const& terms = detail::kernels::terms_of(kernel, n, 0);
      unsigned long long const begin = block * detail::sum_chunk, end = terms.end(begin);
      double sums[detail::block_threads] = {};
      for (unsigned long long t = 0; t < threads; ++t)
        for (unsigned long long i = begin + t; i < end && terms.has(begin + t); i += threads)
          sums[t] += kernel.term(i);
      for (unsigned long long half = threads / 2; half >= terms.lanes; half /= 2)
        for (unsigned long long t = 0; t < half; ++t) sums[t] += sums[t + half];
      for (unsigned long long t = 0; t < terms.lanes && terms.has(begin + t); ++t)
        kernel.finish(terms.slot(begin + t), sums[t]);
    } else if constexpr (detail::marking_kernel<Kernel>) {
      unsigned long long const end = std::min((block + 1) * threads, n);
      for (unsigned long long word = block * threads / 32; 32 * word < end; ++word) {
        unsigned first = 0, second = 0;
        for (unsigned long long i = 32 * word; i < std::min(32 * word + 32, end); ++i) {
          unsigned const marks = kernel.marks(i);
          first |= (marks & 1) << i % 32;
          second |= (marks >> 1 & 1) << i % 32;
        }
        kernel.finish(word, first, second);
      }
    } else if constexpr (detail::row_kernel<Kernel>) {
      unsigned long long const rows = detail::calls_per_block<Kernel>;
      for (unsigned long long i = block * rows; i < std::min((block + 1) * rows, n); ++i)
        kernel.row(i, detail::kernels::one_lane());
    } else {
      for (unsigned long long i = block * threads; i < std::min((block + 1) * threads, n); ++i) kernel(i);
    }
  }
}

/// Runs it with as many blocks as the elements need.
template <class Kernel>
void run_on_host(Kernel const& kernel, unsigned long long n) {
  unsigned long long const share = detail::calls_per_block<Kernel>;
  run_on_host(kernel, n, (n + share - 1) / share, false);
}

/// A kernel of the fake driver. bind returns a function that does the work of a launch with these arguments,
/// on a GPU that splits sums or not.
struct kernel_body {
  std::string symbol;
  std::function<void()> (*bind)(void** arguments, unsigned blocks, bool splits_sums);
};
inline std::vector<kernel_body> const& kernel_bodies() {
  static std::vector<kernel_body> const all = [] {
    std::vector<kernel_body> made;
    detail::each_kernel([&]<class Kernel>(char const* type) {
      made.push_back({detail::kernel_symbol(type),
                      [](void** arguments, unsigned blocks, bool splits_sums) -> std::function<void()> {
                        return [kernel = *static_cast<Kernel const*>(arguments[0]),
                                n = *static_cast<unsigned long long const*>(arguments[1]), blocks,
                                splits_sums] { run_on_host(kernel, n, blocks, splits_sums); };
                      }});
    });
    return made;
  }();
  return all;
}

}  // namespace cohort
