// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file.hpp>
#include <cohort/zlib.hpp>
#include <utility>

namespace cohort::detail {

/// State of zlib for one decompression.
struct inflation {
  /// `formats`: as the parameter windowBits of inflateInit2.
  inflation(int formats, std::function<std::string()> const& where) {
    if (int const code = inflateInit2(&stream, formats); code != Z_OK)
      throw memory_error(
          {.what = "zlib cannot be initialised", .where = where(), .expected = "", .got = zError(code)});
  }
  inflation(inflation const&) = delete;
  inflation& operator=(inflation const&) = delete;
  ~inflation() { inflateEnd(&stream); }

  z_stream stream{};
};

}  // namespace cohort::detail

namespace cohort::gzip {

std::uint64_t inflate(std::span<std::byte const> packed, std::span<std::byte> to, std::uint64_t max_bytes,
                      std::function<std::string()> const& where) {
  constexpr int zlib_or_gzip = 32 + MAX_WBITS;
  constexpr std::uint64_t most = 1U << 30;  // zlib counts the bytes of a call in 32 bits
  detail::inflation state(zlib_or_gzip, where);
  z_stream& z = state.stream;
  auto const refuse = [&](char const* what, detail::clause expected, detail::clause got) {
    throw data_error({.what = {"cannot decompress: ", what},
                      .where = where(),
                      .expected = std::move(expected),
                      .got = std::move(got)});
  };
  std::vector<std::byte> discarded;  // output beyond the size of `to`
  std::uint64_t read = 0, made = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    auto const input = static_cast<uInt>(std::min<std::uint64_t>(packed.size() - read, most));
    bool const keeps = made < to.size();
    if (!keeps) discarded.resize(std::size_t{1} << 14);
    auto const room =
        static_cast<uInt>(keeps ? std::min<std::uint64_t>(to.size() - made, most) : discarded.size());
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + read));
    z.avail_in = input;
    z.next_out = reinterpret_cast<Bytef*>(keeps ? to.data() + made : discarded.data());
    z.avail_out = room;
    code = ::inflate(&z, Z_NO_FLUSH);
    read += input - z.avail_in;
    made += room - z.avail_out;
    if (made > max_bytes) refuse("the result is too large", {"at most ", max_bytes, " bytes"}, "more");
  }
  if (code == Z_MEM_ERROR)
    throw memory_error({.what = "zlib is out of memory", .where = where(), .expected = "", .got = ""});
  if (code == Z_BUF_ERROR) refuse("the stream is truncated", "more bytes", {"the end after ", packed.size()});
  if (code != Z_STREAM_END)
    refuse("the stream is damaged", "zlib's or gzip's format", z.msg != nullptr ? z.msg : zError(code));
  if (read != packed.size())
    refuse("other bytes follow the stream", {read, " bytes"}, {packed.size(), " bytes"});
  return made;
}

std::vector<std::byte> decompress(std::vector<std::byte> const& packed, std::string const& where,
                                  std::size_t max_bytes) {
  constexpr int gzip_only = 16 + MAX_WBITS;
  detail::inflation state(gzip_only, [&] { return where; });
  z_stream& z = state.stream;
  std::size_t consumed = 0;
  auto const refuse = [&](char const* what, std::string expected, std::string got) {
    throw data_error({.what = {"cannot decompress the gzip file: ", what},
                      .where = {where, ", byte ", consumed - z.avail_in},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  };

  std::vector<std::byte> plain(std::min(max_bytes, std::max<std::size_t>(packed.size() * 4, 1 << 16)));
  std::size_t made = 0;
  std::byte beyond{};  // one extra byte detects a result larger than allowed
  while (true) {
    if (z.avail_in == 0) {
      std::size_t const piece = std::min<std::size_t>(packed.size() - consumed, 1U << 30);
      z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + consumed));
      z.avail_in = static_cast<uInt>(piece);
      consumed += piece;
    }
    if (made == plain.size() && made < max_bytes)
      plain.resize(made > max_bytes / 2 ? max_bytes : std::max<std::size_t>(made * 2, 1));
    bool const full = made == plain.size();
    std::size_t const room = full ? 1 : std::min<std::size_t>(plain.size() - made, 1U << 30);
    z.next_out = reinterpret_cast<Bytef*>(full ? &beyond : plain.data() + made);
    z.avail_out = static_cast<uInt>(room);
    int const code = ::inflate(&z, Z_NO_FLUSH);
    std::size_t const got = room - z.avail_out;
    if (full && got > 0) refuse("it is too large", "at most " + std::to_string(max_bytes) + " bytes", "more");
    made += got;
    bool const at_end = z.avail_in == 0 && consumed == packed.size();
    if (code == Z_STREAM_END) {
      if (at_end) break;
      if (inflateReset(&z) != Z_OK) refuse("zlib cannot continue with the next member", "", "");
    } else if (code == Z_MEM_ERROR) {
      throw memory_error({.what = "zlib is out of memory", .where = where, .expected = "", .got = ""});
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      refuse("it is damaged", "", z.msg != nullptr ? z.msg : zError(code));
    } else if (at_end && z.avail_out > 0) {
      refuse("it is truncated", "more bytes", "the end after " + std::to_string(packed.size()));
    }
  }
  plain.resize(made);
  return plain;
}

std::vector<std::byte> file_source::operator()(std::string const& path, std::size_t max_bytes) const {
  return decompress(io::read_file(path), path, max_bytes);
}

}  // namespace cohort::gzip
