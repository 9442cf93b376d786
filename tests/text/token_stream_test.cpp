// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/text/token_stream.hpp>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace token_stream_test {

using namespace cohort;

using tokens = std::vector<std::int32_t>;

tokens all_of(token_stream const& stream) {
  tokens made(static_cast<std::size_t>(stream.size()));
  stream.copy(0, made);
  return made;
}

struct token_streams : ::testing::Test {
  std::string path =
      (std::filesystem::path(::testing::TempDir()) / ("tokens_" + std::to_string(std::random_device{}())))
          .string();
  ~token_streams() override { std::filesystem::remove(path); }

  template <class Call>
  std::string refused(Call&& call) {
    try {
      call();
    } catch (error const& problem) {
      std::string text = problem.what();
      for (std::size_t at; (at = text.find(path)) != std::string::npos;)
        text.replace(at, path.size(), "FILE");
      return text;
    }
    return "nothing thrown";
  }
};

TEST_F(token_streams, are_read_back_from_files_of_every_type) {
  tokens many(200'000);
  std::iota(many.begin(), many.end(), 0);
  for (auto const& [type, highest] :
       {std::pair{token_type::u8, 255}, {token_type::u16, 65535}, {token_type::i32, 1 << 30}}) {
    tokens written = many;
    for (std::int32_t& token : written) token %= highest + 1;
    written.push_back(highest);
    write_tokens(path, written, type);
    token_stream const mapped = token_stream::map(path, type);
    EXPECT_EQ(all_of(mapped), written);
    EXPECT_EQ(std::filesystem::file_size(path), written.size()
                                                    * (type == token_type::u8    ? 1
                                                       : type == token_type::u16 ? 2
                                                                                 : 4));
  }
}

TEST_F(token_streams, skip_a_header) {
  io::write_file(path, std::string("head\x01\x00\x02\x00", 8));
  EXPECT_EQ(all_of(token_stream::map(path, token_type::u16, 4)), (tokens{1, 2}));
}

TEST_F(token_streams, return_parts_of_their_tokens) {
  token_stream const stream(tokens{10, 11, 12, 13, 14});
  EXPECT_EQ(all_of(stream.part(1, 2)), (tokens{11, 12}));
  EXPECT_EQ(all_of(stream.part(3, 100)), (tokens{13, 14}));
  EXPECT_EQ(stream.part(5, 1).size(), 0);
  EXPECT_EQ(all_of(stream.part(1, 4).part(1, 2)), (tokens{12, 13}));
}

TEST_F(token_streams, refuse_invalid_types_and_tokens) {
  EXPECT_EQ(refused([&] {
              write_tokens(path, tokens{1, 65536});
            }),
            "a token is out of the range of the file's element type (FILE, token 1): expected 0 to 65535, "
            "got 65536");
  EXPECT_EQ(
      refused([&] { write_tokens(path, tokens{-1}, token_type::i32); }),
      "a token is out of the range of the file's element type (FILE, token 0): expected 0 to 2147483647, "
      "got -1");
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(refused([&] { token_stream::map(path); }),
            "cannot open the file (FILE): No such file or directory");
  io::write_file(path, "abc");
  EXPECT_EQ(refused([&] { token_stream::map(path); }),
            "the file does not contain whole tokens (FILE): expected 0 bytes of header and a multiple of 2 "
            "bytes of tokens, got 3 bytes");
  EXPECT_EQ(refused([&] { token_stream::map(path, token_type::u16, 4); }),
            "the file does not contain whole tokens (FILE): expected 4 bytes of header and a multiple of 2 "
            "bytes of tokens, got 3 bytes");
  EXPECT_EQ(refused([&] { token_stream::map(path, token_type::u16, 3); }),
            "invalid header of a file of tokens (header_bytes): expected a multiple of 2, at least 0, got 3");
  EXPECT_EQ(refused([] { token_stream::map("/"); }),
            "cannot map the file (/): expected a regular file, got a directory");
  token_stream const stream(tokens{1, 2});
  EXPECT_EQ(refused([&] { (void)stream.part(3, 1); }),
            "invalid part of a token stream (first): expected 0 to 2, got 3");
  EXPECT_EQ(refused([&] { (void)stream.part(0, -1); }),
            "invalid part of a token stream (count): expected at least 0, got -1");
}

TEST_F(token_streams, map_empty_files) {
  io::write_file(path, "");
  EXPECT_EQ(token_stream::map(path).size(), 0);
}

}  // namespace token_stream_test
