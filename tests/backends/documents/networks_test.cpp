// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/cohort.hpp>
#include <cohort/documents.hpp>
#include <string>
#include "../../checkpoint/refusals.hpp"

namespace documents_networks_test {

using namespace cohort;

std::string const golden = std::string(COHORT_SOURCE_DIR) + "/tests/golden/";

TEST(networks_of_documents, are_read_from_files_of_other_libraries) {
  documents::imported_network const imported =
      documents::import_network({.file = golden + "deeplearning4j/adam.zip"}, {.optimizer_state = true});
  EXPECT_EQ(imported.inputs, std::vector<std::string>{"input"});
  EXPECT_EQ(imported.outputs, std::vector<std::string>{"classes"});
  EXPECT_EQ(imported.run.step(), 3);
  run_document run;
  run.network.imported = import_source{.file = golden + "deeplearning4j/adam.zip"};
  documents::network_start const start = documents::read_network(run);
  ASSERT_TRUE(start.model);
  EXPECT_EQ(start.net.hash(), imported.run.network().hash());
}

TEST(networks_of_documents, name_the_settings_that_are_wrong) {
  import_source from{.file = golden + "deeplearning4j/adam.zip", .loss = "hinge"};
  auto const refused = [&](documents::import_names const& names = {}) {
    return refusal_of<documents::usage_error>([&] { documents::import_network(from, {.names = names}); });
  };
  EXPECT_EQ(refused(), "network.import.loss: expected a model without a loss, got one that contains classes");
  EXPECT_TRUE(refused({.loss = "--loss"}).starts_with("--loss: expected a model"));
  from = {.file = golden + "layers.txt"};
  EXPECT_TRUE(refused().starts_with("network.import.file: expected a file that ends in .onnx"));
  EXPECT_TRUE(refused({.file = ""}).starts_with("expected a file that ends in .onnx"));
}

TEST(networks_of_documents, freeze_layers_unless_the_document_trains_them) {
  run_document run;
  run.training.optimizer.layers = {{.layer = "a", .frozen = false}};
  auto const& rows = documents::with_frozen_layers(run, {"a", "b"}).training.optimizer.layers;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].layer, "b");
  EXPECT_EQ(rows.back(), run.training.optimizer.layers[0]);  // the last row counts
}

}  // namespace documents_networks_test
