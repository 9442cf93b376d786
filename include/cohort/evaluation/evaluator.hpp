// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cohort {

/// Compares the outputs of a network with the targets. Several evaluators can use one pass over the data.
/// Evaluators of different parts of the data are merged by their bytes.
///
/// `add`       adds outputs N×… and their targets N×…; `first`: index of the first example, for errors; by
///             default the number of examples added before
/// `to_bytes`  returns all data added so far as bytes, to be sent to other ranks
/// `merge`     adds the data of another evaluator with the same settings
/// `clear`     removes all data added so far
///
/// Order     data may be added in any order; the same order gives the same bits.
/// Before    bytes are untrusted.
/// Errors    shape_error, data_error. The evaluator is unchanged after an error.
/// Exact     the counts of merged parts equal those of one evaluator over all data; sums are equal up to a
///           relative error of 1e-12.
class evaluator {
 public:
  virtual ~evaluator() = default;
  virtual void add(tensor_view outputs, tensor_view targets, std::optional<std::int64_t> first = {}) = 0;
  virtual std::vector<std::byte> to_bytes() const = 0;
  virtual void merge(std::span<std::byte const> bytes) = 0;
  virtual void clear() = 0;

 protected:
  evaluator() = default;
  evaluator(evaluator const&) = default;
  evaluator& operator=(evaluator const&) = default;
};

}  // namespace cohort
