// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/mnist.hpp>
#include "program.hpp"

namespace reference_program {

constexpr char const* mnist_help =
    R"(folder with MNIST's four files, plain or .gz; default: $COHORT_DATA, data/ or the cache,
                   otherwise synthetic digits)";

inline sets mnist_sets(options const& chosen) {
  auto found = cohort::mnist::real_or_drawn(chosen.data);
  sets made{.train = std::move(found.train), .test = std::move(found.test), .where = found.where};
  if (found.drawn) {
    made.kind = "drawn";
    made.notice = "MNIST was not found: these digits are synthetic; the accuracy is not that of MNIST.";
  }
  return made;
}

}  // namespace reference_program
