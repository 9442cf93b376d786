// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/mapped_file.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/text/token_stream.hpp>
#include <cstring>
#include <limits>
#include <utility>

namespace cohort {

namespace detail {

static_assert(std::endian::native == std::endian::little);

std::size_t bytes_of_token(token_type type) {
  return type == token_type::u8 ? 1 : type == token_type::u16 ? 2 : 4;
}

}  // namespace detail

token_stream::token_stream(std::vector<std::int32_t> tokens) {
  auto owned = std::make_shared<std::vector<std::int32_t> const>(std::move(tokens));
  first_ = reinterpret_cast<std::byte const*>(owned->data());
  size_ = static_cast<std::int64_t>(owned->size());
  memory_ = std::move(owned);
}

token_stream token_stream::map(std::string const& path, token_type type, std::int64_t header_bytes) {
  auto file = std::make_shared<detail::mapped_file const>(path);
  std::size_t const each = detail::bytes_of_token(type);
  auto const header = static_cast<std::size_t>(header_bytes);
  if (header_bytes < 0 || header % each != 0)
    throw setting_error({.what = "invalid header of a file of tokens",
                         .where = "header_bytes",
                         .expected = {"a multiple of ", each, ", at least 0"},
                         .got = {header_bytes}});
  if (file->size() < header || (file->size() - header) % each != 0)
    throw data_error({.what = "the file does not contain whole tokens",
                      .where = path,
                      .expected = {header, " bytes of header and a multiple of ", each, " bytes of tokens"},
                      .got = {file->size(), " bytes"}});
  token_stream made;
  made.first_ = file->data() + header;
  made.type_ = type;
  made.size_ = static_cast<std::int64_t>((file->size() - header) / each);
  made.memory_ = std::move(file);
  return made;
}

token_stream token_stream::part(std::int64_t first, std::int64_t count) const {
  if (first < 0 || first > size_ || count < 0)
    throw setting_error(
        {.what = "invalid part of a token stream",
         .where = first < 0 || first > size_ ? "first" : "count",
         .expected = first < 0 || first > size_ ? detail::clause({"0 to ", size_}) : "at least 0",
         .got = {first < 0 || first > size_ ? first : count}});
  token_stream made = *this;
  made.first_ += static_cast<std::size_t>(first) * detail::bytes_of_token(type_);
  made.size_ = std::min(count, size_ - first);
  return made;
}

void token_stream::copy(std::int64_t first, std::span<std::int32_t> out) const {
  std::byte const* const from = first_ + static_cast<std::size_t>(first) * detail::bytes_of_token(type_);
  auto const widen = [&]<class Stored>(Stored) {
    for (std::size_t k = 0; k < out.size(); ++k) {
      Stored one;
      std::memcpy(&one, from + k * sizeof one, sizeof one);
      out[k] = static_cast<std::int32_t>(one);
    }
  };
  if (type_ == token_type::u8)
    widen(std::uint8_t{});
  else if (type_ == token_type::u16)
    widen(std::uint16_t{});
  else
    widen(std::int32_t{});
}

void write_tokens(std::string const& path, std::span<std::int32_t const> tokens, token_type type) {
  std::int32_t const highest = type == token_type::u8    ? 0xff
                               : type == token_type::u16 ? 0xffff
                                                         : std::numeric_limits<std::int32_t>::max();
  auto const wrong = std::find_if(tokens.begin(), tokens.end(),
                                  [&](std::int32_t token) { return token < 0 || token > highest; });
  if (wrong != tokens.end())
    throw data_error({.what = "a token is out of the range of the file's element type",
                      .where = {path, ", token ", wrong - tokens.begin()},
                      .expected = {"0 to ", highest},
                      .got = {*wrong}});
  std::size_t const each = detail::bytes_of_token(type);
  io::file_writer file(path);
  std::vector<char> chunk;
  for (std::size_t done = 0; done < tokens.size();) {
    std::size_t const count = std::min<std::size_t>(tokens.size() - done, 1 << 16);
    chunk.resize(count * each);
    for (std::size_t k = 0; k < count; ++k) std::memcpy(chunk.data() + k * each, &tokens[done + k], each);
    file.write(chunk.data(), chunk.size());
    done += count;
  }
  file.commit();
}

}  // namespace cohort
