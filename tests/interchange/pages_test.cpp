// SPDX-License-Identifier: Apache-2.0
// The programs of docs/onnx.md and docs/prediction.md, identical to the pages (checked by
// tests/docs_test.py).
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/data/digits.hpp>
#include <cohort/data/with_keys.hpp>
#include <cohort/interchange/export_onnx.hpp>
#include <cohort/interchange/import_onnx.hpp>
#include <cohort/interchange/write_predictions.hpp>
#include <cohort/io/npy.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace onnx_page_test {

TEST(docs_onnx, the_program_exports_and_imports_a_network) {
  std::filesystem::current_path(testing::TempDir());
  cohort::training run = cohort::trainer<cohort::reference<float>>(
      cohort::graph::build([](cohort::builder& b) { return b.input({3}) | cohort::dense{.units = 2}; }));
  // clang-format off
cohort::export_onnx(run, "model.onnx");  // for ONNX Runtime and others
cohort::training again = cohort::load_imported<cohort::reference<float>>(cohort::import_onnx("model.onnx"));
  // clang-format on
  EXPECT_EQ(again.checksum(), run.checksum());
  std::filesystem::remove("model.onnx");
}

}  // namespace onnx_page_test

namespace prediction_page_test {

TEST(docs_prediction_files, are_written_by_all_ranks) {
  std::filesystem::current_path(testing::TempDir());
  constexpr auto net = cohort::network<[](cohort::builder& b) {
    using namespace cohort;
    return b.input({1, 28, 28}) | dense{.units = 12} | relu{} | dense{.units = 10} | softmax_cross_entropy{};
  }>();
  cohort::launch<cohort::threads>(2, [&](cohort::communicator& world) {
    auto run = cohort::trainer<cohort::reference<float>>(net);
    cohort::dataset const images = cohort::synthetic_digits(20, 1);
    std::vector<std::string> names;
    for (int i = 0; i < 20; ++i) names.push_back("digit " + std::to_string(i * 7 % 20));
    // clang-format off
cohort::dataset const keyed = cohort::with_keys(images, names);
cohort::write_predictions(run, keyed, world, "digits.csv");
cohort::write_predictions(run, keyed, world, "features.npy",
                          {.outputs = {"dense_1", "softmax_cross_entropy_1"},
                           .format = cohort::prediction_format::npy,
                           .order = cohort::prediction_order::keys});
    // clang-format on
  });
  auto const features = cohort::npy_array::load("features.dense_1.npy");
  EXPECT_EQ(features.view().dims, (cohort::shape{20, 12}));
  for (char const* name :
       {"digits.csv", "features.dense_1.npy", "features.softmax_cross_entropy_1.npy", "features.key.npy"})
    EXPECT_TRUE(std::filesystem::remove(name)) << name;
}

}  // namespace prediction_page_test
