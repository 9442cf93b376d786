// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/cudnn/detail/compute_stream.hpp>
#include <cohort/plan/tuning.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>

namespace cohort::detail {

/// Returns a buffer for timing, filled with 0.0115, whose bit pattern is valid in f32 and in bf16.
buffer timing_buffer(std::shared_ptr<compute_stream const> const& on, std::size_t bytes);

/// Times the candidates on the GPU and returns the index of the fastest.
///
/// `what`    describes the work and the library; this function prepends the GPU's name.  `enqueue(i)`
///           enqueues candidate i in the stream.
/// Errors    a candidate that throws backend_error is skipped, except the first, whose exception propagates.
template <class Put>
std::size_t autotuned_choice(tuning& by, compute_stream const& on, std::string const& what,
                             std::span<std::string const> candidates, Put enqueue) {
  constexpr int runs_per_timing = 4;  // amortises the cost of a wait
  return by.choose(on.device().name() + ", " + what, candidates, [&](std::size_t candidate) {
    try {
      return least_seconds([&] {
        for (int time = 0; time < runs_per_timing; ++time) enqueue(candidate);
        on.wait();
      });
    } catch (backend_error const&) {
      if (candidate == 0) throw;
      return std::numeric_limits<double>::infinity();
    }
  });
}

}  // namespace cohort::detail
