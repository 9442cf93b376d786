// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/stat.h>

#include <cohort/data/arrays.hpp>
#include <cohort/data/dataset.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cohort::mnist {

/// Where the four files of MNIST are, plain or .gz.
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

/// Looks for MNIST: in the folder that the user names, and only there; else in $COHORT_DATA, data/, and the cache
/// ($XDG_CACHE_HOME or ~/.cache, cohort/mnist). A folder has it if the four files, plain or .gz, lie in it or
/// in its subfolder mnist/.
///
/// Errors    file_error if the user named a folder that has none. Nothing if no other folder has it.
std::optional<location> find(std::string_view user_path = {});

}  // namespace cohort::mnist

namespace cohort::mnist {

/// The 60,000 training images and their labels; `user_path` as for find.
///
/// Shapes    input 1 × 28 × 28 f32 in [0, 1], label i32 0 to 9, named "0" to "9".
/// Errors    file_error if there are none; data_error for files that are damaged, of other shapes or counts,
///           or with labels above 9.
arrays train(std::string_view user_path = {});

/// The 10,000 test images and their labels, like train.
arrays test(std::string_view user_path = {});

/// Both sets, and whether they are real.
struct sets {
  dataset train;
  dataset test;
  bool drawn = false;  ///< digits drawn by the library, because no MNIST was found: the report must say so
  std::string where;   ///< the file with the training images, or "drawn, seed 1"
};

/// Both sets of MNIST if it is found, else digits drawn from `seed`: they show that training runs, not how well.
///
/// Errors    as for train; where the user names a folder nothing is drawn.
sets real_or_drawn(std::string_view user_path = {}, std::uint64_t seed = 1, int drawn_train = 12'000,
                   int drawn_test = 2'000);

}  // namespace cohort::mnist

#ifndef COHORT_ZLIB_COMPILED
#include <cohort/zlib/impl/mnist.ipp>
#endif
