// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/codec/detail/message_writer.hpp>
#include <cstring>
#include <vector>

#include "gradients.hpp"

namespace message_writer_test {

using namespace cohort;

constexpr std::uint64_t n = 5 * block_elements + 100;

message_bytes write(team* workers) {
  message_header header;
  header.kind = message_kind::sparse;
  header.elements = n;
  bf16 const t = bf16::nearest(0.5F);
  detail::message_writer writer;
  return kept(writer.write(isa::baseline, header, std::span(&t, 1), workers,
                           [](detail::message_part& part, std::size_t b) {
                             std::vector<detail::sent_element> list;
                             for (std::uint32_t i = 0; i < 7 * b; ++i)
                               list.push_back({13 * i % 91 / 13 + 7 * i});
                             part.entries.push_back(detail::write_block(part.codes, list, block_elements));
                             part.multiples.push_back({b * block_elements + 99, 0x1p17});
                           }));
}

TEST(message_writer, writes_the_same_bytes_for_any_number_of_workers) {
  message_bytes const alone = write(nullptr);
  for (int const size : {1, 2, 3, 6, 9}) {
    team workers(size);
    EXPECT_EQ(write(&workers), alone) << size;
  }
}

TEST(message_writer, fills_in_the_header) {
  message_bytes const message = write(nullptr);
  message_header const header = header_in(message);
  EXPECT_EQ(header.blocks, 6U);
  EXPECT_EQ(header.thresholds, 1U);
  EXPECT_EQ(header.multiples, 6U);
  EXPECT_EQ(message.size(), sizeof header + 2 + 6 * 8 + header.payload_bytes);
  EXPECT_EQ(header.crc, detail::message_crc(isa::baseline, message));
  sent_multiple last;
  std::memcpy(static_cast<void*>(&last), message.data() + message.size() - sizeof last, sizeof last);
  EXPECT_EQ(last.index, n - 1);
}

TEST(message_writer, distributes_all_blocks_in_order) {
  for (std::size_t const blocks : {0UL, 1UL, 5UL, 64UL}) {
    team workers(3);
    std::vector<int> seen(blocks, -1);
    detail::for_block_ranges(&workers, blocks, [&](int worker, std::size_t first, std::size_t last) {
      for (std::size_t b = first; b < last; ++b) seen[b] = worker;
    });
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_TRUE(blocks == 0 || seen[0] >= 0);
  }
}

}  // namespace message_writer_test
