// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/strategy/strategy.hpp>
#include <vector>

namespace cohort::detail {

/// As long as it lives, a replica holds what all ranks would agree on now; then its own again, bit for bit.
///
/// Order     collective where ranks differ. The first `arrays` of the replica's arrays are exchanged.
class scoped_consensus {
 public:
  scoped_consensus(strategy& agree, replica const& mine, int arrays);
  scoped_consensus(scoped_consensus const&) = delete;
  ~scoped_consensus();

 private:
  replica mine_;
  std::vector<buffer> own_;
};

}  // namespace cohort::detail

#ifndef COHORT_CORE_COMPILED
#include <cohort/trainer/impl/scoped_consensus.ipp>
#endif
