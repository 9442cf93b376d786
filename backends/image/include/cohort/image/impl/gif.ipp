// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cohort/image/detail/gif.hpp>
#include <optional>

namespace cohort::detail {

/// Reads the codes of GIF's LZW data, which is divided into blocks of up to 255 bytes.
class gif_codes {
 public:
  explicit gif_codes(image_bytes from) : from_(from) {}

  /// Returns the next code of `width` bits, least significant bit first; nothing after the last block.
  std::optional<unsigned> next(unsigned width) {
    while (bits_ < width) {
      if (remaining_ == 0 && (remaining_ = from_.u8()) == 0) return {};
      held_ |= static_cast<unsigned>(from_.u8()) << bits_;
      bits_ += 8;
      --remaining_;
    }
    unsigned const code = held_ & ((1U << width) - 1);
    held_ >>= width;
    bits_ -= width;
    return code;
  }

 private:
  image_bytes from_;
  unsigned held_ = 0, bits_ = 0;
  unsigned remaining_ = 0;  // bytes of the block
};

/// The strings of LZW codes: each is the string of another code and one more index.
class gif_strings {
 public:
  static constexpr unsigned most = 4096;

  explicit gif_strings(unsigned root_bits) : clear_(1U << root_bits), root_bits_(root_bits) { reset(); }

  unsigned clear_code() const { return clear_; }
  unsigned end_code() const { return clear_ + 1; }
  unsigned width() const { return width_; }

  void reset() {
    next_ = clear_ + 2;
    width_ = root_bits_ + 1;
    previous_.reset();
  }

  /// Appends the string of a code, at most `space` indices of it, and adds a string. Returns false for a code
  /// that has no string.
  bool append(unsigned code, std::size_t space, std::vector<std::uint8_t>& to) {
    if (code > next_ || (code == next_ && (!previous_ || next_ == most)) || (!previous_ && code >= clear_))
      return false;
    std::size_t length = 0;
    unsigned prefix = code;
    if (code == next_) {
      reversed_[length++] = first_;
      prefix = *previous_;
    }
    for (; prefix >= clear_; prefix = prefixes_[prefix]) reversed_[length++] = last_[prefix];
    first_ = static_cast<std::uint8_t>(prefix);
    reversed_[length++] = first_;
    for (std::size_t k = 0; k < std::min(length, space); ++k) to.push_back(reversed_[length - 1 - k]);
    if (previous_ && next_ < most) {
      prefixes_[next_] = static_cast<std::uint16_t>(*previous_);
      last_[next_] = first_;
      if (++next_ == 1U << width_ && width_ < 12) ++width_;
    }
    previous_ = code;
    return true;
  }

 private:
  unsigned clear_, root_bits_;
  unsigned next_ = 0, width_ = 0;
  std::optional<unsigned> previous_{};
  std::uint8_t first_ = 0;  // of the previous string
  std::array<std::uint16_t, most> prefixes_{};
  std::array<std::uint8_t, most> last_{};
  std::array<std::uint8_t, most + 1> reversed_{};
};

gif_file::gif_file(std::span<std::byte const> file, std::string const& where) : pixels_(file, "GIF", where) {
  image_bytes& from = pixels_;
  from.seek(6);
  width_ = from.u16();
  height_ = from.u16();
  unsigned const screen_flags = from.u8();
  from.bytes(2);  // background and aspect ratio
  read_colours(from, screen_flags);
  for (unsigned block = from.u8(); block != 0x2c; block = from.u8()) {
    if (block == 0x3b) from.refuse("an image", "a file that contains none");
    if (block != 0x21) from.refuse("an undamaged file", "an unknown block " + std::to_string(block));
    if (from.u8() == 0xf9) {  // the graphic control extension: its size, flags, delay and transparent index
      std::span<std::byte const> const control = from.bytes(from.u8());
      if (control.size() >= 4 && (control[0] & std::byte{1}) != std::byte{})
        outside_ = std::to_integer<std::uint8_t>(control[3]);
    }
    skip_blocks(from);
  }
  left_ = from.u16();
  top_ = from.u16();
  frame_width_ = from.u16();
  frame_height_ = from.u16();
  unsigned const flags = from.u8();
  if (frame_width_ == 0 || frame_height_ == 0) from.refuse("extents of at least 1", "0");
  interlaced_ = (flags & 0x40) != 0;
  read_colours(from, flags);
  width_ = std::max(width_, left_ + frame_width_);
  height_ = std::max(height_, top_ + frame_height_);
}

void gif_file::read_colours(image_bytes& from, unsigned flags) {
  if ((flags & 0x80) == 0) return;
  colours_ = colour_table();
  colours_.store(from.bytes(std::size_t{6} << (flags & 7)), 3, {0, 1, 2});
}

void gif_file::skip_blocks(image_bytes& from) {
  while (std::uint8_t const size = from.u8()) from.bytes(size);
}

std::vector<std::uint8_t> gif_file::frame_indices() const {
  image_bytes from = pixels_;
  unsigned const root_bits = from.u8();
  if (root_bits < 1 || root_bits > 8)
    from.refuse("LZW codes of 1 to 8 bits for the indices", std::to_string(root_bits));
  std::size_t const wanted = static_cast<std::size_t>(frame_width_) * static_cast<std::size_t>(frame_height_);
  std::vector<std::uint8_t> indices;
  gif_codes codes(from);
  gif_strings strings(root_bits);
  while (indices.size() < wanted) {
    std::optional<unsigned> const code = codes.next(strings.width());
    if (!code || code == strings.end_code())
      from.refuse("an undamaged file",
                  std::to_string(indices.size()) + " of " + std::to_string(wanted) + " pixels");
    if (code == strings.clear_code())
      strings.reset();
    else if (!strings.append(*code, wanted - indices.size(), indices))
      from.refuse("an undamaged file", "an LZW code without a string");
  }
  return indices;
}

image gif_file::read(int channels) const {
  std::vector<std::uint8_t> const frame = frame_indices();
  std::vector<std::uint8_t> screen(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_),
                                   outside_);
  auto row = frame.begin();
  auto const place = [&](int first, int step) {
    for (int y = first; y < frame_height_; y += step, row += frame_width_)
      std::copy(row, row + frame_width_, screen.begin() + std::ptrdiff_t{top_ + y} * width_ + left_);
  };
  if (interlaced_) {
    place(0, 8);
    place(4, 8);
    place(2, 4);
    place(1, 2);
  } else {
    place(0, 1);
  }
  return colours_.applied_to(screen, channels, height_, width_);
}

}  // namespace cohort::detail
