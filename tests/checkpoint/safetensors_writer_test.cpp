// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/checkpoint/safetensors_writer.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "refusals.hpp"
#include "scratch_folder.hpp"

namespace safetensors_writer_test {

using cohort::element_type;
using cohort::stored_tensor;
using cohort::tensor_view;

std::uint8_t const bytes[] = {1, 2, 3};
float const floats[] = {1, -2};
double const doubles[] = {0.1};
std::int32_t const ints[] = {-5, 6, 7, 8};
std::int64_t const longs[] = {-9};
std::uint64_t const words[] = {~std::uint64_t{0}};
std::uint16_t const halves[] = {0x3f80, 0xc000};

std::vector<stored_tensor> const all{
    {"bytes", tensor_view(bytes, {3})},
    {"floats", tensor_view(floats, {1, 2, 1})},
    {"empty", tensor_view(floats, {4, 0})},
    {"doubles", tensor_view(doubles, cohort::shape{})},
    {"halves", tensor_view(reinterpret_cast<std::byte const*>(halves), element_type::bf16, {2})},
    {"ints", tensor_view(ints, {2, 2})},
    {"longs", tensor_view(longs, {1})},
    {"words ä\"", tensor_view(words, {1})},
};

std::string written(std::vector<stored_tensor> const& tensors,
                    cohort::safetensors_metadata const& metadata = {}) {
  std::ostringstream out;
  cohort::write_safetensors(out, tensors, metadata);
  return out.str();
}

TEST(safetensors_writer, writes_the_bytes_of_the_specification) {
  std::string const header =
      R"({"__metadata__":{"a":"b"},"f":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";
  ASSERT_EQ(header.size(), 132u);
  std::string const expected = std::string("\xb8\0\0\0\0\0\0\0", 8) + header + std::string(184 - 132, ' ')
                               + std::string("\0\0\x80\x3f\0\0\0\xc0\1\2\3", 11);
  EXPECT_EQ(written({{"b", tensor_view(bytes, {3})}, {"f", tensor_view(floats, {2})}}, {{"a", "b"}}),
            expected);
}

TEST(safetensors_writer, round_trips_every_type) {
  std::istringstream in(written(all, {{"seed", "1"}, {"graph", "{\"a\":\n[]}"}}));
  auto const file = cohort::safetensors::read(in);
  EXPECT_EQ(file.metadata(), (cohort::safetensors_metadata{{"seed", "1"}, {"graph", "{\"a\":\n[]}"}}));
  ASSERT_EQ(file.tensors().size(), all.size());
  for (stored_tensor const& tensor : all) {
    tensor_view const back = file.at(tensor.name, tensor.view.type, tensor.view.dims);
    EXPECT_TRUE(tensor.view.bytes() == 0 || std::memcmp(back.data, tensor.view.data, back.bytes()) == 0)
        << tensor.name;
  }
}

TEST(safetensors_writer, aligns_the_data_to_64_bytes_and_tensors_to_their_element_size) {
  std::string const file = written(all);
  std::uint64_t header = 0;
  std::memcpy(&header, file.data(), 8);
  EXPECT_EQ((8 + header) % 64, 0u);
  std::istringstream in(file);
  std::uint64_t place = 0;
  auto const read = cohort::safetensors::read(in);
  for (stored_tensor const& tensor : read.tensors()) {
    EXPECT_EQ(place % bytes_of(tensor.view.type), 0u) << tensor.name;
    place += tensor.view.bytes();
  }
  EXPECT_EQ(file.size(), 8 + header + place);
}

TEST(safetensors_writer, writes_equal_bytes_to_a_stream_and_a_file) {
  scratch_folder folder;
  cohort::save_safetensors(folder / "m", all, {{"z", "1"}, {"a", "2"}});
  EXPECT_EQ(cohort::io::read_text(folder / "m"), written(all, {{"a", "2"}, {"z", "1"}}));
  auto const loaded = cohort::safetensors::load(folder / "m");
  EXPECT_EQ(loaded.at("ints").as<std::int32_t>()[0], -5);
}

TEST(safetensors_writer, refuses_invalid_names_and_keeps_the_old_file) {
  scratch_folder folder;
  cohort::io::write_file(folder / "m", "old");
  tensor_view const view(bytes, {3});
  auto refused = [&](std::vector<stored_tensor> const& tensors) {
    return refusal_of<cohort::data_error>([&] { cohort::save_safetensors(folder / "m", tensors); });
  };
  EXPECT_EQ(refused({{"a", view}, {"b", view}, {"a", view}}),
            "cannot write safetensors (tensor \"a\"): expected unique names, none of them empty or "
            "\"__metadata__\", got two tensors of this name");
  EXPECT_NE(refused({{"", view}}), "");
  EXPECT_NE(refused({{"__metadata__", view}}), "");
  EXPECT_NE(refused({{"a\xff", view}}), "");
  EXPECT_EQ(cohort::io::read_text(folder / "m"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"m"});
}

TEST(safetensors_writer, reports_a_failed_stream) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_THROW(cohort::write_safetensors(out, all), cohort::file_error);
}

}  // namespace safetensors_writer_test
