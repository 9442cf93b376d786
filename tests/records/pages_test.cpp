// SPDX-License-Identifier: Apache-2.0
// The programs of docs/data.md that read records, identical to the page (checked by tests/docs_test.py).
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/cohort.hpp>
#include <cohort/records/record_dataset.hpp>
#include <cohort/records/table_rows.hpp>
#include <cohort/records/webdataset.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tar_bytes.hpp"

namespace records_page_test {

/// Four archives of 30 records: two floats and a class.
void write_shards() {
  for (int shard = 0; shard < 4; ++shard) {
    std::string archive;
    for (int k = 0; k < 30; ++k) {
      float const values[]{static_cast<float>(k % 3), static_cast<float>(shard)};
      std::string const name = std::to_string(shard) + "-" + std::to_string(k);
      archive += tar_bytes::member(name + ".values", {reinterpret_cast<char const*>(values), sizeof values})
                 + tar_bytes::member(name + ".cls", std::to_string(k % 3));
    }
    tar_bytes::write("train-00000" + std::to_string(shard) + ".tar", archive + tar_bytes::end());
  }
}

TEST(docs_records, the_program_trains_on_shards) {
  std::string const folder = testing::TempDir() + "cohort-records-page";
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  write_shards();
  cohort::training run =
      cohort::trainer<cohort::reference<float>>(cohort::graph::build([](cohort::builder& b) {
        return b.input({2}) | cohort::dense{.units = 3} | cohort::softmax_cross_entropy{};
      }));
  // clang-format off
cohort::record_set const shards(cohort::numbered_paths("train-{000000..000003}.tar"), cohort::webdataset());
std::size_t const values = shards.field("values"), label = shards.field("cls");
cohort::data_description const described{
    .inputs = {{.name = "values", .example = {2}}},
    .targets = {{.name = "class", .stored = cohort::element_type::i32, .type = cohort::element_type::i32, .classes = 3}}};
cohort::dataset const train = cohort::decoded_records(
    shards, described, [=](cohort::record_view& record, cohort::example_view& out) {
      out.point(0, record.bytes(values, 2 * sizeof(float)).data());
      *out.fill<std::int32_t>(1) = static_cast<std::int32_t>(record.integer(label, 0, 2));
    });
run.fit(train, {.blocks = {.block = 256, .window = 16384}, .prefetch = 4, .readers = 4});
  // clang-format on
  EXPECT_EQ(run.position().step, 4);  // 120 records in batches of 32
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator("cohort/indices"),
                          std::filesystem::directory_iterator()),
            4);
  std::filesystem::remove_all(folder);
}

TEST(docs_records, the_program_trains_on_large_tables) {
  std::string const folder = testing::TempDir() + "cohort-tables-page";
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  for (int file = 0; file < 2; ++file) {
    std::ofstream table("clicks-" + std::to_string(file) + ".csv");
    table << "age,city,clicked\n";
    for (int k = 0; k < 50; ++k)
      table << (k % 7 ? std::to_string(k) : "") << (k % 2 ? ",Rome,yes\n" : ",Oslo,no\n");
  }
  cohort::training run =
      cohort::trainer<cohort::reference<float>>(cohort::graph::build([](cohort::builder& b) {
        return b.input({4}) | cohort::dense{.units = 2} | cohort::softmax_cross_entropy{};
      }));
  // clang-format off
cohort::table_rows const rows({"clicks-0.csv", "clicks-1.csv"}, {.format = {.missing = cohort::missing_values::keep}});
cohort::table_encoder const encoder(rows.read(0, 100'000),
                                    {.target = "clicked", .other = true, .impute = cohort::imputation::mean});
run.fit(rows.examples(encoder), {.blocks = {.block = 4096, .window = 65536}});
  // clang-format on
  EXPECT_EQ(run.position().step, 4);  // 100 rows in batches of 32
  std::filesystem::remove_all(folder);
}

}  // namespace records_page_test
