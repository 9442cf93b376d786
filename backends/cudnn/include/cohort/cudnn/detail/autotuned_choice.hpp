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

/// Memory of a GPU to time work on: small numbers, which are the same in f32 and in bf16.
buffer memory_to_time_on(std::shared_ptr<compute_stream const> const& on, std::size_t bytes);

/// Which of several ways to do the same on a GPU is taken.
///
/// `what`    the work and the library, as text; the GPU is added.  `put`: puts way i into the stream.
/// Errors    a way that fails is passed over; the first one may not.
template <class Put>
std::size_t autotuned_choice(tuning& by, compute_stream const& on, std::string const& what,
                             std::span<std::string const> ways, Put put) {
  constexpr int at_once = 4;  // so that waiting does not count as much
  return by.choose(on.device().name() + ", " + what, ways, [&](std::size_t way) {
    try {
      return least_seconds([&] {
        for (int time = 0; time < at_once; ++time) put(way);
        on.wait();
      });
    } catch (backend_error const&) {
      if (way == 0) throw;
      return std::numeric_limits<double>::infinity();
    }
  });
}

}  // namespace cohort::detail

#ifndef COHORT_CUDNN_COMPILED
#include <cohort/cudnn/impl/autotuned_choice.ipp>
#endif
