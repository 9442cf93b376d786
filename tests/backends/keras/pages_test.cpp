// SPDX-License-Identifier: Apache-2.0
// The program of docs/keras.md, identical to the page (checked by tests/docs_test.py).
// needs: onednn
#include <gtest/gtest.h>

#include <cohort/cohort.hpp>
#include <cohort/keras.hpp>
#include <cohort/onednn.hpp>
#include <filesystem>
#include <vector>

namespace {

using namespace cohort;

std::vector<float> predict_and_train(tensor_view images, dataset const& data, dataset const& test) {
  imported_model const model = load_keras("model.keras");
  training run = load_imported<onednn>(model);
  auto const classes = run.predict(images);
  run.fit(data, {.batch = 32, .epochs = 5, .validation = test, .metrics = model.metrics});
  return classes.values;
}

TEST(docs_keras, the_program_predicts_and_trains) {
  namespace fs = std::filesystem;
  fs::path const folder = fs::temp_directory_path() / "cohort_keras_page", before = fs::current_path();
  fs::create_directories(folder);
  fs::copy_file(COHORT_SOURCE_DIR "/tests/golden/keras/cnn.keras", folder / "model.keras",
                fs::copy_options::overwrite_existing);
  fs::current_path(folder);
  std::vector<float> images(8 * 36);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 7) / 7;
  std::vector<std::int32_t> const labels{0, 1, 0, 1, 0, 1, 0, 1};
  arrays const data(images, {1, 6, 6}, labels, 2);
  auto const classes = predict_and_train(tensor_view(images.data(), {8, 1, 6, 6}), data, data);
  fs::current_path(before);
  fs::remove_all(folder);
  ASSERT_EQ(classes.size(), 16U);
  EXPECT_NEAR(classes[0] + classes[1], 1, 1e-5);
}

}  // namespace
