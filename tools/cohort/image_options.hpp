// SPDX-License-Identifier: Apache-2.0
#pragma once
// The images of a run document: HAS_IMAGE is 1 if this program is built with the component image.
#include <cohort/configuration/data_source.hpp>
#include <cohort/configuration/run_document.hpp>
#include <cohort/execution/sink.hpp>
#if __has_include(<cohort/image.hpp>)
#include <cohort/image.hpp>
#define HAS_IMAGE 1
#endif
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include "reference_program/options.hpp"

namespace cohort_program {

#if HAS_IMAGE
/// Returns settings with a counter of the images whose EXIF orientation is not applied, and a log in the
/// terms of documents. `data`: the source of the images.
inline cohort::image_settings settings_of(cohort::image_options const& from,
                                          cohort::data_source const& data) {
  using fit = cohort::image_options::fit;
  cohort::image_settings how{.channels = from.channels, .height = from.height, .width = from.width};
  if (from.other_sizes == fit::stretch) how.other_sizes = cohort::fitting::stretch;
  if (from.other_sizes == fit::cover) how.other_sizes = cohort::fitting::cover;
  how.salvage = from.salvage;
  how.apply_exif_orientation = from.apply_exif_orientation;
  cohort::run_document run;
  run.data = data;
  how.log = [run = std::move(run), print = cohort::stderr_sink()](std::string_view line) {
    print(run.explain(line));
  };
  how.ignored_orientations = std::make_shared<std::atomic<std::int64_t>>(0);
  how.normalise.mean = from.mean;
  how.normalise.deviation = from.deviation;
  return how;
}

/// Augments training images as a document requests. `seed`: seed of the random choices, which differ from
/// epoch to epoch.
template <class Images>
cohort::dataset training_part(Images images, cohort::image_options const& from, std::uint64_t seed) {
  if (from.padding == 0 && !from.flip && from.rotation == 0) return images;
  return cohort::augmented(std::move(images), cohort::augmentation{.padding = from.padding,
                                                                   .place = cohort::placing::anywhere,
                                                                   .flip = from.flip,
                                                                   .rotation = from.rotation,
                                                                   .seed = seed});
}
#else
[[noreturn]] inline void refuse_images(char const* where) {
  throw reference_program::usage_error(
      std::string(where)
      + ": expected a program that was built with the component image, got one without it: install "
        "libturbojpeg0-dev, libpng-dev and zlib1g-dev, and build again");
}
#endif

}  // namespace cohort_program
