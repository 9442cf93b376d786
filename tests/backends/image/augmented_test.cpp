// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/arrays.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/image/augmented.hpp>
#include <cohort/image/rotate.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "../../data/refused.hpp"

namespace augmented_test {

using cohort::augmented;
using cohort::placing;

constexpr int count = 40;

/// Images whose pixels encode example, row and column; key and label encode the example.
class ruler {
 public:
  ruler() {
    what_.inputs = {{.name = "input", .example = {2, 6, 5}}};
    what_.targets = {{.name = "label",
                      .stored = cohort::element_type::i32,
                      .type = cohort::element_type::i32,
                      .classes = count}};
    what_.keyed = true;
    what_.weighted = true;
    for (int i = 0; i < count; ++i) keys_.push_back("example " + std::to_string(i));
  }
  cohort::data_description const& describe() const { return what_; }
  std::int64_t size() const { return count; }
  void get(std::int64_t i, cohort::example_view& out) const {
    float* pixel = out.fill<float>(0);
    for (int c = 0; c < 2; ++c)
      for (int y = 0; y < 6; ++y)
        for (int x = 0; x < 5; ++x) *pixel++ = static_cast<float>(1000 * i + 100 * c + 10 * y + x + 1);
    *out.fill<std::int32_t>(1) = static_cast<std::int32_t>(i);
    out.key = keys_[static_cast<std::size_t>(i)];
    out.weight = static_cast<float>(i);
  }

 private:
  cohort::data_description what_;
  std::vector<std::string> keys_;
};

using pixels = std::vector<float>;

/// The augmented examples of an epoch, from the loader of one of several ranks.
std::map<std::int64_t, pixels> epoch_of(augmented<ruler> const& data, std::int64_t epoch, int ranks,
                                        int prefetch) {
  std::map<std::int64_t, pixels> seen;
  for (int rank = 0; rank < ranks; ++rank) {
    cohort::loader loader(data, {.batch = 3, .rank = rank, .ranks = ranks, .seed = 5, .prefetch = prefetch});
    loader.start(epoch);
    while (cohort::batch const* b = loader.next()) {
      auto const all = b->input().as<float>();
      std::size_t const each = all.size() / static_cast<std::size_t>(b->count);
      for (std::size_t row = 0; row < b->indices.size(); ++row) {
        std::int64_t const i = b->indices[row];
        seen[i].assign(all.begin() + static_cast<std::ptrdiff_t>(row * each),
                       all.begin() + static_cast<std::ptrdiff_t>((row + 1) * each));
        EXPECT_EQ(b->target().as<std::int32_t>()[row], i);
        EXPECT_EQ(b->keys[row], "example " + std::to_string(i));
        EXPECT_EQ(b->weights[row], static_cast<float>(i));
      }
    }
  }
  return seen;
}

augmented<ruler> chance(std::uint64_t seed = 1) {
  return augmented(
      ruler(),
      {.height = 4, .width = 4, .padding = 2, .place = placing::anywhere, .flip = true, .seed = seed});
}

TEST(augmented, is_the_same_with_any_number_of_ranks_and_with_prefetching) {
  auto const alone = epoch_of(chance(), 3, 1, 0);
  EXPECT_EQ(alone.size(), 40U);
  for (int ranks : {1, 2, 3})
    for (int prefetch : {0, 2}) EXPECT_EQ(epoch_of(chance(), 3, ranks, prefetch), alone);
}

TEST(augmented, differs_by_epoch_and_seed) {
  auto const first = epoch_of(chance(), 0, 1, 0);
  auto const second = epoch_of(chance(), 1, 1, 0);
  auto const other = epoch_of(chance(2), 0, 1, 0);
  int same_epoch = 0;
  int same_seed = 0;
  for (auto const& [i, image] : first) {
    same_epoch += second.at(i) == image ? 1 : 0;
    same_seed += other.at(i) == image ? 1 : 0;
  }
  EXPECT_LT(same_epoch, 10);
  EXPECT_LT(same_seed, 10);
}

TEST(augmented, samples_windows_uniformly_and_flips_half_of_the_images) {
  cohort::augmentation const how{
      .height = 4, .width = 4, .padding = 2, .place = placing::anywhere, .flip = true, .seed = 9};
  std::map<std::pair<int, int>, int> places;
  int flips = 0;
  constexpr int n = 12'600;
  for (int i = 0; i < n; ++i) {
    cohort::augmentation_draw const made = drawn(how, 6, 5, i % 7, i);
    ++places[{made.window.top, made.window.left}];
    flips += made.flip ? 1 : 0;
  }
  EXPECT_EQ(places.size(), 7U * 6U);  // tops −2 to 4, lefts −2 to 3
  EXPECT_EQ(places.begin()->first, std::pair(-2, -2));
  EXPECT_EQ(places.rbegin()->first, std::pair(4, 3));
  for (auto const& [place, often] : places)
    EXPECT_NEAR(often, 300, 6 * 17.1);  // six deviations of a binomial count
  EXPECT_NEAR(flips, n / 2, 6 * 56.2);
}

TEST(augmented, forwards_the_epoch_to_its_data_set) {
  augmented const outer(chance(), {.height = 3});
  cohort::loader loader(outer, {.batch = count, .shuffle = false});
  std::set<pixels> seen;
  for (int epoch = 0; epoch < 8; ++epoch) {
    loader.start(epoch);
    auto const values = loader.next()->input().as<float>();
    seen.insert(pixels(values.begin(), values.end()));
  }
  EXPECT_EQ(seen.size(), 8U);
}

TEST(augmented, crops_the_centre_without_randomness) {
  augmented const middle(ruler(), {.height = 2, .width = 3});
  EXPECT_EQ(middle.describe().inputs[0].example, cohort::shape(2, 2, 3));
  auto const seen = epoch_of(middle, 0, 1, 0);
  EXPECT_EQ(seen.at(1), (pixels{1022, 1023, 1024, 1032, 1033, 1034, 1122, 1123, 1124, 1132, 1133, 1134}));
  EXPECT_EQ(epoch_of(middle, 1, 1, 0), seen);
}

TEST(augmented, flips_the_images_of_a_data_set_in_memory) {
  std::vector<std::uint8_t> const images = {1, 2, 3, 4};
  std::vector<std::uint8_t> const labels = {0};
  augmented const data(cohort::arrays(images, {1, 2, 2}, labels, 1, 0.5), {.flip = true, .seed = 4});
  std::set<pixels> seen;
  cohort::loader loader(data, {.batch = 1});
  for (int epoch = 0; epoch < 32; ++epoch) {
    loader.start(epoch);
    auto const values = loader.next()->input().as<float>();
    seen.insert(pixels(values.begin(), values.end()));
  }
  EXPECT_EQ(seen, (std::set<pixels>{{0.5, 1, 1.5, 2}, {1, 0.5, 2, 1.5}}));
}

/// Images of bytes, 3 × 8 × 9.
cohort::arrays byte_images() {
  static std::vector<std::uint8_t> const pixels = [] {
    std::vector<std::uint8_t> made(static_cast<std::size_t>(count) * 3 * 8 * 9);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::uint8_t>(37 * i + i / 11);
    return made;
  }();
  static std::vector<std::uint8_t> const labels(count, 0);
  return {pixels, {3, 8, 9}, labels, 1};
}

using byte_epoch = std::map<std::int64_t, pixels>;

byte_epoch bytes_of_epoch(cohort::augmentation const& how, std::int64_t epoch, int ranks = 1,
                          int readers = 1) {
  byte_epoch seen;
  for (int rank = 0; rank < ranks; ++rank) {
    cohort::loader loader(augmented(byte_images(), how),
                          {.batch = 7, .rank = rank, .ranks = ranks, .seed = 5, .readers = readers});
    loader.start(epoch);
    while (cohort::batch const* b = loader.next())
      for (std::size_t row = 0; row < b->indices.size(); ++row) {
        auto const one = b->input().rows(static_cast<int>(row), 1).as<float>();
        seen[b->indices[row]].assign(one.begin(), one.end());
      }
  }
  return seen;
}

cohort::augmentation everything() {
  return {.height = 6,
          .width = 7,
          .padding = 1,
          .place = placing::anywhere,
          .flip = true,
          .rotation = 20,
          .fill = 9,
          .colour = {.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1},
          .erase = {.probability = 0.5},
          .seed = 3};
}

TEST(augmented, changes_colours_and_shapes_equally_with_any_number_of_ranks_and_readers) {
  byte_epoch const alone = bytes_of_epoch(everything(), 2);
  EXPECT_EQ(alone.size(), static_cast<std::size_t>(count));
  for (int ranks : {1, 2, 3})
    for (int readers : {1, 2, 3}) EXPECT_EQ(bytes_of_epoch(everything(), 2, ranks, readers), alone);
  byte_epoch const other = bytes_of_epoch(everything(), 3);
  int same = 0;
  for (auto const& [i, image] : alone) same += other.at(i) == image ? 1 : 0;
  EXPECT_LT(same, 3);
}

/// Returns example 5 in epoch 1 with only one kind of augmentation.
pixels alone(cohort::augmentation const& how) { return bytes_of_epoch(how, 1).at(5); }

TEST(augmented, applies_the_drawn_rotation_colours_and_erasure) {
  cohort::image plain(3, 8, 9);
  {
    pixels const bytes = alone({});
    for (std::size_t i = 0; i < bytes.size(); ++i) plain.pixels[i] = static_cast<std::uint8_t>(bytes[i]);
  }
  auto const as_floats = [](cohort::image const& from) {
    return pixels(from.pixels.begin(), from.pixels.end());
  };
  cohort::augmentation how{.height = 8, .width = 9, .rotation = 60, .fill = 200, .seed = 7};
  EXPECT_EQ(alone(how), as_floats(rotated(plain, drawn(how, 8, 9, 1, 5).degrees, 200)));
  how = {.height = 8, .width = 9, .colour = {.brightness = 0.5, .hue = 0.5}, .seed = 7};
  EXPECT_EQ(alone(how), as_floats(recoloured(plain, drawn(how, 8, 9, 1, 5).colour)));
  how = {.height = 8, .width = 9, .erase = {.probability = 1, .fill = 77}, .seed = 7};
  cohort::image_window const erased = drawn(how, 8, 9, 1, 5).erased;
  ASSERT_GT(erased.height * erased.width, 0);
  cohort::image wanted = plain;
  for (int c = 0; c < 3; ++c)
    for (int y = erased.top; y < erased.top + erased.height; ++y)
      for (int x = erased.left; x < erased.left + erased.width; ++x) wanted.plane(c)[y * 9 + x] = 77;
  EXPECT_EQ(alone(how), as_floats(wanted));
}

TEST(augmented, draws_angles_and_rectangles_from_their_ranges) {
  cohort::augmentation const how{
      .height = 100, .width = 80, .rotation = 30, .erase = {.probability = 0.25}, .seed = 2};
  double least = 400, most = -400;
  int erased = 0;
  constexpr int n = 4000;
  for (int i = 0; i < n; ++i) {
    cohort::augmentation_draw const made = drawn(how, 100, 80, 0, i);
    least = std::min(least, made.degrees);
    most = std::max(most, made.degrees);
    cohort::image_window const& window = made.erased;
    if (window.height == 0) continue;
    ++erased;
    double const area = window.height * window.width / 8000.0, ratio = double(window.height) / window.width;
    EXPECT_GT(area, 0.015);
    EXPECT_LT(area, 0.345);
    EXPECT_GT(ratio, 0.25);
    EXPECT_LT(ratio, 4);
    EXPECT_GE(window.top, 0);
    EXPECT_GE(window.left, 0);
    EXPECT_LE(window.top + window.height, 100);
    EXPECT_LE(window.left + window.width, 80);
  }
  EXPECT_NEAR(least, -30, 0.1);
  EXPECT_NEAR(most, 30, 0.1);
  EXPECT_NEAR(erased, n / 4, 6 * 27.4);  // six deviations of a binomial count
}

/// Examples of several images of 6 × 5 pixels, whose pixels encode row and column: 10·y + x + 1.
template <class T>
struct scene {
  static constexpr int n = 20;
  std::vector<std::uint8_t> input = filled<std::uint8_t>(3);
  std::vector<T> target = filled<T>(2), plane = filled<T>(1);
  std::vector<float> position = std::vector<float>(2 * n, 4.0F);

  template <class Element>
  static std::vector<Element> filled(int channels) {
    std::vector<Element> all;
    for (int i = 0; i < n * channels; ++i)
      for (int y = 0; y < 6; ++y)
        for (int x = 0; x < 5; ++x) all.push_back(static_cast<Element>(10 * y + x + 1));
    return all;
  }
  cohort::arrays data() const {
    return cohort::arrays(
        {{.name = "photograph", .values = {input.data(), {n, 3, 6, 5}}},
         {.name = "depth", .values = {plane.data(), {n, 6, 5}}}},
        {{.name = "outlines", .values = {target.data(), {n, 2, 6, 5}}, .as = cohort::element_type::f32},
         {.name = "position", .values = {position.data(), {n, 2}}}});
  }
};

/// Requires that each plane of each moved part equals the first plane of the input. Returns the number of
/// examples whose planes differ from the data set's.
template <class T>
int require_equal_planes(cohort::augmentation const& how) {
  scene<T> const from;
  augmented const data(from.data(), how);
  cohort::loader loader(data, {.batch = scene<T>::n, .shuffle = false});
  int moved = 0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    loader.start(epoch);
    cohort::batch const& all = *loader.next();
    auto const area = static_cast<std::size_t>(data.describe().inputs[0].example[1])
                      * static_cast<std::size_t>(data.describe().inputs[0].example[2]);
    std::span<float const> const input = all.input().as<float>(), depth = all.input(1).as<float>(),
                                 outlines = all.target().as<float>();
    EXPECT_EQ(depth.size(), area * scene<T>::n);
    EXPECT_EQ(outlines.size(), 2 * area * scene<T>::n);
    for (std::size_t i = 0; i < scene<T>::n; ++i) {
      auto const plane = input.subspan(3 * i * area, area);
      EXPECT_TRUE(std::ranges::equal(plane, depth.subspan(i * area, area))) << i;
      EXPECT_TRUE(std::ranges::equal(plane, outlines.subspan(2 * i * area, area))) << i;
      EXPECT_TRUE(std::ranges::equal(plane, outlines.subspan((2 * i + 1) * area, area))) << i;
      moved += area != 30 || !std::equal(plane.begin(), plane.end(), from.input.begin()) ? 1 : 0;
    }
    for (float const one : all.target(1).template as<float>()) EXPECT_EQ(one, 4);
  }
  return moved;
}

TEST(augmented, applies_the_same_geometric_transform_to_all_images_of_an_example) {
  cohort::augmentation const window{.height = 4, .width = 3, .padding = 2, .place = placing::anywhere},
      flip{.flip = true},
      both{.height = 4, .width = 4, .padding = 1, .place = placing::anywhere, .flip = true};
  for (cohort::augmentation const& how : {window, flip, both, cohort::augmentation{.height = 3}}) {
    EXPECT_GT(require_equal_planes<std::uint8_t>(how), 25);
    EXPECT_GT(require_equal_planes<float>(how), 25);
  }
  cohort::augmentation rotation = both;
  rotation.rotation = 40;
  rotation.fill = 9;
  EXPECT_GT(require_equal_planes<std::uint8_t>(rotation), 70);
}

TEST(augmented, changes_the_colours_of_the_first_input_only) {
  scene<std::uint8_t> const from;
  augmented const data(from.data(), {.colour = {.brightness = 0.9}, .erase = {.probability = 1}, .seed = 3});
  cohort::loader loader(data, {.batch = 20, .shuffle = false});
  loader.start(0);
  cohort::batch const& all = *loader.next();
  EXPECT_FALSE(std::ranges::equal(all.input().as<float>(), from.input));
  EXPECT_TRUE(std::ranges::equal(all.input(1).as<float>(), from.plane));
  EXPECT_TRUE(std::ranges::equal(all.target().as<float>(), from.target));
}

TEST(augmented, refuses_target_images_of_another_size) {
  std::vector<std::uint8_t> const pixels(4 * 4 * 4);
  std::vector<float> const numbers(16 * 16);
  auto const with_target = [&](cohort::tensor_view target, cohort::augmentation const& how) {
    return refused<cohort::shape_error>([&] {
      augmented(cohort::arrays({{.name = "coarse", .values = {pixels.data(), {1, 1, 8, 8}}}},
                               {{.name = "fine", .values = target}}),
                how);
    });
  };
  for (cohort::augmentation const& how : {cohort::augmentation{.flip = true},
                                          {.rotation = 5},
                                          {.height = 4},
                                          {.padding = 1, .place = placing::anywhere}})
    EXPECT_EQ(with_target({numbers.data(), {1, 1, 16, 16}}, how),
              "an image of other extents cannot be moved with the first input (fine): expected 8x8 as in "
              "coarse, or "
              "an augmentation without window, flip and rotation, got 1x16x16");
  expect_parts(with_target({numbers.data(), {1, 1, 8, 8}}, {.rotation = 5}),
               {"rotation needs images of bytes", "fine", "got f32"});
  augmented(cohort::arrays({{.name = "coarse", .values = {pixels.data(), {1, 1, 8, 8}}}},
                           {{.name = "fine", .values = {numbers.data(), {1, 1, 16, 16}}}}),
            {.colour = {.contrast = 0.5}});
  augmented(cohort::arrays({{.name = "coarse", .values = {pixels.data(), {1, 1, 8, 8}}}},
                           {{.name = "scores", .values = {numbers.data(), {1, 5, 1, 1}}}}),
            {.flip = true});
}

TEST(augmented, refuses_inputs_and_targets_that_may_be_flattened_images) {
  std::vector<std::uint8_t> const pixels(3 * 8 * 8);
  std::vector<float> const numbers(3 * 8 * 8);
  std::vector<std::int32_t> const labels(64);
  auto const with_target = [&](cohort::array_view const& target, cohort::augmentation const& how) {
    return refused<cohort::shape_error>([&] {
      augmented(cohort::arrays({{.name = "x", .values = {pixels.data(), {1, 3, 8, 8}}}}, {target}), how);
    });
  };
  for (cohort::array_view const& target :
       {cohort::array_view{.name = "y", .values = {numbers.data(), {1, 64}}},
        cohort::array_view{.name = "y", .values = {numbers.data(), {1, 192}}},
        cohort::array_view{.name = "y", .values = {numbers.data(), {1, 64, 1}}},
        cohort::array_view{.name = "y", .values = {labels.data(), {1, 64}}, .classes = 2}})
    expect_parts(with_target(target, {.flip = true}),
                 {"may be an image", "(y)", "the shape 8x8 or channels x 8x8"});
  auto const accepts = [&](cohort::shape const& target, cohort::augmentation const& how) {
    augmented(cohort::arrays({{.name = "x", .values = {pixels.data(), {1, 3, 8, 8}}}},
                             {{.name = "y", .values = {numbers.data(), target}}}),
              how);
  };
  accepts({1, 63}, {.flip = true});
  accepts({1, 1}, {.flip = true});
  accepts({1, 8, 8}, {.flip = true});
  accepts({1, 64}, {.colour = {.contrast = 0.5}});
}

/// The scaling of an element would be applied to the element that has moved to its place.
class scaled_elements {
 public:
  scaled_elements() {
    what_.inputs = {{.name = "input", .example = {1, 2, 2}, .stored = cohort::element_type::u8}};
    what_.inputs[0].channels.resize(4);
  }
  cohort::data_description const& describe() const { return what_; }
  std::int64_t size() const { return 1; }
  void get(std::int64_t, cohort::example_view& out) const { *out.fill<std::uint8_t>(0) = 1; }

 private:
  cohort::data_description what_;
};

TEST(augmented, refuses_geometric_transforms_of_separately_scaled_elements) {
  expect_parts(refused<cohort::shape_error>([] { augmented(scaled_elements(), {.flip = true}); }),
               {"separate scalings", "input", "got 4 scalings"});
  EXPECT_NO_THROW(augmented(scaled_elements(), {.colour = {.contrast = 0.5}}));
}

TEST(augmented, refuses_unsupported_settings) {
  auto const settings = [](cohort::augmentation how) {
    return refused<cohort::setting_error>([&] { augmented(ruler(), how); });
  };
  expect_parts(settings({.padding = -1, .place = placing::anywhere}), {"padding", "got -1"});
  EXPECT_EQ(settings({.padding = 2}),
            "invalid augmentation (padding): expected 0, or .place = placing::anywhere, got 2");
  expect_parts(settings({.height = -3}), {"height", "got -3"});
  expect_parts(refused<cohort::shape_error>(
                   [] { augmented(ruler(), {.height = 11, .padding = 2, .place = placing::anywhere}); }),
               {"height", "at most 10, got 11"});
  expect_parts(settings({.rotation = -1}), {"rotation", "0 to 360", "got -1"});
  expect_parts(settings({.fill = 256}), {"fill", "0 to 255", "got 256"});
  expect_parts(settings({.colour = {.contrast = -0.5}}), {"colour.contrast", "got -0.5"});
  expect_parts(settings({.colour = {.hue = 0.6}}), {"colour.hue", "0 to 0.5", "got 0.6"});
  expect_parts(settings({.erase = {.probability = 2}}), {"erase.probability", "got 2"});
  expect_parts(settings({.erase = {.least_area = 0.5}}), {"erase.least_area"});
  expect_parts(settings({.erase = {.least_ratio = 0}}), {"erase.least_ratio"});
  expect_parts(settings({.erase = {.fill = -1}}), {"erase.fill", "got -1"});
  for (cohort::augmentation const& how :
       {cohort::augmentation{.rotation = 5}, {.colour = {.hue = 0.1}}, {.erase = {.probability = 0.1}}})
    expect_parts(refused<cohort::shape_error>([&] { augmented(ruler(), how); }),
                 {"need images of bytes", "input", "u8", "got f32"});
  std::vector<std::uint8_t> const two_planes(8), no_class = {0};
  expect_parts(refused<cohort::shape_error>([&] {
                 augmented(cohort::arrays(two_planes, {2, 2, 2}, no_class, 1), {.colour = {.contrast = 0.1}});
               }),
               {"1 or 3 channels", "got 2"});
  std::vector<float> const rows(12);
  std::vector<std::int32_t> const label = {0};
  expect_parts(refused<cohort::shape_error>([&] { augmented(cohort::arrays(rows, {12}, label, 1), {}); }),
               {"channels x height x width", "got 12"});
}

}  // namespace augmented_test
