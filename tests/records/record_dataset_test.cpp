// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cohort/data/loader.hpp>
#include <cohort/records/record_dataset.hpp>
#include <cohort/records/webdataset.hpp>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "../data/refused.hpp"
#include "tar_bytes.hpp"

namespace record_dataset_test {

using namespace cohort;
using tar_bytes::member;

std::string bytes_of(std::vector<float> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(float)};
}

/// Two inputs and a class for each of `count` records in two archives. The class of record `bad` is "x".
record_set numbered(int count, int bad = -1) {
  std::string parts[2];
  for (int k = 0; k < count; ++k) {
    std::string const name = std::to_string(k);
    auto const value = static_cast<float>(k);
    parts[2 * k / count] += member(name + ".values", bytes_of({value, -value}))
                            + member(name + ".cls", k == bad ? "x" : std::to_string(k % 3) + "\r\n");
  }
  std::vector<std::string> const paths{fresh_path("first.tar"), fresh_path("second.tar")};
  for (int k = 0; k < 2; ++k)
    tar_bytes::write(paths[static_cast<std::size_t>(k)], parts[k] + tar_bytes::end());
  return record_set(paths, webdataset(), {.cache = ""});
}

dataset examples(record_set const& records, record_decoding const& how = {}) {
  data_description what{.inputs = {{.name = "values", .example = {2}}},
                        .targets = {{.name = "class",
                                     .example = {},
                                     .stored = element_type::i32,
                                     .type = element_type::i32,
                                     .classes = 3}},
                        .keyed = true};
  return decoded_records(
      records, what,
      [values = records.field("values"), label = records.field("cls")](record_view& one, example_view& out) {
        *out.fill<std::int32_t>(1) = static_cast<std::int32_t>(one.integer(label, 0, 2));
        out.point(0, one.bytes(values, 2 * sizeof(float)).data());
        out.key = one.key();
      },
      how);
}

TEST(decoded_records, contain_every_example_with_any_number_of_readers) {
  dataset const data = examples(numbered(20));
  ASSERT_EQ(data.size(), 20);
  for (int readers : {1, 3}) {
    loader batches(data, {.batch = 7, .seed = 4, .blocks = {4, 8}, .readers = readers});
    batches.start(0);
    int seen = 0;
    while (batch const* b = batches.next())
      for (int row = 0; row < b->count; ++row, ++seen) {
        auto const index = b->indices[static_cast<std::size_t>(row)];
        EXPECT_EQ(b->input().as<float>()[2 * static_cast<std::size_t>(row)], static_cast<float>(index));
        EXPECT_EQ(b->input().as<float>()[2 * static_cast<std::size_t>(row) + 1], -static_cast<float>(index));
        EXPECT_EQ(b->target().as<std::int32_t>()[static_cast<std::size_t>(row)], index % 3);
        EXPECT_EQ(b->keys[static_cast<std::size_t>(row)], std::to_string(index));
      }
    EXPECT_EQ(seen, 20);
  }
}

TEST(decoded_records, stop_at_a_bad_record) {
  dataset const data = examples(numbered(20, 13));
  loader batches(data, {.batch = 20, .shuffle = false});
  batches.start(0);
  expect_parts(refused<data_error>([&] { batches.next(); }),
               {"is not an integer in the expected range", "second.tar, record 3, 13, field cls", "0 to 2",
                "got 'x'"});
}

TEST(decoded_records, give_a_skipped_record_weight_zero) {
  auto const skipped = std::make_shared<std::atomic<std::int64_t>>(0);
  std::vector<std::string> lines;
  dataset const data =
      examples(numbered(20, 13), {.bad = bad_record::skip,
                                  .log = [&](std::string_view line) { lines.emplace_back(line); },
                                  .skipped = skipped});
  loader batches(data, {.batch = 20, .shuffle = false});
  batches.start(0);
  batch const* const b = batches.next();
  ASSERT_NE(b, nullptr);
  for (std::size_t k = 0; k < 20; ++k) EXPECT_EQ(b->weights[k], k == 13 ? 0.0F : 1.0F) << k;
  EXPECT_EQ(b->input().as<float>()[26], 0.0F);
  EXPECT_EQ(b->target().as<std::int32_t>()[13], 0);
  EXPECT_EQ(*skipped, 1);
  ASSERT_EQ(lines.size(), 1U);
  expect_parts(lines[0], {"skipped: a field of a record is not an integer", "record 3, 13"});
}

TEST(decoded_records, skip_a_record_whose_label_or_weight_is_not_valid) {
  record_set const records = numbered(20);
  data_description what{.inputs = {{.name = "values", .example = {2}}},
                        .targets = {{.name = "class",
                                     .example = {},
                                     .stored = element_type::i32,
                                     .type = element_type::i32,
                                     .classes = 3}}};
  auto const skipped = std::make_shared<std::atomic<std::int64_t>>(0);
  dataset const data =
      decoded_records(records, what,
                      [values = records.field("values")](record_view& one, example_view& out) {
                        out.point(0, one.bytes(values, 2 * sizeof(float)).data());
                        *out.fill<std::int32_t>(1) = one.index() == 4 ? 1000 : 1;
                        if (one.index() == 7) out.weight = std::numeric_limits<float>::quiet_NaN();
                      },
                      {.bad = bad_record::skip, .skipped = skipped});
  loader batches(data, {.batch = 20, .shuffle = false});
  batches.start(0);
  batch const* const b = batches.next();
  ASSERT_NE(b, nullptr);
  for (std::size_t k = 0; k < 20; ++k) EXPECT_EQ(b->weights[k], k == 4 || k == 7 ? 0.0F : 1.0F) << k;
  EXPECT_EQ(*skipped, 2);
}

TEST(record_view, refuses_a_field_of_another_size) {
  record_set const records = numbered(4);
  record_view one(records, 2);
  EXPECT_EQ(one.bytes(records.field("values"), 8).size(), 8U);
  expect_parts(refused<data_error>([&] { one.bytes(records.field("values"), 12); }),
               {"a field of a record has the wrong size", "field values", "expected 12 bytes", "got 8"});
}

TEST(decoded_records, never_skip_a_file_that_cannot_be_read) {
  record_set const records = numbered(4);
  tar_bytes::write(records.paths()[1], "short");
  dataset const data = examples(records, {.bad = bad_record::skip});
  loader batches(data, {.batch = 4, .shuffle = false});
  batches.start(0);
  expect_parts(refused<file_error>([&] { batches.next(); }), {"changed after it was indexed", "second.tar"});
}

TEST(record_view, reads_integers_within_a_range) {
  record_set const records = numbered(20, 13);
  record_view good(records, 2), bad(records, 13);
  std::size_t const label = records.field("cls");
  EXPECT_EQ(good.integer(label, 0, 2), 2);
  EXPECT_EQ(good.text(label), "2\r\n");
  expect_parts(refused<data_error>([&] { good.integer(label, 0, 1); }), {"0 to 1", "got '2'"});
  expect_parts(refused<data_error>([&] { bad.integer(label, 0, 1); }), {"got 'x'"});
}

}  // namespace record_dataset_test
