// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/cache.hpp>
#include <cohort/data/mapped.hpp>
#include <cohort/data/select.hpp>
#include <thread>

#include "../checkpoint/scratch_folder.hpp"
#include "view_cases.hpp"

namespace cache_test {

using namespace view_cases;

TEST(cache, reads_each_example_once) {
  auto const calls = std::make_shared<std::vector<int>>();
  dataset const data = cache(weighted(9, 3, calls));
  EXPECT_EQ(*calls, std::vector<int>(9, 0));
  read(select(data, {4, 4}));
  EXPECT_EQ((*calls)[4], 1);
  for (int repeat = 0; repeat < 3; ++repeat) {
    content const got = read(data), wanted = read(weighted(9));
    EXPECT_EQ(got.first, wanted.first);
    EXPECT_EQ(got.labels, wanted.labels);
    EXPECT_EQ(got.weights, wanted.weights);
    EXPECT_EQ(got.keys, wanted.keys);
  }
  EXPECT_EQ(*calls, std::vector<int>(9, 1));
}

TEST(cache, keeps_the_examples_of_epoch_0) {
  dataset const data = cache(weighted(3));
  EXPECT_EQ(read(data, 4).first, (values{0, 1, 2}));
  dataset const random = mapped(
      data, [](std::int64_t, example_view& one) { one.edit<float>(0)[0] += static_cast<float>(one.epoch); });
  EXPECT_EQ(read(random, 4).first, (values{4, 5, 6}));
}

TEST(cache, returns_a_data_set_in_memory_unchanged) {
  dataset const data = numbers(5);
  EXPECT_EQ(&cache(data).model(), &data.model());
}

TEST(cache, keeps_as_many_examples_as_fit_in_max_bytes) {
  // 2 f32 and 1 i32 per example: 8 + 8 bytes, because every part is aligned to 8 bytes.
  for (int kept : {1, 4, 9, 20}) {
    SCOPED_TRACE(kept);
    auto const calls = std::make_shared<std::vector<int>>();
    dataset const data =
        cache(weighted(9, 3, calls), {.max_bytes = static_cast<std::size_t>(kept) * 16 + 15});
    for (int repeat = 0; repeat < 3; ++repeat) {
      content const got = read(data, repeat), wanted = read(weighted(9));
      EXPECT_EQ(got.first, wanted.first);
      EXPECT_EQ(got.weights, wanted.weights);
      EXPECT_EQ(got.keys, wanted.keys);
    }
    for (int i = 0; i < 9; ++i) EXPECT_EQ((*calls)[static_cast<std::size_t>(i)], i < kept ? 1 : 3);
  }
}

TEST(cache, keeps_the_examples_that_are_requested_first) {
  auto const calls = std::make_shared<std::vector<int>>();
  dataset const data = cache(weighted(9, 3, calls), {.max_bytes = 32});
  for (int repeat = 0; repeat < 2; ++repeat) read(select(data, {7, 2, 5}));
  EXPECT_EQ(*calls, (std::vector<int>{0, 0, 1, 0, 0, 2, 0, 1, 0}));
}

TEST(cache, may_be_stored_in_an_unlinked_file) {
  scratch_folder const folder;
  auto const calls = std::make_shared<std::vector<int>>();
  dataset const data = cache(weighted(9, 3, calls), {.folder = folder.path()});
  for (int repeat = 0; repeat < 2; ++repeat) {
    content const got = read(data), wanted = read(weighted(9));
    EXPECT_EQ(got.first, wanted.first);
    EXPECT_EQ(got.labels, wanted.labels);
    EXPECT_EQ(got.weights, wanted.weights);
    EXPECT_EQ(got.keys, wanted.keys);
  }
  EXPECT_EQ(*calls, std::vector<int>(9, 1));
  EXPECT_TRUE(folder.names().empty());
}

TEST(cache, refuses_invalid_folders_and_limits) {
  expect_parts(refused<memory_error>([] { cache(weighted(10), {.max_bytes = 15}); }),
               {"cache", "max_bytes of at least 16 bytes, for one example", "15 bytes"});
  expect_parts(refused<file_error>([] { cache(weighted(10), {.folder = "/no/such/folder"}); }),
               {"/no/such/folder"});
}

TEST(cache, retries_an_example_after_a_read_error) {
  auto const healthy = std::make_shared<bool>(false);
  dataset const data = cache(mapped(numbers(3), [healthy](std::int64_t, example_view& one) {
    if (!*healthy) throw data_error({.what = "not yet"});
    one.edit<float>(0)[0] += 1;
  }));
  example_view one;
  one.allocate(data.describe());
  one.epoch = 3;
  EXPECT_THROW(data.get(1, one), data_error);
  EXPECT_EQ(one.epoch, 3);
  *healthy = true;
  EXPECT_EQ(read(data).first, (values{1, 2, 3}));
}

TEST(cache, may_be_read_by_several_threads) {
  dataset const data = cache(weighted(500));
  content got[4];
  std::vector<std::thread> readers;
  for (content& mine : got) readers.emplace_back([&] { mine = read(data); });
  for (std::thread& one : readers) one.join();
  for (content const& mine : got) {
    EXPECT_EQ(mine.first, read(weighted(500)).first);
    EXPECT_EQ(mine.keys, read(weighted(500)).keys);
  }
}

TEST(cache, refuses_streams) {
  expect_stream_is_refused("cache", [](dataset const& data) { cache(data); });
}

}  // namespace cache_test
