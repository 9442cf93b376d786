// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <cohort/image/detail/implementation.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort::cifar10 {

/// Reads binary files of CIFAR-10: records of a label byte and 32 × 32 pixels, red, then green, then blue.
///
/// Shapes    input 3 × 32 × 32, stored as u8, delivered as f32 in [0, 1]; label i32 0 to 9 with its name.
/// Order     the records of the files in the given order.
/// Moves     keeps 3,073 bytes per image in memory.
/// Errors    setting_error if `files` is empty; file_error for a file that cannot be read; data_error naming
///           the file if the file is empty, does not contain a whole number of records, or has a label above
///           9.
/// Source    Krizhevsky, Learning multiple layers of features from tiny images, 2009; "binary version".
arrays read(std::vector<std::string> const& files);

inline constexpr std::uint64_t file_bytes = 30'730'000;  ///< 10,000 records

/// Reads the 50,000 training images: data_batch_1.bin to data_batch_5.bin of the folder.
///
/// Errors    as for read; data_error naming a file whose size is not 30,730,000 bytes.
arrays train(std::string const& folder);

/// Reads the 10,000 test images: test_batch.bin of the folder. Errors as for train.
arrays test(std::string const& folder);

}  // namespace cohort::cifar10
