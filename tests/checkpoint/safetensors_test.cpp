// SPDX-License-Identifier: Apache-2.0
// covers: checkpoint/safetensors_format
#include <gtest/gtest.h>

#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/checkpoint/safetensors_writer.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "refusals.hpp"
#include "scratch_folder.hpp"

namespace safetensors_test {

using cohort::data_error;
using cohort::element_type;
using cohort::safetensors;
using cohort::stored_tensor;
using cohort::tensor_view;

/// The bytes of a file with this header, written by hand.
std::string file_of(std::string const& header, std::string const& data = {}) {
  std::uint64_t const length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

safetensors read(std::string const& bytes) {
  std::istringstream in(bytes);
  return safetensors::read(in, "m");
}

std::string refused(std::string const& bytes) {
  scratch_folder folder;
  std::ofstream(folder / "m", std::ios::binary) << bytes;
  std::string const stream = refusal_of<data_error>([&] { read(bytes); });
  std::string file = refusal_of<data_error>([&] { safetensors::load(folder / "m"); });
  for (std::size_t at; (at = file.find(folder / "m")) != std::string::npos;)
    file.replace(at, (folder / "m").size(), "m");
  // Only a file has a known end. Therefore a file is rejected for more reasons than a stream, and for some of
  // them earlier.
  EXPECT_FALSE(file.empty() && !stream.empty()) << stream;
  return file;
}

std::string header_refused(std::string const& header, std::string const& data = {}) {
  return refused(file_of(header, data));
}

std::string const two = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                        R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";
std::string const two_data = std::string("\0\0\x80\x3f\0\0\0\xc0", 8) + "xyz";

TEST(safetensors, reads_a_file_written_by_hand) {
  auto const file = read(file_of(R"({"__metadata__":{"format":"pt"},)" + two.substr(1) + "  ", two_data));
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.metadata(), (cohort::safetensors_metadata{{"format", "pt"}}));
  auto const a = file.at("a", element_type::f32, {2}).as<float>();
  EXPECT_EQ(a[0], 1.0f);
  EXPECT_EQ(a[1], -2.0f);
  auto const b = file.at("b").as<std::uint8_t>();
  EXPECT_EQ(std::string(b.begin(), b.end()), "xyz");
}

TEST(safetensors, accepts_tensors_in_any_header_order) {
  auto const file = read(file_of(R"({"b":{"dtype":"U8","shape":[3],"data_offsets":[4,7]},)"
                                 R"("e":{"dtype":"F64","shape":[5,0],"data_offsets":[4,4]},)"
                                 R"("a":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]},)"
                                 R"("c":{"dtype":"I64","shape":[],"data_offsets":[7,15]}})",
                                 std::string("abcdxyz\5\0\0\0\0\0\0\0", 15)));
  std::string order;
  for (stored_tensor const& tensor : file.tensors()) order += tensor.name;
  EXPECT_EQ(order, "aebc");
  EXPECT_EQ(file.at("b").as<std::uint8_t>()[0], 'x');
  EXPECT_EQ(file.at("e").dims.elements(), 0);
  EXPECT_EQ(file.at("c").dims.rank, 0);
  EXPECT_EQ(file.at("c").as<std::int64_t>()[0], 5) << "misaligned in the file, aligned in memory";
  for (stored_tensor const& tensor : file.tensors()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.view.data) % 64, 0u) << tensor.name;
  }
}

TEST(safetensors, reads_files_without_tensors) {
  auto const empty = read(file_of("{}"));
  EXPECT_TRUE(empty.tensors().empty());
  auto const described = read(file_of(R"({"__metadata__":{"a":"b"}})"));
  EXPECT_EQ(described.metadata().size(), 1u);
}

TEST(safetensors, reads_consecutive_files_from_a_stream) {
  std::istringstream in(file_of(two, two_data) + file_of("{}") + "rest");
  safetensors const first = safetensors::read(in), second = safetensors::read(in);
  EXPECT_EQ(first.tensors().size(), 2u);
  EXPECT_EQ(second.tensors().size(), 0u);
  std::string rest;
  in >> rest;
  EXPECT_EQ(rest, "rest");
}

TEST(safetensors, reports_the_bytes_of_a_file_truncated_anywhere) {
  std::string const whole = file_of(two, two_data), remedy =
                                                        " bytes; copy or download the file again, or save "
                                                        "the model again";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::string const expected = length < 8     ? "more than 8"
                                 : length < 115 ? "at least 115"  // 8 + 107
                                                : "126";
    std::string const message = "the safetensors file is truncated (m): expected " + expected + " bytes, got "
                                + std::to_string(length) + remedy;
    EXPECT_EQ(refused(whole.substr(0, length)), message);
    EXPECT_EQ(refusal_of<data_error>([&] { read(whole.substr(0, length)); }), message);
  }
  EXPECT_EQ(refused(whole), "");
  // The largest offset, of a type whose data are skipped.
  EXPECT_EQ(header_refused(R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,18446744073709551615]}})"),
            "the safetensors file is truncated (m): expected 18446744073709551615 bytes, got 82" + remedy);
}

TEST(safetensors, refuses_a_file_with_trailing_data) {
  EXPECT_EQ(refused(file_of(two, two_data + "!")),
            "cannot read safetensors (m): expected 11 bytes of data after a header of 107, got 12");
}

TEST(safetensors, reports_a_header_that_is_not_json) {
  for (std::string const& rest : {std::string("PK"), std::string(300, 'P')})
    EXPECT_EQ(refused(std::string("\x02\1\0\0\0\0\0\0", 8) + rest),
              "cannot read safetensors (m, byte 8): expected '{', got \"P\"");
}

TEST(safetensors, reports_a_text_file) {
  EXPECT_EQ(refused("length,width,kind\n1,2,0\n"),
            "cannot read safetensors (m): expected a safetensors file, got a text file");
  for (std::string const& damaged : {std::string(8, '\xff'), std::string("text\0\0\0\0", 8)})
    EXPECT_EQ(refused(damaged + "{}").find("a text file"), std::string::npos) << refused(damaged + "{}");
}

TEST(safetensors, refuses_inconsistent_sizes) {
  EXPECT_EQ(
      header_refused(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678"),
      "cannot read safetensors (m, tensor \"a\"): expected 12 bytes for 3 f32, got data_offsets 0 to 8");
  EXPECT_EQ(header_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", "123456789012"),
            "cannot read safetensors (m, tensor \"a\"): expected data from byte 0, the end of the "
            "previous tensor, got a gap, data_offsets 4 to 12");
  EXPECT_EQ(header_refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                           R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                           "123456"),
            "cannot read safetensors (m, tensor \"b\"): expected data from byte 4, the end of the "
            "previous tensor, got an overlap, data_offsets 2 to 6");
  // The same bytes under two names; a tensor without elements inside another one.
  EXPECT_NE(header_refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                           R"("b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                           "1234"),
            "");
  EXPECT_NE(header_refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                           R"("b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
                           "1234"),
            "");
  EXPECT_NE(header_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,2]}})", "12"), "");
  EXPECT_NE(header_refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})", "12"), "");
  EXPECT_NE(header_refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[-2,0]}})", "12"), "");
  EXPECT_NE(header_refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2,4]}})", "12"), "");
  EXPECT_NE(header_refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":2}})", "12"), "");
}

TEST(safetensors, refuses_shapes_that_overflow) {
  for (char const* shape :
       {"[2147483647,2147483647,2147483647]", "[2147483647,2147483647,4,0]", "[65536,65536,65536,65536]",
        "[65536,65536,65536,65536,0]", "[2147483647,2147483647,3]"}) {
    std::string const why =
        header_refused(std::string(R"({"a":{"dtype":"U8","shape":)") + shape + R"(,"data_offsets":[0,0]}})");
    EXPECT_NE(why.find("expected a tensor of less than 2^63 bytes"), std::string::npos) << why;
  }
  EXPECT_EQ(header_refused(R"({"a":{"dtype":"U8","shape":[2147483648],"data_offsets":[0,2147483648]}})"),
            "cannot read JSON (m header:1:29, $.a.shape[0]): expected an integer from 0 to 2147483647, got "
            "2147483648");
  EXPECT_NE(header_refused(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})"), "");
  EXPECT_NE(header_refused(R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})", "1"), "");
  EXPECT_EQ(header_refused(R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1],"data_offsets":[0,1]}})", "1"),
            "cannot read JSON (m header:1:28, $.a.shape): expected at most 6 extents, got an array of 7");
}

TEST(safetensors, refuses_sizes_beyond_the_data_without_allocating_them) {
  // The header claims nine exabytes; neither the file nor the stream contains any data.
  std::string const liar = file_of(
      R"({"a":{"dtype":"U8","shape":[2147483647,2147483647,2],"data_offsets":[0,9223372028264841218]}})",
      "12");
  std::string const missing = "expected " + std::to_string(9223372028264841218ULL + liar.size() - 2)
                              + " bytes, got " + std::to_string(liar.size()) + " bytes;";
  EXPECT_NE(refused(liar).find(missing), std::string::npos);
  EXPECT_NE(refusal_of<data_error>([&] { read(liar); }).find(missing), std::string::npos);
  std::string two_liars =
      R"({"a":{"dtype":"U8","shape":[2147483647,2147483647,2],"data_offsets":[0,9223372028264841218]},)"
      R"("b":{"dtype":"U8","shape":[2147483647,2147483647,2],)"
      R"("data_offsets":[9223372028264841218,18446744056529682436]}})";
  EXPECT_NE(refused(file_of(two_liars)), "");
  EXPECT_NE(refusal_of<data_error>([&] { read(file_of(two_liars)); }), "");
  std::string header_length(8, '\xff');
  EXPECT_NE(refused(header_length + "{}"), "");
  EXPECT_NE(refusal_of<data_error>([&] { read(header_length + "{}"); }), "");
  std::string below_the_limit = file_of("{}");
  std::uint64_t const length = 99'000'000;
  std::memcpy(below_the_limit.data(), &length, 8);
  for (std::string const& why :
       {refusal_of<data_error>([&] { read(below_the_limit); }), refused(below_the_limit)})
    EXPECT_NE(why.find("is truncated (m): expected at least 99000008 bytes, got 10 bytes;"),
              std::string::npos)
        << why;
}

TEST(safetensors, refuses_invalid_headers) {
  for (char const* header : {"",
                             "[]",
                             " {}",
                             "null",
                             "{",
                             "{}}",
                             "{} x",
                             "{\"a\":1}",
                             "{\"a\":{}}",
                             "{\"a\":[]}",
                             R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[0,4]}})",
                             R"({"a":{"dtype":"BOOL","shape":[1],"data_offsets":[1,0]}})",
                             R"({"a":{"dtype":1,"shape":[0],"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"F32","shape":{},"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0],"x":1}})",
                             R"({"a":{"dtype":"F32","shape":[0]}})",
                             R"({"__metadata__":{"a":1}})",
                             R"({"__metadata__":[]})",
                             R"({"__metadata__":{"a":{"b":{"c":"d"}}}})",
                             R"({"a":{"dtype":"U8","shape":[[[]]],"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                             R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"}) {
    EXPECT_NE(header_refused(header), "") << header;
  }
  EXPECT_EQ(header_refused(std::string(100'000, '[')),
            "cannot read safetensors (m, byte 8): expected '{', got \"[\"");
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
  EXPECT_NE(header_refused(deep).find("expected at most 3 levels"), std::string::npos);
}

TEST(safetensors, converts_f16_to_f32) {
  std::string const file = file_of(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                   R"("w":{"dtype":"F16","shape":[3,1],"data_offsets":[1,7]},)"
                                   R"("none":{"dtype":"F16","shape":[0],"data_offsets":[7,7]},)"
                                   R"("x":{"dtype":"F32","shape":[1],"data_offsets":[7,11]}})",
                                   std::string("x\x00\x3c\x00\xc0\x01\x00\0\0\x80\x3f", 11));
  scratch_folder folder;
  std::ofstream(folder / "m", std::ios::binary) << file;
  for (safetensors const& of : {read(file), safetensors::load(folder / "m")}) {
    auto const w = of.at("w", element_type::f32, {3, 1}).as<float>();
    EXPECT_EQ(std::vector<float>(w.begin(), w.end()), (std::vector<float>{1, -2, 0x1p-24F}));
    EXPECT_EQ(of.at("x").as<float>()[0], 1);
    EXPECT_EQ(of.at("none").bytes(), 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(of.at("w").data) % 64, 0u);
  }
}

TEST(safetensors, reports_a_tensor_of_an_unsupported_type_only_when_it_is_used) {
  std::string const file = file_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[5,9]},)"
                                   R"("mask":{"dtype":"BOOL","shape":[5],"data_offsets":[0,5]}})",
                                   std::string("\1\1\1\0\0\0\0\x80\x3f", 9));
  scratch_folder folder;
  std::ofstream(folder / "m", std::ios::binary) << file;
  for (safetensors const& of : {read(file), safetensors::load(folder / "m")}) {
    EXPECT_EQ(of.at("w").as<float>()[0], 1);
    ASSERT_EQ(of.tensors().size(), 2u);
    EXPECT_EQ(of.tensors()[0].unread_type, "BOOL");
    EXPECT_EQ(of.tensors()[0].view.bytes(), 0u);
    EXPECT_NE(
        refusal_of<data_error>([&] { of.at("mask"); })
            .find("tensor \"mask\"): expected one of the types F16, F32, F64, BF16, U8, I32, I64, U64, got "
                  "type \"BOOL\""),
        std::string::npos);
    std::ostringstream copy;
    EXPECT_NE(refusal_of<data_error>([&] {
                cohort::write_safetensors(copy, of.tensors());
              }).find("a tensor of type \"BOOL\", which was not read"),
              std::string::npos);
  }
  EXPECT_NE(refused(file.substr(0, file.size() - 7)), "");
  EXPECT_NE(refusal_of<data_error>([&] {
              read(file.substr(0, file.size() - 7));
            }).find("got " + std::to_string(file.size() - 7) + " bytes;"),
            std::string::npos);
}

TEST(safetensors, reports_a_missing_or_different_tensor) {
  auto const file = read(file_of(two, two_data));
  EXPECT_EQ(refusal_of<data_error>([&] { file.at("c"); }),
            "cannot read safetensors (m, tensor \"c\"): expected a tensor of this name, got no such tensor");
  EXPECT_EQ(refusal_of<data_error>([&] {
              file.at("a", element_type::f32, {2, 1});
            }),
            "cannot read safetensors (m, tensor \"a\"): expected 2x1 f32, got 2 f32");
  EXPECT_EQ(refusal_of<data_error>([&] { file.at("a", element_type::f64, {2}); }),
            "cannot read safetensors (m, tensor \"a\"): expected 2 f64, got 2 f32");
  EXPECT_FALSE(file.find("c").has_value());
}

TEST(safetensors, reads_a_long_stream) {
  std::vector<float> large(3'000'000);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<float>(i);
  std::uint8_t const one[] = {7};
  std::vector<stored_tensor> const tensors{{"one", tensor_view(one, {1})},
                                           {"large", tensor_view(large.data(), {3, 1'000'000})}};
  std::stringstream stream;
  cohort::write_safetensors(stream, tensors);
  auto const file = safetensors::read(stream);
  auto const back = file.at("large").as<float>();
  EXPECT_TRUE(std::equal(back.begin(), back.end(), large.begin(), large.end()));
  EXPECT_EQ(file.at("one").as<std::uint8_t>()[0], 7);
}

TEST(safetensors, stays_within_the_bounds_of_a_randomly_damaged_file) {
  std::string const whole = file_of(two, two_data);
  std::mt19937_64 random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      bool const digit = random() % 2 == 0;
      bytes[random() % bytes.size()] = static_cast<char>(digit ? '0' + random() % 10 : random());
    }
    try {
      auto const file = read(bytes);
      for (stored_tensor const& tensor : file.tensors()) ASSERT_LE(tensor.view.bytes(), 11u);
    } catch (data_error const&) {
    }
  }
}

}  // namespace safetensors_test
