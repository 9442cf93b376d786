// SPDX-License-Identifier: Apache-2.0
// The program of docs/images.md, identical to the page (checked by tests/docs_test.py).
#include <gtest/gtest.h>
#include <atomic>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/data/skip_damaged.hpp>
#include <cohort/image.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../data/refused.hpp"
#include "image_files.hpp"

namespace image_pages_test {

constexpr auto small_network = cohort::network<[](cohort::builder& net) {
  using namespace cohort;
  auto const squeeze_and_excite = [](tensor x) {
    // Scales each channel by a number computed from all channels.
    int const channels = x.dims()[0];
    tensor const gate = x | global_avg_pool{} | dense{.units = channels / 4} | relu{}
                        | dense{.units = channels} | sigmoid{} | reshape{.extents = {channels, 1, 1}};
    return x * gate;
  };
  return net.input({3, 16, 16}) | conv2d{.filters = 8, .kernel = 3, .padding = 1} | batch_norm{} | relu{}
         | squeeze_and_excite | global_avg_pool{} | dense{.units = 2} | softmax_cross_entropy{};
}>();

int main(int argc, char** argv) try {
  std::string const folder = argc > 1 ? argv[1] : "images";
  cohort::image_settings const size{.height = 20, .width = 20, .other_sizes = cohort::fitting::cover};
  cohort::image_settings test_size = size;
  cohort::image_folder photographs(folder + "/train", size);
  test_size.labels = photographs.labels();
  cohort::normalisation const colours = cohort::fit_normalisation(photographs);

  cohort::augmented training_set(
      std::move(photographs), {.height = 16,
                               .width = 16,
                               .place = cohort::placing::anywhere,
                               .flip = true,
                               .rotation = 10,
                               .colour = {.brightness = 0.2, .contrast = 0.2, .saturation = 0.2, .hue = 0.02},
                               .erase = {.probability = 0.1},
                               .seed = 1});
  cohort::mixed mixed_set(std::move(training_set),
                          {.mixup = 0.2, .cutmix = 1, .probability = 0.5, .seed = 1});
  cohort::augmented test_set(cohort::image_folder(folder + "/test", test_size), {.height = 16, .width = 16});

  auto training = cohort::trainer<cohort::reference<float>>(small_network, {.optimizer = {cohort::adam{}}});
  training.normalise(colours);
  training.fit(std::move(mixed_set), {.batch = 8, .epochs = 2, .prefetch = 2, .readers = 2});
  auto const report = training.evaluate(std::move(test_set));
  std::printf("accuracy %.2f of %d images\n", report.accuracy().value(), static_cast<int>(report.examples()));
  return 0;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}

cohort::dataset readable(std::string const& folder, std::shared_ptr<std::atomic<std::int64_t>> skipped) {
  cohort::image_folder const photographs(
      folder, {.height = 20, .width = 20, .other_sizes = cohort::fitting::cover, .salvage = true});
  return cohort::cache(cohort::skip_damaged(photographs, {.log = cohort::stderr_sink(), .skipped = skipped}));
}

TEST(docs_images, damaged_files_are_skipped_and_counted_once) {
  std::string const folder = fresh_path("damaged_pages");
  file_bytes const good = jpeg_of(picture(3, 24, 30, 1));
  put(folder + "/bright/good.jpg", good);
  put(folder + "/bright/truncated.jpg", file_bytes(good.begin(), good.end() - 20));
  put(folder + "/dark/empty.jpg", {});
  put(folder + "/dark/text.jpg", text_bytes("<html>404</html>"));
  auto const skipped = std::make_shared<std::atomic<std::int64_t>>(0);
  cohort::loader batches(readable(folder, skipped), {.batch = 4, .shuffle = false});
  for (int epoch = 0; epoch < 2; ++epoch) {
    batches.start(epoch);
    cohort::batch const* const batch = batches.next();
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->weights, (std::vector<float>{1, 1, 0, 0}));
  }
  EXPECT_EQ(*skipped, 2);
  std::filesystem::remove_all(folder);
}

TEST(docs_images, the_program_trains_and_prints_its_accuracy) {
  std::string const folder = fresh_path("pages");
  for (char const* const part : {"/train", "/test"})
    for (int i = 0; i < 8; ++i) {
      put(folder + part + "/bright/" + std::to_string(i) + ".jpg", jpeg_of(picture(3, 24, 30, i)));
      put(folder + part + "/dark/" + std::to_string(i) + ".png", png_of(picture(3, 20, 20, i + 5)));
    }
  std::string program = "program", argument = folder;
  char* arguments[]{program.data(), argument.data(), nullptr};
  testing::internal::CaptureStdout();
  EXPECT_EQ(main(2, arguments), 0);
  std::string const said = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(said.starts_with("accuracy ")) << said;
  EXPECT_TRUE(said.ends_with(" of 16 images\n")) << said;
  std::filesystem::remove_all(folder);
}

}  // namespace image_pages_test
