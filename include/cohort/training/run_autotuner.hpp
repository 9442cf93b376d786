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

/// Chooses the implementations of layers whenever a plan is made, and the numbers of workers and threads
/// before the first plan.
class run_autotuner : public tuning {
 public:
  /// Number of examples per rank and step; layouts and workers are chosen for this number.
  virtual int batch() const = 0;

  /// If `workers` of `settings` is 0, chooses `workers` and `threads`, and logs the choice in one line.
  ///
  /// `machine`  processor, backend and library as text. `make_backend` makes a backend with separate
  ///            parameters.
  /// Exact      training gives the same bits as if the program had set these numbers.
  virtual void choose_workers(graph_view net, training_settings& settings, std::string const& machine,
                              detail::backend_handle (*make_backend)(graph_view,
                                                                     training_settings const&)) = 0;
};

}  // namespace cohort
