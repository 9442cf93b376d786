// SPDX-License-Identifier: Apache-2.0
// The program of docs/onnx.md, identical to the page (checked by tests/docs_test.py).
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/interchange/export_onnx.hpp>
#include <cohort/interchange/import_onnx.hpp>
#include <filesystem>

namespace onnx_page_test {

TEST(onnx_page, exports_and_imports_a_network) {
  std::filesystem::current_path(testing::TempDir());
  cohort::training run = cohort::trainer<cohort::reference<float>>(cohort::graph::build([](cohort::builder& b) {
    return b.input({3}) | cohort::dense{.units = 2};
  }));
  // clang-format off
cohort::export_onnx(run, "model.onnx");  // for ONNX Runtime and others
cohort::training again = cohort::load_imported<cohort::reference<float>>(cohort::import_onnx("model.onnx"));
  // clang-format on
  EXPECT_EQ(again.checksum(), run.checksum());
  std::filesystem::remove("model.onnx");
}

}  // namespace onnx_page_test
