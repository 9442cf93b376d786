// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file.hpp>
#include <cohort/zlib.hpp>
#include <utility>

namespace cohort::gzip {

COHORT_ZLIB_INLINE std::vector<std::byte> decompress(std::vector<std::byte> const& packed,
                                                     std::string const& where, std::size_t max_bytes) {
  struct inflation {
    z_stream stream{};
    bool live = false;
    ~inflation() {
      if (live) inflateEnd(&stream);
    }
  } state;
  z_stream& z = state.stream;
  std::size_t consumed = 0;
  auto const refuse = [&](char const* what, std::string expected, std::string got) {
    throw data_error({.what = {"cannot decompress the gzip file: ", what},
                      .where = {where, ", byte ", consumed - z.avail_in},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  };

  constexpr int gzip_only = 16 + MAX_WBITS;
  if (int const code = inflateInit2(&z, gzip_only); code != Z_OK)
    throw memory_error(
        {.what = "zlib cannot be initialised", .where = where, .expected = "", .got = zError(code)});
  state.live = true;

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
    int const code = inflate(&z, Z_NO_FLUSH);
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

COHORT_ZLIB_INLINE std::vector<std::byte> file_source::operator()(std::string const& path,
                                                                  std::size_t max_bytes) const {
  return decompress(io::read_file(path), path, max_bytes);
}

}  // namespace cohort::gzip
