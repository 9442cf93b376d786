// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/npy.hpp>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"

namespace npy_test {

using namespace cohort;
using std::string_literals::operator""s;

npy_array parse(std::string const& bytes) {
  return npy_array::parse(std::as_bytes(std::span(bytes.data(), bytes.size())), "a.npy");
}
std::string refused(std::string const& bytes) {
  return refusal_of<data_error>([&] { parse(bytes); });
}
std::string written(tensor_view array) {
  std::ostringstream out;
  write_npy(out, array);
  return out.str();
}
/// A file with this header and data.
std::string file_of(std::string const& header, std::string const& data, int version = 1) {
  std::string all = "\x93NUMPY"s + static_cast<char>(version) + '\0' + static_cast<char>(header.size());
  all += version == 1 ? "\0"s : "\0\0\0"s;
  return all + header + data;
}
template <class T>
std::string bytes_of_numbers(std::vector<T> const& numbers) {
  return {reinterpret_cast<char const*>(numbers.data()), numbers.size() * sizeof(T)};
}
template <class T>
std::vector<T> numbers_of(npy_array const& array) {
  auto const span = array.view().as<T>();
  return {span.begin(), span.end()};
}

TEST(npy, writes_the_header_and_the_data_as_numpy_does) {
  std::vector<float> const numbers{1, -2, 0.5F, 4, 5, 6};
  std::string const file = written(tensor_view(numbers.data(), {2, 3}));
  std::string const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(file.size(), 128U + 24);
  EXPECT_EQ(file.substr(0, 10), "\x93NUMPY\1\0\x76\0"s);
  EXPECT_EQ(file.substr(10, header.size()), header);
  EXPECT_EQ(file.substr(10 + header.size(), 118 - header.size()),
            std::string(117 - header.size(), ' ') + '\n');
  EXPECT_EQ(file.substr(128), bytes_of_numbers(numbers));
  EXPECT_NE(written(tensor_view(numbers.data(), {6})).find("'shape': (6,), }"), std::string::npos);
  EXPECT_NE(written(tensor_view(numbers.data(), {})).find("'shape': (), }"), std::string::npos);
}

TEST(npy, round_trips_arrays_of_every_supported_type) {
  auto const round_trip = [](auto const& numbers, shape const& dims) {
    using element = std::decay_t<decltype(numbers[0])>;
    npy_array const read = parse(written(tensor_view(numbers.data(), dims)));
    EXPECT_EQ(read.view().type, element_of<element>);
    EXPECT_EQ(read.view().dims, dims);
    EXPECT_EQ(std::memcmp(read.view().data, numbers.data(), read.view().bytes()), 0);
  };
  round_trip(std::vector<float>{1, -0.0F, 3, 4}, {4});
  round_trip(std::vector<double>{1, 2, 3, 4, 5, 6}, {3, 1, 2});
  round_trip(std::vector<std::uint8_t>{1, 255}, {1, 1, 1, 1, 1, 2});
  round_trip(std::vector<std::int32_t>{-1, 2}, {2});
  round_trip(std::vector<std::int64_t>{-1}, {});
  round_trip(std::vector<std::uint64_t>{~std::uint64_t{}, 2}, {2, 1});
  std::vector<float> const one(1);
  npy_array const nothing = parse(written(tensor_view(one.data(), {2, 0, 3})));
  EXPECT_EQ(nothing.view().dims, (shape{2, 0, 3}));

  scratch_folder folder;
  save_npy(folder / "x.npy", tensor_view(one.data(), {1}));
  EXPECT_EQ(numbers_of<float>(npy_array::load(folder / "x.npy")), one);
  EXPECT_EQ(refusal_of<file_error>([&] { npy_array::load(folder / "x.npy", 100); }),
            "the file is too large (" + (folder / "x.npy") + "): expected at most 100 bytes, got 132 bytes");
}

TEST(npy, reads_headers_in_any_form_that_python_writes) {
  std::string const data = bytes_of_numbers<std::int32_t>({1, 2, 3, 4, 5, 6});
  for (int const version : {1, 2}) {
    EXPECT_EQ(numbers_of<std::int32_t>(parse(
                  file_of("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }  \n", data, version))),
              (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(numbers_of<std::int32_t>(parse(
                  file_of("{\"shape\":(2,3),\"fortran_order\":True,\"descr\":\"<i4\"}", data, version))),
              (std::vector<std::int32_t>{1, 3, 5, 2, 4, 6}));
  }
  npy_array const flags = parse(file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", "\1\0"s));
  EXPECT_EQ(flags.view().type, element_type::u8);
  EXPECT_EQ(numbers_of<std::uint8_t>(flags), (std::vector<std::uint8_t>{1, 0}));
}

TEST(npy, transposes_arrays_in_fortran_order) {
  std::vector<std::uint8_t> bytes(24);
  std::vector<double> doubles(24);
  for (int k = 0; k < 4; ++k)  // element (i, j, k) of 2×3×4 is 100 i + 10 j + k
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) {
        bytes[static_cast<std::size_t>(i + 2 * (j + 3 * k))] =
            static_cast<std::uint8_t>(100 * i + 10 * j + k);
        doubles[static_cast<std::size_t>(i + 2 * (j + 3 * k))] = 100 * i + 10 * j + k;
      }
  auto const header = [](char const* type) {
    return "{'descr': '"s + type + "', 'fortran_order': True, 'shape': (2, 3, 4), }";
  };
  npy_array const of_bytes = parse(file_of(header("|u1"), bytes_of_numbers(bytes)));
  npy_array const of_doubles = parse(file_of(header("<f8"), bytes_of_numbers(doubles)));
  for (int i = 0; i < 24; ++i) {
    int const expected = 100 * (i / 12) + 10 * (i / 4 % 3) + i % 4;
    EXPECT_EQ(of_bytes.view().as<std::uint8_t>()[static_cast<std::size_t>(i)], expected);
    EXPECT_EQ(of_doubles.view().as<double>()[static_cast<std::size_t>(i)], expected);
  }
}

TEST(npy, converts_f16_to_f32) {
  std::string const halves("\x00\x3c\x00\xc0\x01\x00\x00\x42", 8);  // 1, -2, 2^-24, 3
  auto const file = [&](char const* order, char const* extents) {
    return file_of("{'descr': '<f2', 'fortran_order': " + std::string(order) + ", 'shape': " + extents + "}",
                   halves);
  };
  EXPECT_EQ(numbers_of<float>(parse(file("False", "(4,)"))), (std::vector<float>{1, -2, 0x1p-24F, 3}));
  EXPECT_EQ(numbers_of<float>(parse(file("True", "(2, 2)"))), (std::vector<float>{1, 0x1p-24F, -2, 3}));
  scratch_folder folder;
  for (char const* order : {"False", "True"}) {
    std::ofstream(folder / "a.npy", std::ios::binary) << file(order, "(2, 2)");
    EXPECT_EQ(numbers_of<float>(npy_array::load(folder / "a.npy")),
              numbers_of<float>(parse(file(order, "(2, 2)"))));
  }
  EXPECT_NE(refused(file("False", "(3,)")).find("expected 6 bytes for 3 f16, got 8"), std::string::npos);
}

TEST(npy, reports_an_unsupported_type) {
  auto const of = [](std::string const& type) {
    return refused(file_of("{'descr': " + type + ", 'fortran_order': False, 'shape': (1,)}", "12345678"));
  };
  std::string const begin =
      "cannot read the .npy file (a.npy, type): expected <f2, <f4, <f8, <i4, <i8, <u8, |u1 or |b1 "
      "(numpy.ascontiguousarray(a, dtype='<f4')), got ";
  EXPECT_EQ(of("'|O'"), begin + "\"|O\", Python objects, which would be unpickled");
  EXPECT_EQ(of("'>f4'"), begin + "\">f4\", big-endian");
  EXPECT_EQ(of("'<i2'"), begin + "\"<i2\"");
  EXPECT_EQ(of("'<U5'"), begin + "\"<U5\"");
  EXPECT_EQ(
      of("[('a', '<f4')]"),
      "cannot read the .npy file (a.npy, byte 20): expected an array of numbers, got an array of records");
  float const one = 1;
  EXPECT_EQ(refusal_of<data_error>([&] {
              written(tensor_view(reinterpret_cast<std::byte const*>(&one), element_type::bf16, {1}));
            }),
            "cannot write the array for NumPy (type bf16): expected f32, f64, i32, i64, u64 or u8");
}

TEST(npy, refuses_booleans_that_are_neither_0_nor_1) {
  std::string const header = "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}";
  EXPECT_EQ(refused(file_of(header, "\1\0\2"s)), "cannot read the .npy file (a.npy, byte "
                                                     + std::to_string(10 + header.size() + 2)
                                                     + "): expected a boolean: 0 or 1, got 2");
}

TEST(npy, loads_files_with_the_same_results_as_parsing_their_bytes) {
  scratch_folder folder;
  auto const load = [&](std::string const& bytes) {
    std::ofstream(folder / "x.npy", std::ios::binary) << bytes;
    return npy_array::load(folder / "x.npy");
  };
  std::vector<std::uint8_t> numbers(200'000);  // more than the bytes that are read with the header
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint8_t>(i % 251);
  EXPECT_EQ(numbers_of<std::uint8_t>(load(written(tensor_view(numbers.data(), {200'000})))), numbers);
  std::string const fortran =
      file_of("{'descr': '|u1', 'fortran_order': True, 'shape': (400, 500)}", bytes_of_numbers(numbers));
  EXPECT_EQ(numbers_of<std::uint8_t>(load(fortran)), numbers_of<std::uint8_t>(parse(fortran)));
  npy_array const empty = load(written(tensor_view(numbers.data(), {2, 0})));
  EXPECT_EQ(empty.view().dims, (shape{2, 0}));
  std::string const whole = written(tensor_view(numbers.data(), {3}));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    std::string text = refusal_of<data_error>([&] { load(whole.substr(0, n)); });
    text.replace(text.find(folder / "x.npy"), (folder / "x.npy").size(), "a.npy");
    EXPECT_EQ(text, refused(whole.substr(0, n)));
  }
  // A header that claims 2^31 bytes costs no memory.
  EXPECT_NE(refusal_of<data_error>([&] {
              load(file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (268435456,)}", "1234"));
            }).find("expected 2147483648 bytes for 268435456 f64, got 4"),
            std::string::npos);
}

TEST(npy, refuses_damaged_files) {
  std::string const begin = "cannot read the .npy file (a.npy, byte ";
  EXPECT_EQ(refused(""), begin + "0): expected the magic of NumPy, got an empty file");
  EXPECT_EQ(refused("PK\3\4 and more"),
            begin + "0): expected the magic of NumPy, got \"PK\\u0003\\u0004 a\"");
  EXPECT_EQ(refused("\x93NUMPY\3\0"s), begin + "6): expected version 1 or 2 of the format, got 3");
  EXPECT_EQ(refused("\x93NUMPY\1\0\x76"s),
            begin + "9): expected 10 bytes before the header, got the end of the file");
  EXPECT_EQ(refused("\x93NUMPY\1\0\x76\0{}"s), begin + "8): expected a header of at most 2 bytes, got 118");
  EXPECT_EQ(refused("\x93NUMPY\2\0\0\0\1\0"s + std::string(70000, ' ')),
            begin + "65548): expected '{', got the end of the header");
  EXPECT_EQ(refused("\x93NUMPY\2\0\1\0\1\0"s + std::string(70000, ' ')),
            begin + "8): expected a header of at most 65536 bytes, got 65537");
  auto const header = [](std::string const& text) { return refused(file_of(text, "1234")); };
  EXPECT_EQ(header("{'descr': '<f4'}"),
            begin + "26): expected 'descr', 'fortran_order' and 'shape', got only some of them");
  EXPECT_EQ(header("{'descr': '<f4', 'descr': '<f4'}"),
            begin + "27): expected 'descr', 'fortran_order' and 'shape', once each, got \"'descr': '<f4'}\"");
  EXPECT_EQ(header("{'name': '<f4'}"),
            begin + "11): expected 'descr', 'fortran_order' and 'shape', once each, got \"'name': '<f4'}\"");
  EXPECT_EQ(header("{'descr' '<f4'}"), begin + "19): expected ':', got \"'<f4'}\"");
  EXPECT_EQ(header("{'descr': <f4}"), begin + "20): expected a text in quotes, got \"<f4}\"");
  EXPECT_EQ(header("{'descr': '<f4"), begin + "20): expected a text in quotes, got \"'<f4\"");
  EXPECT_EQ(header("{'fortran_order': 1}"), begin + "28): expected True or False, got \"1}\"");
  EXPECT_EQ(header("{'shape': 3}"), begin + "20): expected '(', got \"3}\"");
  EXPECT_EQ(header("{'shape': (-3,)}"),
            begin + "21): expected an extent from 0 to 2147483647, got \"-3,)}\"");
  EXPECT_EQ(header("{'shape': (2147483648,)}"),
            begin + "21): expected an extent from 0 to 2147483647, got \"2147483648,)}\"");
  EXPECT_EQ(header("{'shape': (1 2)}"), begin + "23): expected ',' or ')', got \"2)}\"");
  EXPECT_EQ(header("{'shape': (1,1,1,1,1,1,1)}"), begin + "33): expected at most six extents, got \"1)}\"");
  EXPECT_EQ(header("{'shape': (1,) 'descr': '<f4'}"),
            begin + "25): expected ',' or '}', got \"'descr': '<f4'}\"");
  EXPECT_EQ(header("{'shape': (1,), 'descr': '<f4', 'fortran_order': False} x"),
            begin + "66): expected the end of the header, got \"x\"");
  EXPECT_EQ(header("{'shape': (2,), 'descr': '<f4', 'fortran_order': False}"),
            begin + "65): expected 8 bytes for 2 f32, got 4");
  EXPECT_EQ(header("{'shape': (0,), 'descr': '<f4', 'fortran_order': False}"),
            begin + "65): expected 0 bytes for 0 f32, got 4");
  std::string const large = "(2147483647,2147483647,2147483647)";
  EXPECT_EQ(header("{'shape': " + large + ", 'descr': '<f4', 'fortran_order': False}"),
            begin + "10): expected less than 2^64 bytes, got the shape 2147483647x2147483647x2147483647");
}

TEST(npy, refuses_a_file_truncated_anywhere) {
  std::vector<float> const numbers{1, 2, 3};
  std::string const whole = written(tensor_view(numbers.data(), {3}));
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_NE(refused(whole.substr(0, n)), "") << n;
}

}  // namespace npy_test
