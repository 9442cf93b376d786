// SPDX-License-Identifier: Apache-2.0
// The program of docs/deeplearning4j.md, identical to the page (checked by tests/docs_test.py).
// needs: onednn
#include <gtest/gtest.h>

#include <cohort/cohort.hpp>
#include <cohort/interchange/import_deeplearning4j.hpp>
#include <cohort/onednn.hpp>
#include <cohort/zlib.hpp>
#include <filesystem>
#include <vector>

namespace deeplearning4j_page_test {

using namespace cohort;

std::vector<float> predict_and_train(tensor_view images, dataset const& data) {
  imported_model const model = import_deeplearning4j("model.zip", gzip::inflate);
  training run = load_imported<onednn>(model);
  auto const classes = run.predict(images);
  run.fit(data, {.batch = 32, .epochs = 5});
  return classes.values;
}

TEST(docs_deeplearning4j, the_program_predicts_and_trains) {
  namespace fs = std::filesystem;
  fs::path const folder = fs::temp_directory_path() / "cohort_deeplearning4j_page",
                 before = fs::current_path();
  fs::create_directories(folder);
  fs::copy_file(COHORT_SOURCE_DIR "/tests/golden/deeplearning4j/images.zip", folder / "model.zip",
                fs::copy_options::overwrite_existing);
  fs::current_path(folder);
  std::vector<float> images(8 * 72);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 7) / 7;
  std::vector<std::int32_t> const labels{0, 1, 2, 3, 0, 1, 2, 3};
  arrays const data(images, {72}, labels, 4);
  auto const classes = predict_and_train(tensor_view(images.data(), {8, 72}), data);
  fs::current_path(before);
  fs::remove_all(folder);
  ASSERT_EQ(classes.size(), 32U);
  EXPECT_NEAR(classes[0] + classes[1] + classes[2] + classes[3], 1, 1e-5);
}

}  // namespace deeplearning4j_page_test
