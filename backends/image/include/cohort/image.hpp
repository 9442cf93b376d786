// SPDX-License-Identifier: Apache-2.0
#pragma once
// Image data sets: decoding, resizing, augmentation, mixing, folders and archives of image files, CIFAR-10.
#include <cohort/image/augmented.hpp>
#include <cohort/image/cifar10.hpp>
#include <cohort/image/class_words.hpp>
#include <cohort/image/colour.hpp>
#include <cohort/image/crop.hpp>
#include <cohort/image/decode.hpp>
#include <cohort/image/file_batches.hpp>
#include <cohort/image/image.hpp>
#include <cohort/image/image_folder.hpp>
#include <cohort/image/image_records.hpp>
#include <cohort/image/image_settings.hpp>
#include <cohort/image/image_window.hpp>
#include <cohort/image/mixed.hpp>
#include <cohort/image/pack_files.hpp>
#include <cohort/image/resize.hpp>
#include <cohort/image/rotate.hpp>
