// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/dataset.hpp>
#include <cohort/data/detail/class_label.hpp>
#include <cohort/image/crop.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace cohort {

/// Settings of `mixed`, which combines each example with another example, its partner.
///
/// `mixup`        α, from 1e-6 to 1e6: each pixel is λ·example + (1 − λ)·partner, with λ drawn from
///                Beta(α, α). 0: not used
/// `cutmix`       α, from 1e-6 to 1e6: a rectangle with the fraction 1 − λ of the area is copied from the
///                partner, with λ as for mixup. 0: not used
/// `probability`  fraction of the examples that are mixed; if both methods are used, each is chosen with
///                probability 1/2
/// `seed`         seed of the random choices
///
/// Source    mixup: Zhang et al., ICLR 2018. CutMix: Yun et al., ICCV 2019.
struct mixing {
  double mixup = 0;
  double cutmix = 0;
  double probability = 1;
  std::uint64_t seed = 0;
};

/// Random choices for one example, which depend only on (seed, epoch, index).
///
/// `partner`   index of the partner
/// `share`     λ: weight of the example itself in image and target; 1: not mixed. cutmix: the fraction of the
///             area that is kept, after the rectangle is clipped at the image's edges
/// `window`    cutmix: the rectangle that is copied from the partner. mixup: a window without area
struct mixing_draw {
  std::int64_t partner = 0;
  double share = 1;
  image_window window{};
};

/// Returns the random choices for example `index` of `size` examples, whose images are height × width.
mixing_draw drawn(mixing const& how, std::int64_t size, int height, int width, std::int64_t epoch,
                  std::int64_t index);

namespace detail {

/// Returns the description of mixed examples.
///
/// Errors    setting_error for invalid settings; shape_error for data that cannot be mixed.
data_description describe_mixed(data_description what, mixing const& how);

/// mixup: own ← share·own + (1 − share)·other. cutmix: copies the window from `other` to `own`.
void mix_images(tensor_description const& images, mixing_draw const& chance, std::byte* own,
                std::byte const* other);

}  // namespace detail

/// An indexed data set that mixes each example of another data set with a random partner from it. The partner
/// differs from epoch to epoch. The class label becomes a distribution, which softmax_cross_entropy accepts:
/// λ for the example's class, and 1 − λ for the partner's class.
///
/// Shapes    the only input is channels × height × width of u8, f32 or f64; the only target is a label of n
///           classes, which becomes n f32 values. Key and weight are the example's.
/// Moves     reads the example and its partner.
/// Errors    setting_error for invalid settings; shape_error for other inputs or targets. From get:
///           data_error for a label out of range.
/// Exact     a mixed example depends only on (seed, epoch, index) and both examples: it is the same on any
///           rank, in any order, on any thread. Mixed bytes are rounded to nearest.
template <indexed_dataset D>
class mixed {
 public:
  explicit mixed(D data, mixing how)
      : data_(std::move(data)), how_(how), what_(detail::describe_mixed(data_.describe(), how)) {}

  data_description const& describe() const& { return what_; }
  data_description describe() && { return what_; }  // outlives the temporary
  std::int64_t size() const { return static_cast<std::int64_t>(data_.size()); }
  D const& data() const& { return data_; }
  D const& data() const&& = delete;  // keep the data set in a variable

  void get(std::int64_t i, example_view& out) const {
    data_description const& plain = data_.describe();
    std::size_t const target = plain.inputs.size();
    shape const& image = what_.inputs[0].example;
    mixing_draw const chance = drawn(how_, size(), image[1], image[2], out.epoch, i);
    tensor_description const& labels = plain.targets[0];
    // Reads the partner first and copies its image into the view, because reading the example itself may
    // invalidate the partner's data.
    example_view& other = out.source(plain, 1);
    std::int64_t other_label = 0;
    if (chance.share != 1) {
      detail::get_example(data_, chance.partner, other);
      other.edit<std::byte>(0);
      other_label = detail::checked_class_label(labels, other.at(target), chance.partner);
    }
    example_view& own = out.source(plain);
    detail::get_example(data_, i, own);
    out.weight = own.weight;
    out.key = own.key;
    std::byte* const pixels = out.fill(0);
    std::memcpy(pixels, own.at(0),
                static_cast<std::size_t>(image.elements()) * bytes_of(plain.inputs[0].stored));
    float* const shares = out.fill<float>(target);
    std::memset(shares, 0, static_cast<std::size_t>(labels.classes) * sizeof(float));
    shares[detail::checked_class_label(labels, own.at(target), i)] = static_cast<float>(chance.share);
    if (chance.share == 1) return;
    detail::mix_images(plain.inputs[0], chance, pixels, other.at(0));
    shares[other_label] += static_cast<float>(1 - chance.share);
  }

 private:
  D data_;
  mixing how_;
  data_description what_;
};

}  // namespace cohort
