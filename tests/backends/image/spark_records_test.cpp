// SPDX-License-Identifier: Apache-2.0
// needs: image zlib
// The images of CaffeOnSpark's SequenceFiles, which are compressed.
#include <cohort/image/image_records.hpp>
#include <cohort/records/sequence_file.hpp>
#include <cohort/zlib.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../../data/refused.hpp"

namespace spark_records_test {

using namespace cohort;

struct example {
  std::vector<std::uint8_t> pixels;
  std::int32_t label = -1;
  std::string key;
};

example example_of(image_records const& data, std::int64_t i) {
  example_view view;
  view.allocate(data.describe());
  data.get(i, view);
  example made{.pixels = std::vector<std::uint8_t>(6), .key = std::string(view.key)};
  std::memcpy(made.pixels.data(), view.at(0), made.pixels.size());
  std::memcpy(&made.label, view.at(1), sizeof made.label);
  return made;
}

TEST(image_records, read_records_of_caffe_on_spark) {
  record_set const records({COHORT_SOURCE_DIR "/tests/golden/sequence_files/caffe_on_spark"},
                           sequence_file(gzip::inflate), {.cache = ""});
  image_records const data = image_records::of_caffe_on_spark(
      records, {.height = 1, .width = 2, .labels = {"ant", "cat"}, .keyed = true});
  ASSERT_EQ(data.size(), 3);
  EXPECT_EQ(data.describe().inputs[0].example, (shape{3, 1, 2}));
  EXPECT_EQ(example_of(data, 0).pixels, (std::vector<std::uint8_t>{5, 6, 3, 4, 1, 2}));
  EXPECT_EQ(example_of(data, 0).label, 1);
  EXPECT_EQ(example_of(data, 0).key, "00000000");
  EXPECT_EQ(data.label(1), 0);
  expect_parts(refused<data_error>([&] { example_of(data, 2); }), {"caffe_on_spark, record 2"});
}

}  // namespace spark_records_test
