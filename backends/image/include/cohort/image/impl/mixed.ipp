// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/mixed.hpp>
#include <cohort/random/stream.hpp>
#include <type_traits>

namespace cohort::detail {

/// Draws random numbers of one stream, in order.
class random_sequence {
 public:
  explicit random_sequence(random_stream const& from) : from_(from) {}
  double uniform() { return from_.uniform01<double>(next_++); }
  std::uint64_t below(std::uint64_t bound) { return from_.below(next_++, bound); }

  /// Returns the logarithm of a random number with the distribution Gamma(shape, 1).
  ///
  /// Source    Marsaglia and Tsang, 2000; for a shape below 1, their boost by U^(1/shape).
  double log_gamma(double shape) {
    double const raised = shape < 1 ? shape + 1 : shape;
    double const boost = shape < 1 ? std::log(1 - uniform()) / shape : 0;
    double const d = raised - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      double const x = normal(), v = std::pow(std::max(1 + c * x, 0.0), 3);
      if (v > 0 && std::log(1 - uniform()) < x * x / 2 + d - d * v + d * std::log(v))
        return std::log(d * v) + boost;
    }
  }

 private:
  double normal() {
    next_ += next_ % 2;
    double const x = from_.normal<double>(next_);
    next_ += 2;
    return x;
  }

  random_stream from_;
  std::uint64_t next_ = 0;
};

data_description describe_mixed(data_description what, mixing const& how) {
  auto const check = [](char const* field, double value, double least, double most, char const* valid) {
    if (value != 0 && !(value >= least && value <= most))
      throw setting_error({.what = "invalid mixing", .where = field, .expected = valid, .got = {value}});
  };
  check("mixup", how.mixup, 1e-6, 1e6, "0, or a number from 1e-6 to 1e6");
  check("cutmix", how.cutmix, 1e-6, 1e6, "0, or a number from 1e-6 to 1e6");
  check("probability", how.probability, 0, 1, "a number from 0 to 1");
  auto const refuse = [](char const* expected, clause got) {
    throw shape_error({.what = "these examples cannot be mixed",
                       .where = "mixed",
                       .expected = expected,
                       .got = std::move(got)});
  };
  if (what.inputs.empty() || what.inputs[0].example.rank != 3)
    refuse("a first input of channels x height x width",
           what.inputs.empty() ? clause("none") : clause(to_string(what.inputs[0].example)));
  element_type const stored = what.inputs[0].stored;
  if (stored != element_type::u8 && stored != element_type::f32 && stored != element_type::f64)
    refuse("images of u8, f32 or f64", {name_of(stored)});
  if (what.targets.empty() || what.targets[0].classes < 1)
    refuse("a first target that is a class label", what.targets.empty() ? "none" : "numbers");
  if (what.parts() > 2)
    refuse("one input and one target, which are mixed",
           {what.inputs.size(), " inputs, ", what.targets.size(), " targets, ", what.masks.size(), " masks"});
  tensor_description labels = what.targets[0];
  what.targets[0] = {
      .name = labels.name, .example = {labels.classes}, .label_names = std::move(labels.label_names)};
  return what;
}

template <class T>
void mix(T* own, T const* other, std::size_t count, double share) {
  for (std::size_t i = 0; i < count; ++i) {
    double const value = share * static_cast<double>(own[i]) + (1 - share) * static_cast<double>(other[i]);
    own[i] = static_cast<T>(std::is_integral_v<T> ? value + 0.5 : value);
  }
}

void mix_images(tensor_description const& images, mixing_draw const& chance, std::byte* own,
                std::byte const* other) {
  shape const& dims = images.example;
  auto const count = static_cast<std::size_t>(dims.elements());
  image_window const& window = chance.window;
  if (window.height > 0) {
    std::size_t const element = bytes_of(images.stored);
    for (int channel = 0; channel < dims[0]; ++channel)
      for (int y = window.top; y < window.top + window.height; ++y) {
        auto const first =
            static_cast<std::size_t>((std::int64_t{channel} * dims[1] + y) * dims[2] + window.left) * element;
        std::memcpy(own + first, other + first, static_cast<std::size_t>(window.width) * element);
      }
  } else if (images.stored == element_type::u8) {
    mix(reinterpret_cast<std::uint8_t*>(own), reinterpret_cast<std::uint8_t const*>(other), count,
        chance.share);
  } else if (images.stored == element_type::f32) {
    mix(reinterpret_cast<float*>(own), reinterpret_cast<float const*>(other), count, chance.share);
  } else {
    mix(reinterpret_cast<double*>(own), reinterpret_cast<double const*>(other), count, chance.share);
  }
}

}  // namespace cohort::detail

namespace cohort {

mixing_draw drawn(mixing const& how, std::int64_t size, int height, int width, std::int64_t epoch,
                  std::int64_t index) {
  detail::random_sequence chance(
      {how.seed, "mixing", static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(index)});
  bool const mixes = chance.uniform() < how.probability;
  bool const cuts = how.cutmix > 0 && (how.mixup <= 0 || chance.below(2) == 1);
  double const alpha = cuts ? how.cutmix : how.mixup;
  mixing_draw made{.partner = index};
  if (!mixes || alpha <= 0) return made;
  made.partner = static_cast<std::int64_t>(chance.below(static_cast<std::uint64_t>(size)));
  double const a = chance.log_gamma(alpha), b = chance.log_gamma(alpha);
  made.share = 1 / (1 + std::exp(b - a));
  if (!cuts) return made;
  double const side = std::sqrt(1 - made.share);
  auto const part = [&](int extent, int& first, int& length) {  // centred anywhere, clipped at the edges
    int const half = static_cast<int>(extent * side) / 2,
              centre = static_cast<int>(chance.below(static_cast<std::uint64_t>(extent)));
    first = std::max(centre - half, 0);
    length = std::min(centre + half, extent) - first;
  };
  part(height, made.window.top, made.window.height);
  part(width, made.window.left, made.window.width);
  double const area = static_cast<double>(made.window.height) * made.window.width;
  if (area == 0) return {.partner = index};
  made.share = 1 - area / (static_cast<double>(height) * width);
  return made;
}

}  // namespace cohort
