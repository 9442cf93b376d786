// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/tensor/view.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cohort {

/// Looks at what a network answers to examples and at what would have been right. Several may look at one pass over the
/// data, and each at a part of it: their bytes bring the parts together.
///
/// add        outputs N×…, their targets N×…; `first` is the number of the first example in errors, by default how many
///            came before
/// to_bytes   all that was seen, small enough to be sent
/// merge      adds what another evaluator, of the same settings, has seen
/// clear      nothing was seen
///
/// Order     any, but the same order gives the same bits.
/// Before    bytes are untrusted.
/// Errors    shape_error, data_error: the evaluator is then as it was before.
/// Exact     merged parts have the counts of the whole, and its sums to 1e-12.
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
