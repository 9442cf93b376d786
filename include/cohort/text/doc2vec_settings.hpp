// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/text/detail/implementation.hpp>
#include <cstdint>

namespace cohort {

/// Settings of doc2vec. The defaults are those of gensim's Doc2Vec.
struct doc2vec_settings {
  /// distributed_memory (PV-DM): a word is predicted from the mean of the document's vector and the vectors
  /// of the words around. bag_of_words (PV-DBOW): from the document's vector alone.
  enum class kind : std::uint8_t { distributed_memory, bag_of_words };

  kind model = kind::distributed_memory;
  int width = 100;          ///< number of elements of a vector
  int window = 5;           ///< words on each side: drawn from 1 to `window` for each position
  int negatives = 5;        ///< noise words per position, at least 1
  double subsample = 1e-3;  ///< frequency above which words are dropped at random; 0: none
  double learning_rate = 0.025;
  double final_rate = 1e-4;  ///< the rate falls linearly over all epochs to this value
  int epochs = 10;
  std::uint64_t seed = 1;
};

}  // namespace cohort
