// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/optimizer/optimizer_rule.hpp>
#include <cohort/text/detail/implementation.hpp>
#include <cstdint>

namespace cohort {

/// Settings of word2vec. The defaults are those of the original tool, except `windows` and `shared_windows`.
struct word2vec_settings {
  int width = 100;          ///< number of elements of a word vector
  int window = 5;           ///< words on each side of the centre: drawn from 1 to `window` for each position
  int negatives = 5;        ///< noise words per window; 0: hierarchical softmax
  int shared_windows = 4;   ///< consecutive windows that share their noise words
  double subsample = 1e-3;  ///< frequency above which words are dropped at random; 0: none
  optimizer_rule optimizer = sgd{.learning_rate = 0.025};  ///< sgd, adagrad or adam, with a fixed rate
  double final_rate = 1e-4;  ///< the rate falls linearly over all epochs to this value
  double row_limit = 3;      ///< for sgd: see word2vec; 0: no limit
  int epochs = 5;
  int windows = 1024;  ///< windows of a step, over all ranks
  std::uint64_t seed = 1;
};

/// Results of a step of word2vec.
struct word2vec_step {
  std::int64_t step = 0;   ///< index of this step, from 0
  std::int64_t epoch = 0;  ///< epoch of the step, from 0
  std::int64_t windows = 0;
  std::int64_t pairs = 0;       ///< pairs of a centre and a word in its window, over all ranks
  double loss = 0;              ///< mean over the pairs, before the update; NaN without pairs
  std::int64_t rows = 0;        ///< updated rows of both matrices
  std::int64_t bytes_sent = 0;  ///< by this rank in this step
};

}  // namespace cohort
