// SPDX-License-Identifier: Apache-2.0
// needs: yaml
// The programs of docs/configuration.md, identical to the page (checked by tests/docs_test.py).
#include <gtest/gtest.h>
#include <cohort/cohort.hpp>
#include <cohort/documents.hpp>
#include <cohort/io/file_writer.hpp>
#include <filesystem>
#include "../../checkpoint/scratch_folder.hpp"

namespace documents_pages_test {

int run_whole_document() {
  using namespace cohort;
  run_document const document = read_document("run.yaml");
  document_result const result = run(document);
  return result.exit_status;
}

void run_parts_of_a_document() {
  using namespace cohort;
  run_document const document = read_document("run.yaml");
  documents::launch(document, false, [&](communicator& world) {
    documents::data_sets const data = documents::load(document);
    training trained = documents::make_training(document, *document.network.layers, world);
    fit_report const fitted = trained.fit(data.train, document.fit);
    return fitted.stopped ? 1 : 0;
  });
}

TEST(documents_page, runs_a_document) {
  scratch_folder const folder;
  std::filesystem::path const before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  cohort::io::write_file("run.yaml", R"(version: 1
network: {layers: [{input: [1, 28, 28]}, flatten, {dense: 10}, softmax_cross_entropy]}
data: {digits: {train: 128, test: 64}}
training: {epochs: 1, batch: 32}
backend: reference
output: {model: whole.safetensors}
)");
  EXPECT_EQ(run_whole_document(), 0);
  EXPECT_NO_THROW(run_parts_of_a_document());
  EXPECT_TRUE(std::filesystem::exists("whole.safetensors"));
  std::filesystem::current_path(before);
}

}  // namespace documents_pages_test
