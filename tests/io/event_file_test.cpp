// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/crc32.hpp>
#include <cohort/io/crc32c.hpp>
#include <cohort/io/detail/protobuf.hpp>
#include <cohort/io/detail/stored_png.hpp>
#include <cohort/io/detail/zip_directory.hpp>
#include <cohort/io/event_file.hpp>
#include <cohort/io/file.hpp>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"

namespace event_file_test {

using namespace cohort;

using reader = cohort::detail::protobuf_reader;

std::string const file_name = "events";

/// The records of an event file; checks their lengths and checksums.
std::vector<std::string> records_of(std::string const& path) {
  std::vector<std::byte> const all = io::read_file(path);
  auto const number_at = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t number = 0;
    std::memcpy(&number, all.data() + at, bytes);
    return number;
  };
  auto const checksum = [&](std::size_t at, std::size_t bytes) {
    std::uint32_t const crc = io::crc32c(isa::baseline, std::span(all).subspan(at, bytes));
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
  };
  std::vector<std::string> found;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t const bytes = number_at(at, 8);
    EXPECT_EQ(number_at(at + 8, 4), checksum(at, 8));
    EXPECT_EQ(number_at(at + 12 + bytes, 4), checksum(at + 12, bytes));
    found.emplace_back(reinterpret_cast<char const*>(all.data()) + at + 12, bytes);
    at += 16 + bytes;
  }
  return found;
}

struct event {
  double wall_time = 0;
  std::int64_t step = -1;
  std::string version, value;
};

event event_of(std::string const& record) {
  event made;
  for (reader of(record, file_name, "cannot read the event"); of.next();) {
    std::vector<double> time;
    if (of.field() == 1) of.append_to(time), made.wall_time = time.at(0);
    if (of.field() == 2) made.step = of.integer();
    if (of.field() == 3) made.version = of.bytes();
    if (of.field() == 5)
      for (reader summary(of, "summary"); summary.next();) made.value = summary.bytes();
  }
  return made;
}

/// The only field with this number of a message.
std::string field(std::string const& message, std::uint32_t number) {
  std::vector<std::string> found;
  for (reader of(message, file_name, "cannot read the message"); of.next();)
    if (of.field() == number) found.emplace_back(of.bytes());
  EXPECT_EQ(found.size(), 1U) << "field " << number;
  return found.empty() ? std::string() : found[0];
}

std::vector<double> numbers(std::string const& message, std::uint32_t number) {
  std::vector<double> found;
  for (reader of(message, file_name, "cannot read the message"); of.next();)
    if (of.field() == number) of.append_to(found);
  return found;
}

/// Writes a file by `write` and returns its events after the version.
template <class F>
std::vector<event> events_of(F const& write) {
  scratch_folder const folder;
  std::string path;
  {
    io::event_file file(folder / "runs/a");
    write(file);
    path = file.path();
  }
  std::vector<std::string> const records = records_of(path);
  std::vector<event> made;
  for (std::string const& one : records) made.push_back(event_of(one));
  EXPECT_EQ(made.at(0).version, "brain.Event:2");
  for (event const& one : made) EXPECT_GT(one.wall_time, 1.5e9);
  made.erase(made.begin());
  return made;
}

TEST(event_file, has_a_unique_name_with_the_prefix_of_tensorboard) {
  scratch_folder const folder;
  io::event_file const a(folder.path()), b(folder.path());
  EXPECT_EQ(a.path().find(folder / "events.out.tfevents."), 0U) << a.path();
  EXPECT_NE(a.path(), b.path());
}

TEST(event_file, stores_scalars_with_tag_step_and_value) {
  auto const made = events_of([](io::event_file& file) {
    file.scalar("train/loss", 0, 0.5);
    file.scalar("b", 300, -2);
  });
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].step, 0);
  EXPECT_EQ(made[1].step, 300);
  // tag: field 1, 10 bytes; simple_value: field 2, 0.5F
  EXPECT_EQ(made[0].value, std::string("\x0a\x0atrain/loss\x15\x00\x00\x00\x3f", 17));
  EXPECT_EQ(made[1].value, std::string("\x0a\x01"
                                       "b\x15\x00\x00\x00\xc0",
                                       8));
}

TEST(event_file, stores_histograms) {
  std::array const values{1.F, 2.F, 2.5F, 5.F};
  auto const made = events_of([&](io::event_file& file) {
    file.histogram("h", 7, io::histogram_of(std::span<float const>(values), 2));
  });
  std::string const of = field(made.at(0).value, 5);
  EXPECT_EQ(numbers(of, 1), (std::vector{1.0}));
  EXPECT_EQ(numbers(of, 2), (std::vector{5.0}));
  EXPECT_EQ(numbers(of, 3), (std::vector{4.0}));
  EXPECT_EQ(numbers(of, 4), (std::vector{10.5}));
  EXPECT_EQ(numbers(of, 5), (std::vector{36.25}));
  EXPECT_EQ(numbers(of, 6), (std::vector{3.0, 5.0}));
  EXPECT_EQ(numbers(of, 7), (std::vector{3.0, 1.0}));
}

TEST(event_file, histograms_skip_non_finite_values_and_have_a_single_interval_if_all_are_equal) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  std::vector const some{nan, 3.0, 3.0, std::numeric_limits<double>::infinity()};
  io::value_histogram const equal = io::histogram_of(std::span<double const>(some));
  EXPECT_EQ(equal.limits, (std::vector{3.0}));
  EXPECT_EQ(equal.counts, (std::vector{2.0}));
  EXPECT_EQ(io::histogram_of(std::span<double const>()).counts, (std::vector{0.0}));
  std::vector const wide{-1.7e308, 1.7e308};
  EXPECT_EQ(io::histogram_of(std::span<double const>(wide)).counts, (std::vector{2.0}));
  std::vector const spread{0.0, 1.0, 2.0, nan, 3.0};
  for (int const none : {0, -1})
    EXPECT_EQ(io::histogram_of(std::span<double const>(spread), none).counts.size(), 1U);
  io::value_histogram const three = io::histogram_of(std::span<double const>(spread), 3);
  EXPECT_EQ(three.counts, (std::vector{1.0, 1.0, 2.0}));
  EXPECT_EQ(three.limits, (std::vector{1.0, 2.0, 3.0}));
}

TEST(event_file, stores_texts_and_hyperparameters_for_their_plugins) {
  std::vector<io::hyperparameter> const settings{
      {"rate", 0.25}, {"shuffle", true}, {"rule", std::string("adam")}};
  std::vector<std::string> const tags{"epoch/loss"};
  auto const made = events_of([&](io::event_file& file) {
    file.text("note", 3, "*a*");
    file.begin_run(settings);
    file.compare_runs(settings, tags);
    file.end_run();
  });
  ASSERT_EQ(made.size(), 4U);
  EXPECT_EQ(field(field(field(made[0].value, 9), 1), 1), "text");
  EXPECT_EQ(field(field(made[0].value, 8), 8), "*a*");
  char const* const names[]{"", "_hparams_/session_start_info", "_hparams_/experiment",
                            "_hparams_/session_end_info"};
  std::uint32_t const fields[]{0, 3, 2, 4};
  for (std::size_t k = 1; k < 4; ++k) {
    EXPECT_EQ(field(made[k].value, 1), names[k]);
    EXPECT_EQ(field(field(field(made[k].value, 9), 1), 1), "hparams");
    EXPECT_FALSE(field(field(field(field(made[k].value, 9), 1), 2), fields[k]).empty());
  }
}

TEST(event_file, refuses_hyperparameters_that_are_not_finite_and_images_of_another_size) {
  scratch_folder const folder;
  io::event_file file(folder.path());
  std::vector<io::hyperparameter> const one{{"rate", std::numeric_limits<double>::infinity()}};
  EXPECT_THROW(file.begin_run(one), numeric_error);
  std::array<std::uint8_t, 6> const pixels{};
  EXPECT_EQ(refusal_of<shape_error>([&] { file.image("i", 0, 2, 2, 1, pixels); }),
            "cannot write the image (event file, i): expected height × width × 1 or 3 bytes, got 2 × 2 × 1 "
            "and 6 bytes");
  EXPECT_THROW(file.image("i", 0, 3, 1, 2, pixels), shape_error);
  EXPECT_NO_THROW(file.image("i", 0, 1, 2, 3, pixels));
}

TEST(event_file, reports_a_folder_that_cannot_be_created) {
  EXPECT_THROW(io::event_file("/dev/null/runs"), file_error);
}

TEST(event_file, png_images_have_uncompressed_blocks_and_checksums) {
  std::array<std::uint8_t, 2> const pixels{0, 255};
  std::string const made = detail::stored_png(1, 2, 1, pixels);
  ASSERT_EQ(made.size(), 71U);
  EXPECT_EQ(made.substr(41, 14), std::string("\x78\x01\x01\x03\x00\xfc\xff\x00\x00\xff\x01\x02\x01\x00", 14));
  // zlib.crc32 of the file that Python's zlib and struct make
  EXPECT_EQ(io::crc32(std::as_bytes(std::span(made))), 0xebbe2223U);
}

}  // namespace event_file_test
