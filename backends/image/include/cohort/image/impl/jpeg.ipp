// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/jpeg.hpp>
#include <cohort/image/detail/planes_of.hpp>
#include <cstdint>
#include <string_view>

namespace cohort::detail {

/// A copy of a JPEG from which extraneous bytes between segments are removed.
struct mended_file {
  std::vector<std::byte> bytes;
  bool has_one_scan = false;  ///< the first scan contains all components of a frame that is not progressive
  bool has_restarts = false;  ///< scans contain restart marks: decoders skip damaged data up to the next
};

/// Returns the copy. Adds a missing end mark only if one scan has all components; otherwise scans may be
/// missing.
mended_file mended_jpeg(std::span<std::byte const> file) {
  auto const byte = [&](std::size_t i) { return std::to_integer<unsigned>(file[i]); };
  std::vector<std::byte> to(file.begin(), file.begin() + 2);  // the start mark
  std::size_t i = 2;
  unsigned components = 0;  // number of components if the frame is not progressive
  bool has_restarts = false;
  while (i + 4 <= file.size()) {
    if (byte(i) != 0xff || byte(i + 1) == 0xff || byte(i + 1) == 0) {
      ++i;
      continue;
    }
    if (byte(i + 1) == 0xda || byte(i + 1) == 0xd9) break;  // a scan or the end
    if ((byte(i + 1) == 0xc0 || byte(i + 1) == 0xc1) && i + 9 < file.size()) components = byte(i + 9);
    has_restarts |= byte(i + 1) == 0xdd;
    std::size_t const end = std::min(i + 2 + 256 * byte(i + 2) + byte(i + 3), file.size());
    to.insert(to.end(), file.begin() + static_cast<std::ptrdiff_t>(i),
              file.begin() + static_cast<std::ptrdiff_t>(end));
    i = end;
  }
  to.insert(to.end(), file.begin() + static_cast<std::ptrdiff_t>(std::min(i, file.size())), file.end());
  bool const has_one_scan =
      components > 0 && i + 4 < file.size() && byte(i + 1) == 0xda && byte(i + 4) == components;
  bool const has_end = to[to.size() - 2] == std::byte{0xff} && to.back() == std::byte{0xd9};
  if (has_one_scan && !has_end) to.insert(to.end(), {std::byte{0xff}, std::byte{0xd9}});
  return {std::move(to), has_one_scan, has_restarts};
}

jpeg_file::jpeg_file(std::span<std::byte const> file, std::string const& where, bool salvage)
    : file_(file), where_(where), salvage_(salvage), codec_(tjInitDecompress()) {
  if (!codec_)
    throw memory_error(
        {.what = "TurboJPEG cannot be initialised", .where = where_, .got = tjGetErrorStr2(nullptr)});
  int outcome = read_header();
  if (outcome != 0 && has_warning()) {
    mended_ = mended_jpeg(file_).bytes;
    if (!std::ranges::equal(mended_, file_)) {
      file_ = mended_;
      outcome = read_header();
    }
  }
  require(outcome);
}

int jpeg_file::read_header() {
  int subsampling = 0, space = 0;
  int const outcome =
      tjDecompressHeader3(codec_.get(), data(), size_bytes(), &width_, &height_, &subsampling, &space);
  grey_ = space == TJCS_GRAY;
  has_inks_ = space == TJCS_CMYK || space == TJCS_YCCK;
  return outcome;
}

int jpeg_file::read_rows(std::uint8_t* rows, int step, int format, bool stops) const {
  int const flags = TJFLAG_LIMITSCANS | (stops ? TJFLAG_STOPONWARNING : 0);
  return tjDecompress2(codec_.get(), data(), size_bytes(), rows, width_, step * width_, height_, format,
                       flags);
}

image jpeg_file::read(int channels) const {
  int const step = has_inks_ ? 4 : grey_ || channels == 1 ? 1 : 3;
  int const format = has_inks_ ? TJPF_CMYK : step == 1 ? TJPF_GRAY : TJPF_RGB;
  std::size_t const pixels = static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_);
  auto const rows = std::make_unique<std::uint8_t[]>(static_cast<std::size_t>(step) * pixels);
  int outcome = read_rows(rows.get(), step, format, true);
  if (outcome != 0 && has_warning()) {
    // This is the first warning. In a single scan without restart marks, the bytes before the end mark follow
    // the last pixel.
    std::string_view const warning = tjGetErrorStr2(codec_.get());
    bool const has_extra_bytes = warning.ends_with("extraneous bytes before marker 0xd9");
    mended_file const other = mended_jpeg(file_);
    bool const is_complete = has_extra_bytes && other.has_one_scan && !other.has_restarts;
    if (!is_complete && mended_.empty() && !std::ranges::equal(other.bytes, file_))
      return jpeg_file(other.bytes, where_, salvage_).read(channels);
    if (is_complete || salvage_) {
      int const all = read_rows(rows.get(), step, format, false);
      outcome = is_complete && has_warning() ? 0 : all;
    }
  }
  require(outcome);
  if (!has_inks_)
    return step == 1 ? planes_of<1>(rows.get(), channels, height_, width_)
                     : planes_of<3>(rows.get(), channels, height_, width_);
  // The values are inverted, as Adobe's programs write them: 255 means no ink.
  for (std::size_t i = 0; i < pixels; ++i) {
    unsigned const light = rows[4 * i + 3];
    for (std::size_t ink = 0; ink < 3; ++ink) rows[3 * i + ink] = lit_by(255U - rows[4 * i + ink], light);
  }
  return planes_of<3>(rows.get(), channels, height_, width_);
}

void jpeg_file::require(int outcome) const {
  if (outcome == 0 || (salvage_ && has_warning() && width_ > 0)) return;
  refuse(has_warning() && !salvage_ ? "an undamaged file; the setting salvage decodes the readable part, "
                                      "bad: skip or skip_damaged omits it"
                                    : "an undamaged file",
         tjGetErrorStr2(codec_.get()));
}

void jpeg_file::refuse(char const* expected, char const* got) const {
  throw data_error({.what = "cannot decode the JPEG", .where = where_, .expected = expected, .got = got});
}

}  // namespace cohort::detail
