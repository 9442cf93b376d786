// SPDX-License-Identifier: Apache-2.0
#ifdef COHORT_IMAGE_TIFF
#include <tiffio.h>

#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/image/detail/image_bytes.hpp>
#include <cohort/image/detail/planes_of.hpp>
#include <cohort/image/detail/tiff.hpp>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <limits>

namespace cohort::detail {

/// Memory that libtiff may allocate at once. The blocks of pixels are allocated here.
inline constexpr tmsize_t tiff_most_bytes = tmsize_t{1} << 26;

tiff_file::tiff_file(std::span<std::byte const> file, std::string const& where, std::int64_t max_pixels)
    : where_(where), max_pixels_(max_pixels), source_(new source{.bytes = file}) {
  using reads = tmsize_t (*)(void*, void*, tmsize_t);
  reads const copy = [](void* from, void* to, tmsize_t count) {
    auto& [bytes, position, message] = *static_cast<source*>(from);
    std::size_t const available =
        std::min(static_cast<std::size_t>(count), bytes.size() - std::min(position, bytes.size()));
    if (available > 0) std::memcpy(to, bytes.data() + position, available);
    position += available;
    return static_cast<tmsize_t>(available);
  };
  reads const write = [](void*, void*, tmsize_t) { return tmsize_t{0}; };
  auto const seek = [](void* from, toff_t offset, int whence) {
    auto& [bytes, position, message] = *static_cast<source*>(from);
    position = static_cast<std::size_t>(offset)
               + (whence == SEEK_CUR   ? position
                  : whence == SEEK_END ? bytes.size()
                                       : 0);
    return toff_t{position};
  };
  auto const report = [](tiff*, void* to, char const*, char const* format, va_list values) {
    std::string& message = static_cast<source*>(to)->message;
    char text[256];
    if (message.empty() && std::vsnprintf(text, sizeof text, format, values) >= 0) message = text;
    return 1;
  };
  auto const ignore = [](tiff*, void*, char const*, char const*, va_list) { return 1; };
  auto const close = [](void*) { return 0; };
  auto const length = [](void* from) { return toff_t{static_cast<source*>(from)->bytes.size()}; };
  auto const map = [](void* from, void** data, toff_t* size) {
    auto const& bytes = static_cast<source*>(from)->bytes;
    *data = const_cast<std::byte*>(bytes.data());  // libtiff only reads a file that is opened by "r"
    *size = bytes.size();
    return 1;
  };
  auto const unmap = [](void*, void*, toff_t) {};
  std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> const options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), report, source_.get());
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore, nullptr);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), tiff_most_bytes);
  file_.reset(
      TIFFClientOpenExt("", "r", source_.get(), copy, write, seek, close, length, map, unmap, options.get()));
  require(file_ != nullptr);
  auto const width = field<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0),
             height = field<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0);
  constexpr std::uint32_t most = std::numeric_limits<int>::max();
  if (width < 1 || height < 1 || width > most || height > most)
    refuse("extents from 1 to 2147483647", std::to_string(height) + 'x' + std::to_string(width));
  width_ = static_cast<int>(width);
  height_ = static_cast<int>(height);
  check_kind();
}

template <class Number>
Number tiff_file::field(std::uint32_t tag, Number otherwise) const {
  Number value = otherwise;
  return TIFFGetFieldDefaulted(file_.get(), tag, &value) == 1 ? value : otherwise;
}

void tiff_file::check_kind() {
  auto const number = [&](std::uint32_t tag, std::uint16_t otherwise = 0) {
    return int{field(tag, otherwise)};
  };
  bits_ = number(TIFFTAG_BITSPERSAMPLE);
  stored_samples_ = number(TIFFTAG_SAMPLESPERPIXEL);
  planar_ = number(TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE;
  if (int const codec = number(TIFFTAG_COMPRESSION);
      TIFFIsCODECConfigured(static_cast<std::uint16_t>(codec)) == 0 || codec == COMPRESSION_OJPEG)
    refuse("a compression that libtiff supports, such as LZW or deflate",
           "compression " + std::to_string(codec));
  if (int const format = number(TIFFTAG_SAMPLEFORMAT); format != SAMPLEFORMAT_UINT)
    refuse("samples that are unsigned integers", "sample format " + std::to_string(format));
  int photometric = number(TIFFTAG_PHOTOMETRIC, std::numeric_limits<std::uint16_t>::max());
  if (photometric == PHOTOMETRIC_YCBCR && number(TIFFTAG_COMPRESSION) == COMPRESSION_JPEG && !planar_) {
    require(TIFFSetField(file_.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB) == 1);
    photometric = PHOTOMETRIC_RGB;
  }
  switch (photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
      kind_ = kind::grey;
      inverted_ = photometric == PHOTOMETRIC_MINISWHITE;
      break;
    case PHOTOMETRIC_PALETTE:
      kind_ = kind::palette;
      break;
    case PHOTOMETRIC_RGB:
      kind_ = kind::colour;
      break;
    case PHOTOMETRIC_SEPARATED:
      kind_ = kind::inks;
      if (int const inks = number(TIFFTAG_INKSET, INKSET_CMYK); inks != INKSET_CMYK)
        refuse("the inks cyan, magenta, yellow and black", "ink set " + std::to_string(inks));
      break;
    default:
      refuse("grey, RGB, CMYK, a palette, or YCbCr compressed by JPEG",
             "photometric interpretation " + std::to_string(photometric));
  }
  bool const has_bits =
      bits_ == 8 || (bits_ == 16 && kind_ != kind::palette)
      || ((bits_ == 1 || bits_ == 2 || bits_ == 4) && (kind_ == kind::grey || kind_ == kind::palette));
  if (!has_bits)
    refuse("8 or 16 bits per sample, or 1, 2 or 4 of a grey or palette image", std::to_string(bits_));
  int const needed = samples();
  std::uint16_t extra_count = 0;
  std::uint16_t const* extra = nullptr;
  TIFFGetFieldDefaulted(file_.get(), TIFFTAG_EXTRASAMPLES, &extra_count, &extra);
  premultiplied_ = kind_ == kind::colour && extra_count > 0 && extra[0] == EXTRASAMPLE_ASSOCALPHA;
  constexpr int most_samples = 16;
  if (stored_samples_ > most_samples) refuse("at most 16 samples per pixel", std::to_string(stored_samples_));
  if (stored_samples_ < samples())
    refuse("enough samples per pixel for its colours",
           std::to_string(stored_samples_) + " of " + std::to_string(needed));
}

int tiff_file::samples() const {
  if (kind_ == kind::inks) return 4;
  return kind_ == kind::colour ? 3 + (premultiplied_ ? 1 : 0) : 1;
}

std::uint8_t tiff_file::sample(std::byte const* row, std::size_t i) const {
  if (bits_ == 8) return std::to_integer<std::uint8_t>(row[i]);
  if (bits_ == 16) {
    std::uint16_t value = 0;  // in this processor's byte order
    std::memcpy(&value, row + 2 * i, sizeof value);
    return static_cast<std::uint8_t>(value >> 8);
  }
  std::size_t const bits = static_cast<std::size_t>(bits_), place = i * bits;
  unsigned const most = (1U << bits) - 1;
  unsigned const value = (std::to_integer<unsigned>(row[place / 8]) >> (8 - bits - place % 8)) & most;
  return static_cast<std::uint8_t>(kind_ == kind::palette ? value : value * 255 / most);
}

void tiff_file::store(block const& from, std::vector<std::uint8_t>& pixels) const {
  auto const step = static_cast<std::size_t>(samples());
  std::size_t const first = planar_ ? static_cast<std::size_t>(from.plane) : 0;
  std::size_t const count = planar_ ? 1 : step,
                    stored = planar_ ? 1 : static_cast<std::size_t>(stored_samples_);
  std::size_t const row_bytes =
      (static_cast<std::size_t>(from.width) * stored * static_cast<std::size_t>(bits_) + 7) / 8;
  int const bottom = std::min(from.top + from.height, height_),
            right = std::min(from.left + from.width, width_);
  for (int y = from.top; y < bottom; ++y) {
    std::byte const* const row = from.samples.data() + static_cast<std::size_t>(y - from.top) * row_bytes;
    std::uint8_t* const to =
        pixels.data() + (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) * step) + first;
    for (int x = from.left; x < right; ++x)
      for (std::size_t s = 0; s < count; ++s)
        to[static_cast<std::size_t>(x) * step + s] =
            sample(row, static_cast<std::size_t>(x - from.left) * stored + s);
  }
}

std::vector<std::uint8_t> tiff_file::stored_pixels() const {
  bool const tiled = TIFFIsTiled(file_.get()) != 0;
  auto const extent = [&](std::uint32_t tag, int otherwise) {
    auto const value = field<std::uint32_t>(tag, 0);
    return value >= 1 && (tiled || value < static_cast<std::uint32_t>(otherwise)) ? std::int64_t{value}
                                                                                  : otherwise;
  };
  std::int64_t const wide = tiled ? extent(TIFFTAG_TILEWIDTH, width_) : width_;
  std::int64_t const high = extent(tiled ? TIFFTAG_TILELENGTH : TIFFTAG_ROWSPERSTRIP, height_);
  auto const padded = [](std::int64_t pixels, std::int64_t tile) {
    return static_cast<double>((pixels + tile - 1) / tile * tile);
  };
  // Without this limit, a small file could contain tiles whose decoding takes days.
  if (padded(width_, wide) * padded(height_, high) > 2 * static_cast<double>(max_pixels_))
    refuse("tiles that contain at most twice as many pixels as an image may have",
           "tiles of " + std::to_string(high) + 'x' + std::to_string(wide));
  std::int64_t const bits = wide * bits_ * (planar_ ? 1 : stored_samples_);
  std::int64_t const row_bytes = (bits + 7) / 8;
  std::uint64_t const stored = tiled ? TIFFTileRowSize64(file_.get()) : TIFFScanlineSize64(file_.get());
  if (stored != static_cast<std::uint64_t>(row_bytes))
    refuse("samples of all channels at each pixel", "subsampled ones");
  std::vector<std::byte> samples_of_block(static_cast<std::size_t>(row_bytes * high));
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_)
                                   * static_cast<std::size_t>(samples()));
  std::uint32_t number = 0;  // of the block in the file
  for (int plane = 0; plane < (planar_ ? samples() : 1); ++plane)
    for (std::int64_t top = 0; top < height_; top += high)
      for (std::int64_t left = 0; left < width_; left += wide, ++number) {
        std::int64_t const rows = tiled ? high : std::min(high, height_ - top);
        auto const size = static_cast<tmsize_t>(rows * row_bytes);
        tmsize_t const read = tiled
                                  ? TIFFReadEncodedTile(file_.get(), number, samples_of_block.data(), size)
                                  : TIFFReadEncodedStrip(file_.get(), number, samples_of_block.data(), size);
        require(read == size);
        store({samples_of_block, static_cast<int>(left), static_cast<int>(top), static_cast<int>(wide),
               static_cast<int>(rows), plane},
              pixels);
      }
  return pixels;
}

image tiff_file::palette_image(std::vector<std::uint8_t> const& indices, int channels) const {
  std::uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
  if (TIFFGetField(file_.get(), TIFFTAG_COLORMAP, &red, &green, &blue) != 1) refuse("a colour map", "none");
  std::vector<std::byte> entries;
  for (std::size_t i = 0; i < std::size_t{1} << bits_; ++i)
    for (std::uint16_t const value : {red[i], green[i], blue[i]})
      entries.push_back(static_cast<std::byte>(value >> 8));
  colour_table colours;
  colours.store(entries, 3, {0, 1, 2});
  return colours.applied_to(indices, channels, height_, width_);
}

image tiff_file::read(int channels) const {
  std::vector<std::uint8_t> pixels = stored_pixels();
  std::size_t const count = static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_);
  if (kind_ == kind::palette) return palette_image(pixels, channels);
  if (kind_ == kind::grey) {
    if (inverted_)
      for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(255 - value);
    return planes_of<1>(pixels.data(), channels, height_, width_);
  }
  if (kind_ == kind::inks) {
    for (std::size_t i = 0; i < count; ++i) {
      unsigned const black = 255U - pixels[4 * i + 3];
      for (std::size_t ink = 0; ink < 3; ++ink) pixels[3 * i + ink] = lit_by(pixels[4 * i + ink], black);
    }
    return planes_of<3>(pixels.data(), channels, height_, width_);
  }
  if (!premultiplied_) return planes_of<3>(pixels.data(), channels, height_, width_);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      unsigned const alpha = pixels[4 * i + 3], value = pixels[4 * i + c];
      pixels[4 * i + c] = static_cast<std::uint8_t>(alpha == 0 ? 0 : std::min(255U, 255 * value / alpha));
    }
  return planes_of<4>(pixels.data(), channels, height_, width_);
}

void tiff_file::release::operator()(tiff* file) const { TIFFClose(file); }

void tiff_file::require(bool succeeded) const {
  if (!succeeded) refuse("an undamaged file", source_->message.empty() ? "a damaged one" : source_->message);
}

void tiff_file::refuse(char const* expected, std::string const& got) const {
  throw data_error({.what = "cannot decode the TIFF", .where = where_, .expected = expected, .got = got});
}

}  // namespace cohort::detail
#endif
