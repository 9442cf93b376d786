// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace cohort {

/// Selects one of several implementations (candidates): by time, from a cache, or as a test requires.
///
/// Exact     candidates give the same result up to rounding, so the bits of results depend on the selection.
///           Ranks may select different candidates. Exchanged data is canonical, or in the master's layouts
///           if these are equal on all ranks. All ranks sum the data in the same order.
class tuning {
 public:
  /// Returns the seconds of a candidate's run; infinity if the candidate cannot run or equals an earlier one.
  using stopwatch = std::function<double(std::size_t candidate)>;

  virtual ~tuning() = default;

  /// Returns the index of the selected candidate. Candidate 0 is the one that runs without tuning.
  ///
  /// `what`    text of everything that the selection depends on: machine, layer, shapes, layouts.
  /// Errors    the errors of candidate 0. Other candidates that cannot run are skipped.
  virtual std::size_t choose(std::string const& what, std::span<std::string const> candidates,
                             stopwatch const& seconds_of) = 0;
};

}  // namespace cohort
