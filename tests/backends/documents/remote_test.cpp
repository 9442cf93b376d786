// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/cohort.hpp>
#include <cohort/documents.hpp>
#include <cohort/io/file_reader.hpp>
#include <string>
#include <vector>
#include "../../checkpoint/scratch_folder.hpp"

namespace documents_remote_test {

using namespace cohort;

TEST(remote_files_of_documents, are_replaced_by_copies_and_other_paths_are_not) {
  scratch_folder const folder;
  run_document run;
  run.remote = {.command = {"sh", "-c", "printf %s \"$1\" > \"$2\"", "sh", "{name}", "{file}"},
                .folder = folder / "copies"};
  run.data = records_source{.files = {"s3://b/{0..1}.tar", "here-{0..1}.tar"}, .words = "s3://b/words"};
  run.network.model = "hdfs://h/m.safetensors";
  run_document const local = documents::with_local_files(run);
  auto const& records = std::get<records_source>(local.data);
  std::vector<std::string> const expected{"s3://b/0.tar", "s3://b/1.tar"};
  ASSERT_EQ(records.files.size(), 3u);
  for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_EQ(io::read_text(records.files[k]), expected[k]);
  EXPECT_EQ(records.files[2], "here-{0..1}.tar");
  EXPECT_EQ(io::read_text(records.words), "s3://b/words");
  EXPECT_EQ(io::read_text(local.network.model), "hdfs://h/m.safetensors");
  EXPECT_EQ(records.cache, "auto");
}

}  // namespace documents_remote_test
