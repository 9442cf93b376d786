// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/zlib/detail/implementation.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cohort::mnist {

/// Paths of the four files of MNIST, plain or .gz.
struct location {
  std::string train_images;
  std::string train_labels;
  std::string test_images;
  std::string test_labels;
};

}  // namespace cohort::mnist

namespace cohort::detail {

bool is_regular_file(std::string const& path);

}  // namespace cohort::detail

namespace cohort::mnist {

/// Finds MNIST's files. If `user_path` is not empty, searches only there; otherwise $COHORT_DATA, data/, and
/// the cache (cohort/mnist in $XDG_CACHE_HOME or ~/.cache). A folder qualifies if the folder or its subfolder
/// mnist/ has all four files, plain or .gz. Returns nothing if no folder qualifies.
///
/// Errors    file_error if `user_path` is not empty and does not qualify.
std::optional<location> find(std::string_view user_path = {});

}  // namespace cohort::mnist

namespace cohort::mnist {

/// Reads the 60,000 training images and their labels; `user_path` as for find.
///
/// Shapes    input 1 × 28 × 28 f32 in [0, 1]; label i32 0 to 9, named "0" to "9".
/// Errors    file_error if MNIST is not found; data_error for files that are damaged, have other shapes or
///           counts, or have labels above 9.
arrays train(std::string_view user_path = {});

/// Reads the 10,000 test images and their labels, like train.
arrays test(std::string_view user_path = {});

/// Training and test set, and whether they are real MNIST data.
struct sets {
  dataset train;
  dataset test;
  bool synthetic = false;  ///< synthetic digits, because MNIST was not found; reports must state this
  std::string where;       ///< the file with the training images, or "synthetic, seed 1"
};

/// Returns both sets of MNIST if `find` finds it, otherwise synthetic digits generated from `seed`. Training
/// on synthetic digits shows that a program runs; its accuracy cannot be compared with MNIST's.
///
/// Errors    file_error if the folder named by the user does not qualify; data_error as for train.
sets real_or_synthetic(std::string_view user_path = {}, std::uint64_t seed = 1, int synthetic_train = 12'000,
                       int synthetic_test = 2'000);

}  // namespace cohort::mnist
