// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/strategy.hpp>
#include <vector>

namespace cohort::detail {

/// Temporarily replaces a replica with the cross-rank consensus. The destructor restores the replica bit for
/// bit.
///
/// `averages`  whether the parameters become their moving averages, if the run has any
/// Order       collective if the ranks have diverged. Exchanges the first `arrays` of the replica's arrays;
///             all of them for averages.
class scoped_consensus {
 public:
  scoped_consensus(strategy& exchange_strategy, replica const& mine, int arrays, bool averages);
  scoped_consensus(scoped_consensus const&) = delete;
  ~scoped_consensus();

 private:
  void replace(strategy& exchange_strategy, int arrays);
  void save(int array);

  replica mine_;
  std::vector<buffer> saved_;
};

}  // namespace cohort::detail
