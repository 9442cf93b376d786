// SPDX-License-Identifier: Apache-2.0
// needs: image
// Images of documents: augmentation applies to the training set only, and mixes no images of the test set.
#include <gtest/gtest.h>
#include <algorithm>
#include <cohort/cohort.hpp>
#include <cohort/documents.hpp>
#include <filesystem>
#include <set>
#include <string>
#include "../../checkpoint/scratch_folder.hpp"
#include "../image/image_files.hpp"

namespace documents_images_test {

using namespace cohort;

/// Writes two classes of 8 grey images, each of one value, different from the others.
images_source write_images(scratch_folder const& folder) {
  for (int number = 0; number < 16; ++number) {
    image pixels(1, 6, 6);
    std::fill_n(pixels.plane(0), pixels.plane_bytes(), static_cast<std::uint8_t>(10 * number + 20));
    put(folder / ((number % 2 == 0 ? "even/" : "odd/") + std::to_string(number) + ".png"), png_of(pixels));
  }
  images_source from;
  from.folder = folder.path();
  from.test_fraction = 0.5;
  from.options.channels = 1;
  return from;
}

/// The values of the pixels in all examples of an epoch.
std::set<int> values_of(dataset const& data, std::int64_t epoch) {
  std::set<int> values;
  example_view example;
  example.allocate(data.describe());
  example.epoch = epoch;
  for (std::int64_t i = 0; i < data.size(); ++i) {
    data.get(i, example);
    auto const* const pixels = reinterpret_cast<std::uint8_t const*>(example.at(0));
    values.insert(pixels, pixels + 36);
  }
  return values;
}

TEST(images_of_documents, are_mixed_with_images_of_the_training_set_only) {
  scratch_folder const folder;
  images_source from = write_images(folder);
  documents::data_sets const plain = documents::load(from, 7);
  std::set<int> const training = values_of(plain.train, 0), held_out = values_of(*plain.test, 0);
  ASSERT_EQ(training.size() + held_out.size(), 16u);
  from.options.augment.cutmix = 1;
  documents::data_sets const mixed = documents::load(from, 7);
  EXPECT_EQ(mixed.train.describe().targets[0].example, shape(2));
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) EXPECT_EQ(values_of(mixed.train, epoch), training);
  EXPECT_EQ(values_of(*mixed.test, 0), held_out);
}

TEST(images_of_documents, keep_their_test_set_without_changes) {
  scratch_folder const folder;
  images_source from = write_images(folder);
  from.options.cache = true;
  documents::data_sets const plain = documents::load(from, 7);
  std::set<int> const training = values_of(plain.train, 0), held_out = values_of(*plain.test, 0);
  from.options.augment = {.brightness = 0.5, .contrast = 0.5, .erasing = 1};
  documents::data_sets const changed = documents::load(from, 7);
  EXPECT_NE(values_of(changed.train, 0), training);
  EXPECT_NE(values_of(changed.train, 0), values_of(changed.train, 1));
  EXPECT_EQ(values_of(*changed.test, 0), held_out);
}

TEST(images_of_documents, train_a_network_on_mixed_classes) {
  scratch_folder const folder;
  run_document run;
  images_source from = write_images(folder);
  from.options.augment.mixup = 0.5;
  run.data = from;
  run.network.layers = graph::build([](builder& net) {
    return net.input({1, 6, 6}) | flatten{} | dense{.units = 2} | softmax_cross_entropy{};
  });
  run.backend = "reference";
  run.fit = {.batch = 4, .epochs = 2};
  document_result const result = cohort::run(run, {.log = silent_sink(), .progress = {silent_sink(), {}}});
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(result.test.numbers.at(0).first, "accuracy");
}

}  // namespace documents_images_test
