// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/image/augmented.hpp>
#include <cohort/image/mixed.hpp>
#include <cohort/training/trainer.hpp>
#include <map>
#include <string>
#include <vector>

#include "../../data/refused.hpp"
#include "../../training/bright_thirds.hpp"

namespace mixed_test {

using namespace cohort;

constexpr int count = 30, classes = 5;

/// Grey images of 6 × 4; each pixel of example i is 8·i, its class i modulo 5.
std::vector<std::uint8_t> const& pixels() {
  static std::vector<std::uint8_t> const made = [] {
    std::vector<std::uint8_t> values;
    for (int i = 0; i < count; ++i) values.insert(values.end(), 24, static_cast<std::uint8_t>(8 * i));
    return values;
  }();
  return made;
}
std::vector<std::uint8_t> const& labels() {
  static std::vector<std::uint8_t> const made = [] {
    std::vector<std::uint8_t> values;
    for (int i = 0; i < count; ++i) values.push_back(static_cast<std::uint8_t>(i % classes));
    return values;
  }();
  return made;
}
arrays plain() { return {pixels(), {1, 6, 4}, labels(), classes}; }

struct one_example {
  std::vector<float> image, target;
  bool operator==(one_example const&) const = default;
};
using examples = std::map<std::int64_t, one_example>;

template <class D>
examples epoch_of(D const& data, std::int64_t epoch, int ranks = 1, int readers = 1) {
  examples seen;
  for (int rank = 0; rank < ranks; ++rank) {
    loader batches(data, {.batch = 4, .rank = rank, .ranks = ranks, .seed = 2, .readers = readers});
    batches.start(epoch);
    while (batch const* b = batches.next())
      for (int row = 0; row < b->count; ++row) {
        auto const image = b->input().rows(row, 1).template as<float>(),
                   target = b->target().rows(row, 1).template as<float>();
        seen[b->indices[static_cast<std::size_t>(row)]] = {{image.begin(), image.end()},
                                                           {target.begin(), target.end()}};
      }
  }
  return seen;
}

/// The class distribution of a mixture of two labels.
std::vector<float> shares(std::int64_t own, std::int64_t other, double share) {
  std::vector<float> made(classes, 0);
  made[static_cast<std::size_t>(own % classes)] = static_cast<float>(share);
  made[static_cast<std::size_t>(other % classes)] += static_cast<float>(1 - share);
  return made;
}

TEST(mixed, describes_targets_as_class_distributions) {
  mixed const data(plain(), {.mixup = 1});
  tensor_description const& target = data.describe().targets[0];
  EXPECT_EQ(target.example, shape(classes));
  EXPECT_EQ(target.type, element_type::f32);
  EXPECT_EQ(target.classes, 0);
  EXPECT_EQ(target.label_names, std::vector<std::string>());
  std::vector<std::string> const names{"a", "b", "c", "d", "e"};
  mixed const named(arrays({{.name = "input", .values = {pixels().data(), {count, 1, 6, 4}}}},
                           {{.name = "label",
                             .values = {labels().data(), {count}},
                             .classes = classes,
                             .label_names = names}}),
                    {.mixup = 1});
  EXPECT_EQ(named.describe().targets[0].label_names, names);
  EXPECT_EQ(data.describe().inputs[0].stored, element_type::u8);
}

TEST(mixed, mixup_mixes_images_and_targets_by_the_drawn_share) {
  mixing const how{.mixup = 0.4, .seed = 3};
  int strangers = 0;
  for (auto const& [i, one] : epoch_of(mixed(plain(), how), 2)) {
    mixing_draw const chance = drawn(how, count, 6, 4, 2, i);
    EXPECT_EQ(chance.window.height, 0);
    auto const wanted =
        static_cast<float>(std::floor(chance.share * 8 * static_cast<double>(i)
                                      + (1 - chance.share) * 8 * static_cast<double>(chance.partner) + 0.5));
    EXPECT_EQ(one.image, std::vector<float>(24, wanted));
    EXPECT_EQ(one.target, shares(i, chance.partner, chance.share));
    strangers += chance.partner != i;
  }
  EXPECT_GT(strangers, count / 2);
}

TEST(mixed, cutmix_copies_a_window_and_mixes_targets_by_its_area) {
  mixing const how{.cutmix = 1, .seed = 4};
  int windows = 0;
  for (auto const& [i, one] : epoch_of(mixed(plain(), how), 1)) {
    mixing_draw const chance = drawn(how, count, 6, 4, 1, i);
    image_window const& w = chance.window;
    int from_partner = 0;
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 4; ++x) {
        bool const inside = y >= w.top && y < w.top + w.height && x >= w.left && x < w.left + w.width;
        from_partner += inside;
        EXPECT_EQ(one.image[static_cast<std::size_t>(y * 4 + x)],
                  8.F * static_cast<float>(inside ? chance.partner : i));
      }
    EXPECT_NEAR(1 - chance.share, from_partner / 24.0, 1e-12);
    EXPECT_EQ(one.target, shares(i, chance.partner, chance.share));
    windows += from_partner > 0;
  }
  EXPECT_GT(windows, count / 3);
}

TEST(mixed, is_the_same_with_any_number_of_ranks_and_readers_and_differs_by_epoch) {
  mixed const data(augmented(plain(), {.height = 5, .width = 4, .place = placing::anywhere, .seed = 1}),
                   {.mixup = 0.3, .cutmix = 1, .seed = 6});
  examples const alone = epoch_of(data, 4);
  EXPECT_EQ(alone.size(), static_cast<std::size_t>(count));
  for (int ranks : {1, 2, 3})
    for (int readers : {1, 2, 3}) EXPECT_EQ(epoch_of(data, 4, ranks, readers), alone);
  EXPECT_NE(epoch_of(data, 5), alone);
}

TEST(mixed, mixes_with_the_given_probability_and_chooses_both_methods_equally) {
  int cut = 0, added = 0;
  constexpr int n = 4000;
  mixing const how{.mixup = 1, .cutmix = 1, .probability = 0.5, .seed = 9};
  for (int i = 0; i < n; ++i) {
    mixing_draw const made = drawn(how, n, 64, 64, 0, i);
    cut += made.window.height > 0;
    added += made.share < 1 && made.window.height == 0;
  }
  EXPECT_NEAR(added, n / 4, 6 * 27.4);  // six deviations of a binomial count
  EXPECT_NEAR(cut, n / 4, 6 * 27.4);
}

TEST(mixed, draws_shares_from_a_beta_distribution) {
  for (double const alpha : {0.1, 0.4, 1.0, 3.0}) {
    double sum = 0, squares = 0;
    constexpr int n = 20'000;
    for (int i = 0; i < n; ++i) {
      double const share = drawn(mixing{.mixup = alpha, .seed = 1}, 100, 8, 8, 0, i).share;
      EXPECT_TRUE(share >= 0 && share <= 1) << share;
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    double const variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(sum / n, 0.5, 6 * std::sqrt(variance / n)) << alpha;
    EXPECT_NEAR(squares / n, variance, 6 * variance / std::sqrt(n)) << alpha;
  }
}

TEST(mixed, mixes_floats_without_rounding) {
  std::vector<float> const values{0, 1, 0.25F, 0.75F};
  std::vector<std::int64_t> const two{1, 0};
  arrays const data({array_view{.name = "input", .values = {values.data(), shape(2, 1, 1, 2)}}},
                    {array_view{.name = "label", .values = {two.data(), shape(2)}, .classes = 2}});
  mixing const how{.mixup = 1, .seed = 5};
  bool differs = false;
  for (auto const& [i, one] : epoch_of(mixed(data, how), 0)) {
    mixing_draw const chance = drawn(how, 2, 1, 2, 0, i);
    for (std::size_t p = 0; p < 2; ++p)
      EXPECT_NEAR(one.image[p],
                  chance.share * values[static_cast<std::size_t>(2 * i) + p]
                      + (1 - chance.share) * values[static_cast<std::size_t>(2 * chance.partner) + p],
                  1e-6);
    differs = differs || chance.partner != i;
  }
  EXPECT_TRUE(differs);
}

TEST(mixed, trains_a_network_that_classifies_unmixed_examples) {
  cohort_test::bright_thirds const examples(300), held(90, 2);
  // its images as an indexed data set, which `mixed` needs
  arrays const images(std::span<float const>(examples.pixels), shape{1, 8, 8},
                      std::span<std::int32_t const>(examples.labels), 3);
  training made =
      trainer<reference<float>>(cohort_test::small, {.optimizer = {adam{.learning_rate = 0.01}}, .seed = 7});
  made.fit(mixed(images, {.mixup = 0.2, .cutmix = 0.5, .seed = 1}), {.batch = 20, .epochs = 6});
  EXPECT_GT(made.evaluate(held.data()).accuracy().value(), 0.9);
}

TEST(mixed, refuses_invalid_settings_and_data_sets_that_cannot_be_mixed) {
  auto const settings = [](mixing how) { return refused<setting_error>([&] { mixed(plain(), how); }); };
  expect_parts(settings({.mixup = -1}), {"mixup", "got -1"});
  expect_parts(settings({.cutmix = std::nan("")}), {"cutmix"});
  EXPECT_EQ(settings({.mixup = 1e-310}),
            "invalid mixing (mixup): expected 0, or a number from 1e-6 to 1e6, got 1e-310");
  expect_parts(settings({.mixup = 1, .probability = 1.5}), {"probability", "got 1.5"});
  std::vector<std::uint8_t> const row{1, 2, 3}, label{0};
  expect_parts(refused<shape_error>([&] { mixed(arrays(row, {3}, label, 1), {.mixup = 1}); }),
               {"channels x height x width", "got 3"});
  arrays const unlabelled({array_view{.name = "input", .values = {row.data(), shape(1, 1, 1, 3)}}});
  expect_parts(refused<shape_error>([&] { mixed(unlabelled, {.mixup = 1}); }), {"class label", "got none"});
  array_view const image{.name = "image", .values = {row.data(), shape(1, 1, 1, 3)}},
      number{.name = "number", .values = {row.data(), shape(1, 3)}},
      one{.name = "label", .values = {label.data(), shape(1)}, .classes = 1};
  for (arrays const& several : {arrays({image, number}, {one}), arrays({image}, {one, number})})
    expect_parts(refused<shape_error>([&] { mixed(several, {.mixup = 1}); }), {"one input and one target"});
}

/// The same images with keys and weights. Pixels and key are valid until the next example is requested.
class keyed {
 public:
  keyed() : data_(plain()), what_(data_.describe()) { what_.keyed = what_.weighted = true; }
  data_description const& describe() const { return what_; }
  std::int64_t size() const { return data_.size(); }
  void get(std::int64_t i, example_view& out) const {
    static thread_local std::string key;
    static thread_local std::vector<std::byte> pixels;
    data_.get(i, out);
    pixels.assign(out.at(0), out.at(0) + 24);
    out.point(0, pixels.data());
    key = "example " + std::to_string(i);
    out.key = key;
    out.weight = static_cast<float>(i + 1);
  }

 private:
  arrays data_;
  data_description what_;
};

TEST(mixed, gives_the_same_examples_if_the_data_set_reuses_memory) {
  mixing const how{.mixup = 1, .cutmix = 1, .seed = 3};
  EXPECT_EQ(epoch_of(mixed(keyed(), how), 1), epoch_of(mixed(plain(), how), 1));
}

TEST(mixed, keeps_the_key_and_the_weight_of_the_example_with_the_same_index) {
  mixed const data(keyed(), {.mixup = 1, .cutmix = 1, .seed = 3});
  loader batches(data, {.batch = 8});
  batches.start(0);
  while (batch const* b = batches.next())
    for (std::size_t row = 0; row < b->keys.size(); ++row) {
      EXPECT_EQ(b->keys[row], "example " + std::to_string(b->indices[row]));
      EXPECT_EQ(b->weights[row], static_cast<float>(b->indices[row] + 1));
    }
}

}  // namespace mixed_test
