// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace report_bytes_test {

using cohort::data_error;
using cohort::detail::report_reader;
using cohort::detail::report_writer;
using bytes = std::vector<std::byte>;

constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();

TEST(report_bytes, round_trips_numbers) {
  for (std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{1} << 35, all - 1, all}) {
    bytes const written = report_writer().natural(number).real(-1.5).natural(3).release();
    report_reader in(written);
    EXPECT_EQ(in.natural("a", 0, all), number);
    EXPECT_EQ(in.real("b", -2, 0), -1.5);
    EXPECT_EQ(in.count("c", 0, 3), 3);
    in.end();
  }
  EXPECT_EQ(report_writer().natural(127).release().size(), 1u);
  EXPECT_EQ(report_writer().natural(128).release().size(), 2u);
}

TEST(report_bytes, reads_nothing_beyond_the_end) {
  bytes const written = report_writer().natural(300).real(1).block(bytes(5)).release();
  for (std::size_t size = 0; size < written.size(); ++size)
    EXPECT_NE(refusal_of<data_error>([&] {
                report_reader in({written.data(), size});
                in.natural("a", 0, all);
                in.real("b", 0, 1);
                in.block("c");
              }),
              "")
        << size;
  EXPECT_EQ(refusal_of<data_error>([&] { report_reader(written).end(); }),
            "cannot merge the bytes of a report (byte 0, end): expected no more bytes, got 16");
}

TEST(report_bytes, refuses_numbers_out_of_range) {
  auto const natural = [](bytes const& written, std::uint64_t lowest, std::uint64_t highest) {
    return refusal_of<data_error>([&] { report_reader(written).natural("n", lowest, highest); });
  };
  bytes const seven = report_writer().natural(7).release();
  EXPECT_EQ(natural(seven, 8, 9), "cannot merge the bytes of a report (byte 0, n): expected 8 to 9, got 7");
  EXPECT_EQ(natural(seven, 0, 0), "cannot merge the bytes of a report (byte 0, n): expected 0, got 7");
  bytes endless(11, std::byte{0x80});
  EXPECT_NE(natural(endless, 0, all).find("expected a number of at most 64 bits"), std::string::npos);
  endless[9] = std::byte{2};
  EXPECT_NE(natural(endless, 0, all).find("expected a number of at most 64 bits"), std::string::npos);
  for (double number :
       {-0.1, 1.1, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    EXPECT_NE(refusal_of<data_error>(
                  [&] { report_reader(report_writer().real(number).release()).real("x", 0, 1); }),
              "")
        << number;
}

}  // namespace report_bytes_test
