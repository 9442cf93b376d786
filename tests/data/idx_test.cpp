// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/idx.hpp>
#include <cohort/error/exceptions.hpp>

#include "refused.hpp"

namespace idx_test {

using bytes = std::vector<std::byte>;

std::string refusal_of(bytes file, int rank = 0) {
  return refused<cohort::data_error>([&] { cohort::parse_idx(std::move(file), "x.idx", rank); });
}

TEST(idx_reader, reads_arrays_of_rank_1_to_4) {
  for (std::vector<std::uint32_t> extents :
       {std::vector<std::uint32_t>{7}, {2, 3}, {2, 3, 4}, {2, 3, 4, 5}}) {
    cohort::idx_array const file = cohort::parse_idx(idx_bytes(extents), "x");
    EXPECT_EQ(file.view().dims.rank, static_cast<int>(extents.size()));
    auto const elements = file.view().as<std::uint8_t>();
    for (std::size_t i = 0; i < elements.size(); ++i) ASSERT_EQ(elements[i], i % 256);
    EXPECT_EQ(elements.size() + 4 + 4 * extents.size(), idx_bytes(extents).size());
  }
}

TEST(idx_reader, reads_from_a_file_and_from_any_source) {
  std::string const path = fresh_path("numbers.idx");
  write_file(path, idx_bytes({300}));
  cohort::idx_array const labels = cohort::read_idx(path, 1);
  EXPECT_EQ(labels.view().dims, cohort::shape(300));
  auto const source = [](std::string const& name) {
    return idx_bytes({static_cast<std::uint32_t>(name.size())});
  };
  cohort::idx_array const four = cohort::read_idx("four", 1, source);
  EXPECT_EQ(four.view().dims, cohort::shape(4));
}

TEST(idx_reader, refuses_a_file_truncated_anywhere) {
  bytes const whole = idx_bytes({3, 2, 2});
  for (std::size_t n = 0; n < whole.size(); ++n)
    expect_parts(refusal_of(bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n))),
                 {"x.idx", "truncated", (std::to_string(n) + " bytes").c_str()});
}

TEST(idx_reader, refuses_a_file_with_trailing_data) {
  bytes longer = idx_bytes({3, 2});
  longer.push_back({});
  expect_parts(refusal_of(longer), {"byte 18", "18 bytes for 3x2", "got 19 bytes"});
}

TEST(idx_reader, refuses_another_magic_number_type_or_rank) {
  bytes file = idx_bytes({3});
  file[0] = std::byte{0x1f};
  file[1] = std::byte{0x8b};
  expect_parts(refusal_of(file), {"byte 0", "magic", "31, 139"});
  file = idx_bytes({3});
  file[2] = std::byte{0x0d};
  expect_parts(refusal_of(file), {"byte 2", "u8", "13"});
  file = idx_bytes({1, 1, 1, 1, 1});
  expect_parts(refusal_of(file), {"byte 3", "1 to 4", "got 5"});
  expect_parts(refusal_of(idx_bytes({3}), 3), {"byte 3", "expected 3, got 1"});
}

TEST(idx_reader, refuses_extents_out_of_range) {
  bytes file = idx_bytes({1, 1, 1, 1});
  for (std::size_t i = 4; i < 20; ++i) file[i] = std::byte{0x7f};
  expect_parts(refusal_of(file), {"too large", "2^62"});
  file[4] = std::byte{0xff};
  expect_parts(refusal_of(file), {"byte 4", "1 to 2147483647", "4286545791"});
  expect_parts(refusal_of(idx_bytes({0, 2})), {"byte 4", "got 0"});
}

}  // namespace idx_test
