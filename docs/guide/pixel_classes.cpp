// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

constexpr int size = 16, pixels = size * size, classes = 3;

constexpr auto net = cohort::network<[](cohort::builder& b) {
  using namespace cohort;
  auto const block = [](tensor x, int filters) {
    return x | conv2d{.filters = filters, .kernel = 3, .padding = 1} | group_norm{.groups = 4} | relu{};
  };
  tensor const fine = block(b.input({1, size, size}), 8);
  tensor const coarse = block(fine | max_pool{.window = 2}, 16);
  tensor const both = concat(fine, coarse | bilinear_upsampling{.factor = 2});
  return block(both, 16) | conv2d{.filters = classes, .kernel = 1}
         | permute{.order = {1, 2, 0}, .extents = {pixels, classes}} | softmax_cross_entropy{};
}>();

/// Drawn images of a disc and a square in noise, and the class of each pixel: 0 is the background.
struct scenes {
  int count;
  std::vector<float> images;
  std::vector<std::int32_t> labels;

  scenes(int many, std::uint64_t seed) : count(many) {
    cohort::random_stream const numbers(seed, "scenes");
    for (int example = 0; example < count; ++example) {
      cohort::random_stream const own = numbers.at(static_cast<std::uint64_t>(example));
      auto const place = [&](std::uint64_t i) { return 2 + static_cast<int>(own.below(i, size - 4)); };
      int const disc_x = place(0), disc_y = place(1), left = place(2), top = place(3);
      for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
          bool const in_disc = (x - disc_x) * (x - disc_x) + (y - disc_y) * (y - disc_y) <= 9;
          bool const in_square = x >= left && x < left + 5 && y >= top && y < top + 5;
          labels.push_back(in_square ? 2 : in_disc ? 1 : 0);
          images.push_back((labels.back() > 0 ? 0.8F : 0.2F)
                           + 0.2F * own.uniform01(10 + static_cast<std::uint64_t>(y * size + x)));
        }
    }
  }

  cohort::tensor_view image() const { return {images.data(), {count, 1, size, size}}; }
  cohort::dataset data() const {
    return cohort::arrays(
        {{.values = image()}},
        {{.name = "class", .values = {labels.data(), {count, pixels}}, .classes = classes}});
  }
};

int main() try {
  scenes const known(600, 1), held(100, 2);
  auto training = cohort::trainer<cohort::onednn>(net, {.optimizer = {cohort::adam{.learning_rate = 0.01}}});
  training.fit(known.data(), {.batch = 20, .epochs = 8});

  cohort::classification_report report = training.evaluate(held.data());
  for (int c = 0; c < classes; ++c)
    std::printf("class %d: Dice coefficient %.3f\n", c, report.f_beta(c).value_or(0));

  cohort::predictions const maps = training.predict(held.image().rows(0, 1));
  for (int y = 0; y < size; ++y) {
    std::string line;
    for (int x = 0; x < size; ++x) {
      float const* const p = maps[0].data() + (y * size + x) * classes;
      line += p[0] > 0.5F ? '.' : p[1] > p[2] ? 'o' : '#';
    }
    std::puts(line.c_str());
  }
  return report.f_beta(1) > 0.8 && report.f_beta(2) > 0.8 ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
