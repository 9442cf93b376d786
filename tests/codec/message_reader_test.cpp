// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/codec/detail/message_reader.hpp>
#include <cohort/codec/threshold_compressor.hpp>
#include <vector>

#include "../data/refused.hpp"
#include "gradients.hpp"

namespace message_reader_test {

using namespace cohort;

tensor_table const table{{"a", 150'000}};

message_bytes message(double t) {
  threshold_compressor codec(table, {.threshold = threshold::fixed{t}});
  std::vector<float> r(table.elements());
  return kept(codec.encode({}, r, gradient(table.elements(), 1)));
}

TEST(message_reader, returns_the_elements_of_each_block_for_any_number_of_workers) {
  for (double const t : {3.0, 0.5, 0.02}) {
    message_bytes const bytes = message(t);
    message_view const view = message_view::parse(isa::baseline, bytes, table, {});
    std::vector<float> const x = gradient(table.elements(), 1);
    float const rounded = bf16::nearest(static_cast<float>(t)).value();
    for (int const size : {1, 2, 4}) {
      team workers(size);
      detail::message_reader reader;
      reader.read(view, &workers);
      std::size_t before = 0, at = 0;
      for (std::size_t b = 0; b < view.header.blocks; ++b) {
        EXPECT_EQ(reader.before(b), before);
        before += reader.block(b).size();
        for (detail::sent_element const one : reader.block(b)) {
          while (std::fabs(x[at]) < rounded) ++at;
          ASSERT_EQ(b * block_elements + one.index(), at);
          ASSERT_EQ(one.sign() != 0, x[at] < 0);
          ++at;
        }
      }
      EXPECT_EQ(before, view.sent());
    }
  }
}

TEST(message_reader, refuses_codes_that_end_before_or_after_their_block) {
  message_bytes bytes = message(2);
  std::size_t const entries = sizeof(message_header) + 2;
  block_entry second;
  std::memcpy(&second, bytes.data() + entries + 8, sizeof second);
  for (std::uint64_t const shift : {~std::uint64_t{0}, std::uint64_t{1}}) {  // one bit less, one bit more
    block_entry const moved{second.word + shift};
    std::memcpy(bytes.data() + entries + 8, &moved, sizeof moved);
    bytes = resealed(bytes);
    message_view const view = message_view::parse(isa::baseline, bytes, table, {});
    detail::message_reader reader;
    expect_parts(refused<data_error>([&] { reader.read(view, nullptr); }), {"codes of block 0"});
  }
}

}  // namespace message_reader_test
