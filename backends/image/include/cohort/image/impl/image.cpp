// SPDX-License-Identifier: Apache-2.0
#include <cohort/image/detail/implementation.hpp>
#include <cohort/image/impl/augmented.ipp>
#include <cohort/image/impl/bmp.ipp>
#include <cohort/image/impl/cifar10.ipp>
#include <cohort/image/impl/class_words.ipp>
#include <cohort/image/impl/colour.ipp>
#include <cohort/image/impl/crop.ipp>
#include <cohort/image/impl/decode.ipp>
#include <cohort/image/impl/exif_orientation.ipp>
#include <cohort/image/impl/file_batches.ipp>
#include <cohort/image/impl/gif.ipp>
#include <cohort/image/impl/image.ipp>
#include <cohort/image/impl/image_bytes.ipp>
#include <cohort/image/impl/image_folder.ipp>
#include <cohort/image/impl/image_reader.ipp>
#include <cohort/image/impl/image_records.ipp>
#include <cohort/image/impl/jpeg.ipp>
#include <cohort/image/impl/mixed.ipp>
#include <cohort/image/impl/pack_files.ipp>
#include <cohort/image/impl/png.ipp>
#include <cohort/image/impl/resize.ipp>
#include <cohort/image/impl/rotate.ipp>
#include <cohort/image/impl/tiff.ipp>
#include <cohort/image/impl/webp.ipp>
#include <cohort/image/impl/zip_file.ipp>

COHORT_IS_IMPLEMENTATION(cohort_image_src_hpp)
