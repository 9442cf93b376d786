// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace cohort_program {

/// Packs the images of a folder into archives, and prints their numbers. `source` contains the folders train
/// and test (or val) with one folder per class, or TinyImageNet as distributed: training images in
/// train/CLASS/images, test images in val/images, and their classes in val/val_annotations.txt. Writes
/// archives of `each` images to `target`/train and `target`/test, in one random order. Copies words.txt, the
/// names of the classes, to `target`.
///
/// Errors    data_error for an invalid folder or image.
void pack_images(std::string const& source, std::string const& target, int each);

}  // namespace cohort_program
