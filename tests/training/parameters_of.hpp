// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/training/training.hpp>
#include <cstddef>
#include <vector>

namespace cohort_test {

/// The master copy of all parameters, in the graph's order.
template <class T = double>
std::vector<T> parameters_of(cohort::training& made) {
  std::vector<T> dense(static_cast<std::size_t>(made.parameters().elements()));
  made.parameters().read_all(made.parameters().master(), reinterpret_cast<std::byte*>(dense.data()));
  return dense;
}

}  // namespace cohort_test
