// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/arrays.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace cohort::cifar10 {

/// The binary files of CIFAR-10: records of a label byte and 32 × 32 pixels, red, then green, then blue.
///
/// Shapes    input 3 × 32 × 32, u8 that arrive as f32 in [0, 1]; label i32 0 to 9 with its name.
/// Order     the records of the files in the order given.
/// Moves     3,073 bytes an image are kept.
/// Errors    file_error for a file that cannot be read; data_error naming it if it is empty or holds no whole number of
///           records, or a label above 9.
/// Source    Krizhevsky, Learning multiple layers of features from tiny images, 2009; "binary version".
arrays read(std::vector<std::string> const& files);

}  // namespace cohort::cifar10

namespace cohort::cifar10 {

inline constexpr std::uint64_t file_bytes = 30'730'000;  ///< 10,000 records

/// The 50,000 training images in the folder's data_batch_1.bin to data_batch_5.bin.
///
/// Errors    as read's; data_error naming a file that has not 30,730,000 bytes.
arrays train(std::string const& folder);

/// The 10,000 test images in the folder's test_batch.bin, like train.
arrays test(std::string const& folder);

}  // namespace cohort::cifar10

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/cifar10.ipp>
#endif
