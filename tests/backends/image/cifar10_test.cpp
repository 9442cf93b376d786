// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/loader.hpp>
#include <cohort/image/augmented.hpp>
#include <cohort/image/cifar10.hpp>

#include "../../checkpoint/scratch_folder.hpp"
#include "../../data/refused.hpp"

namespace cifar10_test {

constexpr std::size_t record = 3073;

std::vector<std::byte> records(std::size_t n, unsigned first = 0) {
  std::vector<std::byte> bytes(n * record);
  for (std::size_t i = 0; i < n; ++i) {
    bytes[i * record] = static_cast<std::byte>((first + i) % 10);
    for (std::size_t p = 1; p < record; ++p)
      bytes[i * record + p] = static_cast<std::byte>((first + i + p) % 256);
  }
  return bytes;
}

TEST(cifar10, reads_labels_and_planes) {
  scratch_folder const at;
  write_file(at / "a.bin", records(3));
  write_file(at / "b.bin", records(2, 3));
  cohort::arrays const data = cohort::cifar10::read({at / "a.bin", at / "b.bin"});
  EXPECT_EQ(data.size(), 5);
  EXPECT_EQ(data.describe().inputs[0].example, cohort::shape(3, 32, 32));
  EXPECT_EQ(data.describe().targets[0].label_names[9], "truck");
  cohort::loader loader(data, {.batch = 5, .shuffle = false});
  cohort::batch const* const b = loader.next();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(b->target().as<std::int32_t>()[static_cast<std::size_t>(i)], i);
    auto const pixels = b->input().rows(i, 1).as<float>();
    for (std::size_t p : {0U, 1023U, 1024U, 3071U})
      EXPECT_FLOAT_EQ(pixels[p], static_cast<float>((static_cast<std::size_t>(i) + p + 1) % 256) / 255);
  }
}

TEST(cifar10, can_be_augmented) {
  scratch_folder const at;
  write_file(at / "a.bin", records(4));
  cohort::augmented const data(cohort::cifar10::read({at / "a.bin"}),
                               {.padding = 4, .place = cohort::placing::anywhere, .flip = true, .seed = 1});
  cohort::loader loader(data, {.batch = 4});
  EXPECT_EQ(loader.next()->input().dims, cohort::shape(4, 3, 32, 32));
}

TEST(cifar10, refuses_invalid_files) {
  scratch_folder const at;
  auto const refusal_of = [&](std::vector<std::byte> const& bytes) {
    write_file(at / "x.bin", bytes);
    return refused<cohort::data_error>([&] { cohort::cifar10::read({at / "x.bin"}); });
  };
  expect_parts(refusal_of({}), {"/x.bin", "a multiple of 3073 bytes, got 0"});
  expect_parts(refusal_of(std::vector<std::byte>(2 * record + 1)), {"/x.bin", "got 6147"});
  std::vector<std::byte> wrong = records(3);
  wrong[2 * record] = std::byte{10};
  expect_parts(refusal_of(wrong), {"/x.bin, record 2", "0 to 9, got 10"});
  expect_parts(refused<cohort::file_error>([&] { cohort::cifar10::read({at / "none.bin"}); }), {"/none.bin"});
  expect_parts(refused<cohort::setting_error>([&] { cohort::cifar10::read({}); }), {"at least 1"});
}

TEST(cifar10, reads_the_standard_files_of_a_folder) {
  scratch_folder const at;
  for (int n = 1; n <= 5; ++n)
    write_file(at / ("data_batch_" + std::to_string(n) + ".bin"), records(10'000, 1));
  EXPECT_EQ(cohort::cifar10::train(at.path()).size(), 50'000);
  expect_parts(refused<cohort::file_error>([&] { cohort::cifar10::test(at.path()); }),
               {"/test_batch.bin", "No such file"});
  write_file(at / "data_batch_4.bin", records(9'999));
  expect_parts(refused<cohort::data_error>([&] { cohort::cifar10::train(at.path()); }),
               {"/data_batch_4.bin", "30730000 bytes, got 30726927"});
}

}  // namespace cifar10_test
