// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/crop.hpp>
#include <cohort/tensor/element.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace cohort {

/// Position of the window that is cropped from an image: the centre, or random (`anywhere`).
enum class placing { centre, anywhere };

/// Augmentation of an example's image. Field order: window, position, flip, seed.
///
/// Units     pixels.
struct augmentation {
  int height = 0;  ///< of the window; 0: the image's
  int width = 0;
  int padding = 0;  ///< zeros around the image that the window may cover
  placing place = placing::centre;
  bool flip = false;  ///< mirrors each example with probability 1/2
  std::uint64_t seed = 0;
};

/// Random choices for one example: a function of (seed, epoch, index) only.
struct augmentation_draw {
  image_window window{};
  bool flip = false;
};

/// Returns the random choices for one example of an image of height × width.
augmentation_draw drawn(augmentation const& how, int height, int width, std::int64_t epoch,
                        std::int64_t index);

/// A data set whose first input is augmented randomly, anew in every epoch. An indexed data set over another
/// one; its other parts, keys and weights are unchanged. Works for any element type, because only bytes are
/// moved.
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
    refuse_unless(how_.padding >= 0 && how_.padding <= 1 << 16, "padding", "0 to 65536", how_.padding);
    refuse_unless(how_.padding == 0 || how_.place == placing::anywhere, "padding", "0 for a centred window",
                  how_.padding);
    window_fits("height", from_[1], how_.height);
    window_fits("width", from_[2], how_.width);
    what_.inputs[0].example = shape(from_[0], how_.height, how_.width);
  }

  data_description const& describe() const { return what_; }
  std::int64_t size() const { return data_.size(); }
  D const& data() const { return data_; }

  void get(std::int64_t i, example_view& out) const {
    example_view plain;
    plain.allocate(data_.describe());
    plain.epoch = out.epoch;
    data_.get(i, plain);
    out.weight = plain.weight;
    out.key = plain.key;
    augmentation_draw const chance = drawn(how_, from_[1], from_[2], out.epoch, i);
    switch (bytes_of(what_.inputs[0].stored)) {
      case 1:
        detail::copy_window<1>(plain.at(0), from_, chance.window, chance.flip, out.fill(0));
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
    for (std::size_t part = 1; part < what_.parts(); ++part) {
      tensor_description const& d = what_.part(part);
      std::memcpy(out.fill(part), plain.at(part),
                  static_cast<std::size_t>(d.example.elements()) * bytes_of(d.stored));
    }
  }

 private:
  static void refuse_unless(bool sound, char const* field, char const* expected, int got) {
    if (!sound)
      throw setting_error(
          {.what = "invalid augmentation", .where = field, .expected = expected, .got = {got}});
  }
  void window_fits(char const* field, int extent, int window) const {
    refuse_unless(window > 0, field, "at least 1, or 0 for the extent of the image", window);
    if (window > extent + 2 * how_.padding)
      throw shape_error({.what = "the window is larger than the padded image",
                         .where = field,
                         .expected = {"at most ", extent + 2 * how_.padding},
                         .got = {window}});
  }

  D data_;
  data_description what_;
  augmentation how_;
  shape from_{};
};

}  // namespace cohort

#ifndef COHORT_IMAGE_COMPILED
#include <cohort/image/impl/augmented.ipp>
#endif
