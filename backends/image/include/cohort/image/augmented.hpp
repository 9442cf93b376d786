// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/colour.hpp>
#include <cohort/image/crop.hpp>
#include <cohort/image/detail/copy_window.hpp>
#include <cohort/tensor/element.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace cohort {

/// Position of the window that is cropped from an image: the centre, or random (`anywhere`).
enum class placing { centre, anywhere };

/// A random rectangle that is overwritten with one value: cutout, or random erasing as torchvision defines
/// it.
///
/// Units     areas: fractions of the image. Ratios: height / width, drawn log-uniformly. `fill`: 0 to 255.
/// Source    Zhong et al., Random Erasing Data Augmentation, AAAI 2020.
struct random_erasing {
  double probability = 0;
  double least_area = 0.02;
  double most_area = 0.33;
  double least_ratio = 0.3;
  double most_ratio = 1 / 0.3;
  int fill = 0;
};

/// Augmentation of an example's image. Field order: window, position, flip, rotation, colour, erasing, seed.
///
/// Units     pixels. `rotation`: degrees; the angle is uniform in [−rotation, rotation].
/// Order     rotation of the whole image, window, flip, colours, erasing.
/// Before    rotation, colour and erasing: the images are stored as bytes. colour: they have 1 or 3 channels.
struct augmentation {
  int height = 0;  ///< of the window; 0: the image's
  int width = 0;
  int padding = 0;  ///< zeros around the image that the window may cover
  placing place = placing::centre;
  bool flip = false;  ///< mirrors each example with probability 1/2
  double rotation = 0;
  int fill = 0;  ///< value of pixels that a rotation uncovers, 0 to 255
  colour_jitter colour = {};
  random_erasing erase = {};
  std::uint64_t seed = 0;
};

/// Random choices for one example: a function of (seed, epoch, index) only.
struct augmentation_draw {
  image_window window{};
  bool flip = false;
  double degrees = 0;
  colour_change colour{};
  image_window erased{};  ///< relative to the window; without area: nothing is erased
};

/// Returns the random choices for one example, whose image is height × width.
augmentation_draw drawn(augmentation const& how, int height, int width, std::int64_t epoch,
                        std::int64_t index);

namespace detail {

/// Throws setting_error for an invalid setting, shape_error for images that cannot be augmented with these
/// settings.
void check(augmentation const& how, tensor_description const& images);

/// Applies all choices that change bytes: rotation, window, flip, colours, erasing.
///
/// Before    `to` has space for channels × window, and `rotated` for the image if it is rotated.
void augment_bytes(std::byte const* from, shape const& dims, augmentation const& how,
                   augmentation_draw const& chance, std::byte* rotated, std::byte* to);

}  // namespace detail

/// An indexed data set that augments the first input of another one, with new random choices in every epoch.
/// The other parts, keys and weights are unchanged. Windows and flips work for any element type, because they
/// only move elements.
///
/// Shapes    the first input is channels × height × width and becomes channels × window.
/// Errors    shape_error for a first input of another rank, or a window larger than the padded image;
///           setting_error for invalid settings.
/// Exact     an example is a function of (seed, epoch, index): the same on any rank, in any order, on any
///           thread.
template <indexed_dataset D>
class augmented {
 public:
  explicit augmented(D data, augmentation how) : data_(std::move(data)), what_(data_.describe()), how_(how) {
    if (what_.inputs.empty() || what_.inputs[0].example.rank != 3)
      throw shape_error({.what = "only images can be augmented",
                         .where = what_.inputs.empty() ? "" : what_.inputs[0].name,
                         .expected = "a first input of channels x height x width",
                         .got = what_.inputs.empty() ? "none" : to_string(what_.inputs[0].example)});
    from_ = what_.inputs[0].example;
    if (how_.height == 0) how_.height = from_[1];
    if (how_.width == 0) how_.width = from_[2];
    detail::check(how_, what_.inputs[0]);
    what_.inputs[0].example = shape(from_[0], how_.height, how_.width);
  }

  data_description const& describe() const { return what_; }
  std::int64_t size() const { return data_.size(); }
  std::optional<std::int64_t> label(std::int64_t i) const { return detail::label_in(data_, i); }
  D const& data() const { return data_; }

  void get(std::int64_t i, example_view& out) const {
    example_view& plain = out.source(data_.describe());
    detail::get_example(data_, i, plain);
    out.weight = plain.weight;
    out.key = plain.key;
    augmentation_draw const chance = drawn(how_, from_[1], from_[2], out.epoch, i);
    switch (bytes_of(what_.inputs[0].stored)) {
      case 1:
        detail::augment_bytes(plain.at(0), from_, how_, chance, out.source(data_.describe(), 1).fill(0),
                              out.fill(0));
        break;
      case 2:
        detail::copy_window<2>(plain.at(0), from_, chance.window, chance.flip, out.fill(0));
        break;
      case 4:
        detail::copy_window<4>(plain.at(0), from_, chance.window, chance.flip, out.fill(0));
        break;
      default:
        detail::copy_window<8>(plain.at(0), from_, chance.window, chance.flip, out.fill(0));
        break;
    }
    for (std::size_t part = 1; part < what_.parts(); ++part) out.point(part, plain.at(part));
  }

 private:
  D data_;
  data_description what_;
  augmentation how_;
  shape from_{};
};

}  // namespace cohort

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/augmented.ipp>
#endif
