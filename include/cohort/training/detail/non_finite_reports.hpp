// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/strategy/strategy.hpp>
#include <string>
#include <vector>

namespace cohort::detail {

/// Reports on steps in which a loss or gradient of this rank was not finite. Other ranks receive these
/// reports at the next meeting.
class non_finite_reports {
 public:
  /// Records a step of this rank. `of_loss`: the loss was not finite; otherwise a gradient. `where`: see
  /// worker_group::non_finite_location.
  void add(step_info const& now, bool of_loss, std::string const& where);

  /// Removes the reports of all ranks and returns them as one error, which names up to four steps of each
  /// rank. Without any report, the error names `now` and the sum over the ranks.
  ///
  /// Order     collective.
  numeric_error exchange(communicator& world, step_info const& now);

 private:
  std::vector<std::string> pending_;  // oldest first; the first character is loss_mark or gradient_mark
};

}  // namespace cohort::detail
