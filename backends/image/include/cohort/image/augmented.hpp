// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/colour.hpp>
#include <cohort/image/crop.hpp>
#include <cohort/tensor/element.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace cohort {

/// Position of the window that is cropped from an image: the centre, or random (`anywhere`).
enum class placing { centre, anywhere };

/// Overwrites a random rectangle with one value: cutout, or torchvision's random erasing.
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

/// Settings of `augmented`. Field order: window, position, flip, rotation, colour, erasing, seed.
///
/// Units     pixels. `rotation`: degrees; the angle is uniform in [−rotation, rotation].
/// Order     the steps are applied in this order: rotation of the whole image, window, flip, colours,
///           erasing.
/// Before    rotation, colour and erasing need images stored as bytes; colour needs 1 or 3 channels.
struct augmentation {
  int height = 0;  ///< height of the window; 0: the image's height
  int width = 0;
  int padding = 0;  ///< width of the border of zeros that the window may include
  placing place = placing::centre;
  bool flip = false;  ///< mirrors each example with probability 1/2
  double rotation = 0;
  int fill = 0;  ///< value of pixels that a rotation uncovers, 0 to 255
  colour_jitter colour = {};
  random_erasing erase = {};
  std::uint64_t seed = 0;
};

/// Random choices for one example, which depend only on (seed, epoch, index).
struct augmentation_draw {
  image_window window{};
  bool flip = false;
  double degrees = 0;
  colour_change colour{};
  image_window erased{};  ///< relative to `window`; if the area is 0, nothing is erased
};

/// Returns the random choices for one example, whose image is height × width.
augmentation_draw drawn(augmentation const& how, int height, int width, std::int64_t epoch,
                        std::int64_t index);

namespace detail {

/// Throws setting_error for an invalid setting, and shape_error for images that cannot be augmented with
/// these settings.
void check(augmentation const& how, tensor_description const& images);

/// Returns one shape for each input and target of an example: channels × height × width if the part must be
/// moved like the first input, otherwise an empty shape.
///
/// Before    check has passed; the first input is channels × height × width.
/// Errors    shape_error naming a part that must be moved but cannot: an image of other extents, or one that
///           cannot be rotated.
std::vector<shape> moved_images(augmentation const& how, data_description const& what);

/// Copies an image, applying the choices that move pixels: rotation, window, flip.
///
/// Before    `to` has space for channels × window; if the image is rotated, `rotated` has space for the
///           image.
void move_image(std::byte const* from, shape const& dims, element_type type, augmentation const& how,
                augmentation_draw const& chance, std::byte* rotated, std::byte* to);

/// Applies the choices that change pixel values to a moved image: colours, erasing.
void change_bytes(std::byte* image, shape const& dims, augmentation const& how,
                  augmentation_draw const& chance);

}  // namespace detail

/// An indexed data set that augments the images of another data set, with new random choices in every epoch.
/// Rotation, window and flip move all images of an example in the same way: the first input, and each other
/// input or target with the same height and width, such as a mask or the image to restore. Colours and
/// erasing change only the first input. Other parts, keys and weights are unchanged, even if they contain
/// positions in the image. Windows and flips work for any element type, because they only move elements.
///
/// Shapes    the first input is channels × height × width and becomes channels × window. The same holds for
///           each part with this height and width, with or without channels.
/// Errors    setting_error for invalid settings. shape_error if the first input has another rank, or if the
///           window is larger than the padded image. shape_error for a further image that cannot be moved:
///           its extents differ from the first input's, or `rotation` is set and the image is not stored as
///           bytes. shape_error for a part of another rank with as many elements as the image or one of its
///           channels, because it may be a flattened image.
/// Exact     an example depends only on (seed, epoch, index): it is the same on any rank, in any order, on
///           any thread.
template <indexed_dataset D>
class augmented {
 public:
  explicit augmented(D data, augmentation how) : data_(std::move(data)), what_(data_.describe()), how_(how) {
    if (what_.inputs.empty() || what_.inputs[0].example.rank != 3)
      throw shape_error({.what = "only images can be augmented",
                         .where = what_.inputs.empty() ? "" : what_.inputs[0].name,
                         .expected = "a first input of channels x height x width",
                         .got = what_.inputs.empty() ? "none" : to_string(what_.inputs[0].example)});
    shape const from = what_.inputs[0].example;
    if (how_.height == 0) how_.height = from[1];
    if (how_.width == 0) how_.width = from[2];
    detail::check(how_, what_.inputs[0]);
    moved_ = detail::moved_images(how_, what_);
    for (std::size_t part = 0; part < moved_.size(); ++part) {
      if (moved_[part].rank == 0) continue;
      std::size_t const inputs = what_.inputs.size();
      tensor_description& one = part < inputs ? what_.inputs[part] : what_.targets[part - inputs];
      one.example = one.example.rank == 3 ? shape(one.example[0], how_.height, how_.width)
                                          : shape(how_.height, how_.width);
    }
  }

  data_description const& describe() const& { return what_; }
  data_description describe() && { return what_; }  // outlives the temporary
  std::int64_t size() const { return data_.size(); }
  std::optional<std::int64_t> label(std::int64_t i) const { return detail::label_in(data_, i); }
  D const& data() const& { return data_; }
  D const& data() const&& = delete;  // keep the data set in a variable

  void get(std::int64_t i, example_view& out) const {
    data_description const& plain_what = data_.describe();
    example_view& plain = out.source(plain_what);
    detail::get_example(data_, i, plain);
    out.weight = plain.weight;
    out.key = plain.key;
    augmentation_draw const chance = drawn(how_, moved_[0][1], moved_[0][2], out.epoch, i);
    for (std::size_t part = 0; part < moved_.size(); ++part) {
      if (moved_[part].rank == 0) {
        out.point(part, plain.at(part));
        continue;
      }
      std::byte* const rotated = chance.degrees != 0 ? out.source(plain_what, 1).fill(part) : nullptr;
      std::byte* const to = out.fill(part);
      detail::move_image(plain.at(part), moved_[part], plain_what.part(part).stored, how_, chance, rotated,
                         to);
      if (part == 0) detail::change_bytes(to, moved_[0], how_, chance);
    }
  }

 private:
  D data_;
  data_description what_;
  augmentation how_;
  std::vector<shape> moved_;
};

}  // namespace cohort
