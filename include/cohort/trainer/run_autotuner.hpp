// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/node.hpp>
#include <cohort/plan/tuning.hpp>
#include <string>

namespace cohort {

struct training_settings;

namespace detail {
struct backend_handle;
}

/// Who chooses for a training: between ways to run layers whenever a plan is made, and workers or threads before the first one.
class run_autotuner : public tuning {
 public:
  /// Examples a rank and step, for which layouts and workers are chosen.
  virtual int batch() const = 0;

  /// Sets `workers` and `threads`, where `workers` is 0, and says so in a line of the log.
  ///
  /// `machine`  as text: processor, backend, library.  `port` makes a backend with parameters of its own.
  /// Exact      nothing of the training is touched: it is made afterwards, as if the numbers had been set by hand.
  virtual void settle_workers(graph_view net, training_settings& settings, std::string const& machine,
                              detail::backend_handle (*port)(graph_view, training_settings const&)) = 0;
};

}  // namespace cohort
