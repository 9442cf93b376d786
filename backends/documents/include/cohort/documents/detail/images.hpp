// SPDX-License-Identifier: Apache-2.0
#pragma once
// The images of a run document.
#include <cohort/configuration/data_source.hpp>
#include <cohort/configuration/run_document.hpp>
#include <cohort/data/dataset.hpp>
#include <cohort/documents/settings.hpp>
#include <cohort/execution/sink.hpp>
#if COHORT_WITH_IMAGE
#include <cohort/image.hpp>
#endif
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cohort::detail {

#if COHORT_WITH_IMAGE
/// Returns settings with a counter of the images whose EXIF orientation is not applied, and a log in the
/// terms of documents. `data`: the source of the images.
inline image_settings settings_of(image_options const& from, data_source const& data) {
  using fit = image_options::fit;
  image_settings settings{.channels = from.channels, .height = from.height, .width = from.width};
  if (from.other_sizes == fit::stretch) settings.other_sizes = fitting::stretch;
  if (from.other_sizes == fit::cover) settings.other_sizes = fitting::cover;
  settings.salvage = from.salvage;
  settings.apply_exif_orientation = from.apply_exif_orientation;
  run_document run;
  run.data = data;
  settings.log = [run = std::move(run), print = stderr_sink()](std::string_view line) {
    print(run.explain(line));
  };
  settings.ignored_orientations = std::make_shared<std::atomic<std::int64_t>>(0);
  settings.normalise.mean = from.mean;
  settings.normalise.deviation = from.deviation;
  return settings;
}

/// Augments training images as a document requests. `seed`: seed of the random choices, which differ from
/// epoch to epoch.
inline dataset augmented_images(dataset images, image_options::changes const& from, std::uint64_t seed) {
  augmentation const settings{.padding = from.padding,
                              .place = placing::anywhere,
                              .flip = from.flip,
                              .rotation = from.rotation,
                              .colour = {.brightness = from.brightness,
                                         .contrast = from.contrast,
                                         .saturation = from.saturation,
                                         .hue = from.hue},
                              .erase = {.probability = from.erasing},
                              .seed = seed};
  bool const moves = settings.padding > 0 || settings.flip || settings.rotation > 0;
  if (moves || !(settings.colour == colour_jitter()) || settings.erase.probability > 0)
    images = augmented(std::move(images), settings);
  if (from.mixup == 0 && from.cutmix == 0) return images;
  return mixed(std::move(images), {.mixup = from.mixup, .cutmix = from.cutmix, .seed = seed});
}
#else
[[noreturn]] inline void refuse_images(char const* where) {
  throw documents::usage_error(
      std::string(where)
      + ": expected a program that was built with the component image, got one without it: install "
        "libturbojpeg0-dev, libpng-dev and zlib1g-dev, and build again");
}
#endif

}  // namespace cohort::detail
