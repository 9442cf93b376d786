// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/checkpoint/safetensors_format.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/tensor/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// Byte source with the interface of std::istream.
template <class Source>
concept byte_stream = requires(Source& in, char* into) {
  in.read(into, 1);
  in.gcount();
};

namespace detail {

/// Header entry of one tensor, checked for internal consistency.
struct safetensors_entry {
  std::string name;
  element_type type;
  shape dims;
  std::uint64_t begin, end;  // bytes of the data part
};

/// Returns whether the first eight bytes of a file are ASCII text.
bool is_text(std::uint64_t first_bytes);

/// Throws data_error.
[[noreturn]] void refuse_safetensors(std::string const& where, std::string expected, std::string got);

}  // namespace detail

/// A safetensors file or stream in memory: tensors by name, and metadata.
///
/// Shapes    up to six extents, each at most the largest int; types F32, F64, BF16, U8, I32, I64, U64.
/// Before    the source is untrusted: sizes are checked against each other and against the file size before
///           memory is allocated. For a stream, memory grows with the bytes received.
/// After     the data of every tensor is aligned to 64 bytes, for any offset in the file.
/// Errors    file_error if the source cannot be read; data_error naming file, tensor or line of the header.
/// Source    https://huggingface.co/docs/safetensors
class safetensors {
 public:
  /// Reads a file.
  static safetensors load(std::string const& path, safetensors_limits limits = {});

  /// Reads exactly the bytes of one file from a stream; later bytes remain in the stream.
  template <byte_stream Stream>
  static safetensors read(Stream& in, std::string const& name = "stream", safetensors_limits limits = {}) {
    auto source = [&](void* into, std::size_t bytes) {
      in.read(static_cast<char*>(into), static_cast<std::ptrdiff_t>(bytes));
      return static_cast<std::size_t>(in.gcount());
    };
    return {source, std::nullopt, name, limits};
  }

  std::string const& name() const& { return name_; }
  std::string const& name() const&& = delete;  // keep the file in a variable
  safetensors_metadata const& metadata() const& { return metadata_; }
  safetensors_metadata const& metadata() const&& = delete;  // keep the file in a variable

  /// Returns the tensors in the order of their data in the file.
  std::span<stored_tensor const> tensors() const& { return tensors_; }
  std::span<stored_tensor const> tensors() const&& = delete;  // keep the file in a variable

  /// Returns the tensor of this name; nullopt if there is none.
  std::optional<tensor_view> find(std::string_view tensor) const&;
  std::optional<tensor_view> find(std::string_view tensor) const&& = delete;  // keep the file in a variable

  /// Returns the tensor of this name.
  ///
  /// Errors    data_error if there is none.
  tensor_view at(std::string_view tensor) const&;
  tensor_view at(std::string_view tensor) const&& = delete;  // keep the file in a variable

  /// Returns the tensor of this name.
  ///
  /// Errors    data_error if there is none, or if its type or extents differ.
  tensor_view at(std::string_view tensor, element_type type, shape const& dims) const&;
  // keep the file in a variable
  tensor_view at(std::string_view tensor, element_type type, shape const& dims) const&& = delete;

  /// Throws data_error about one of the tensors.
  [[noreturn]] void refuse(std::string_view tensor, std::string expected, std::string got) const;

 private:
  void grow(std::size_t bytes);
  template <class Source>
  safetensors(Source&& source, std::optional<std::uint64_t> total, std::string name,
              safetensors_limits limits)
      : name_(std::move(name)) {
    std::uint64_t length = 0;
    std::size_t const got = source(&length, sizeof length);
    if (got != sizeof length || (total && *total < sizeof length)) {
      detail::refuse_safetensors(name_, "a safetensors file, which begins with a length of 8 bytes",
                                 got == 0 ? "an empty file" : std::to_string(got) + " bytes");
    }
    std::uint64_t const most = std::min<std::uint64_t>(limits.max_header_bytes, total ? *total - 8 : length);
    if (length > most && detail::is_text(length)) {
      detail::refuse_safetensors(name_, "a safetensors file", "a text file");
    }
    if (length > most) {
      detail::refuse_safetensors(name_, "a header of at most " + std::to_string(most) + " bytes",
                                 std::to_string(length));
    }
    std::string const header = read_header(source, static_cast<std::size_t>(length), total.has_value());
    auto const entries = read_entries(header, limits);
    std::uint64_t const data_bytes = entries.empty() ? 0 : entries.back().end;
    if (total && *total - 8 - length != data_bytes) {
      detail::refuse_safetensors(
          name_, std::to_string(data_bytes) + " bytes of data after a header of " + std::to_string(length),
          std::to_string(*total - 8 - length));
    }
    read_data(source, entries, total.has_value());
  }

  /// Returns the capacity for the next read: all that is needed if the total size is known, otherwise twice
  /// the bytes read so far (at least 1 MiB).
  static std::size_t next_capacity(std::size_t have, std::size_t needed, bool known);

  template <class Source>
  std::string read_header(Source& source, std::size_t length, bool known) const {
    std::string header;
    std::size_t have = 0;
    while (have < length) {
      header.resize(next_capacity(have, length, known));
      have += source(header.data() + have, header.size() - have);
      if (have < header.size()) {
        detail::refuse_safetensors(name_, "a header of " + std::to_string(length) + " bytes",
                                   std::to_string(have));
      }
    }
    if (header.empty() || header[0] != '{') {
      detail::refuse_safetensors(name_ + ", byte 8", "'{'",
                                 header.empty() ? "no header" : detail::quote_for_error(header.substr(0, 1)));
    }
    return header;
  }

  std::vector<detail::safetensors_entry> read_entries(std::string const& header, safetensors_limits limits);

  template <class Source>
  void read_data(Source& source, std::vector<detail::safetensors_entry> const& entries, bool known) {
    constexpr std::size_t unit = detail::safetensors_alignment;
    auto slot = [](std::uint64_t bytes) { return (bytes + unit - 1) / unit * unit; };
    std::uint64_t needed = 0;
    for (auto const& entry : entries) {
      if (__builtin_add_overflow(needed, slot(entry.end - entry.begin), &needed)
          || needed > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
        detail::refuse_safetensors(name_ + ", tensor " + detail::quote_for_error(entry.name),
                                   "less than 2^63 bytes of data", "more");
      }
    }
    std::vector<std::uint64_t> places;
    std::uint64_t place = 0;
    for (auto const& entry : entries) {
      std::uint64_t const bytes = entry.end - entry.begin;
      places.push_back(bytes == 0 ? 0 : place);
      for (std::uint64_t done = 0; done < bytes;) {
        std::uint64_t const from = place + done;
        if (from >= data_.bytes()) grow(next_capacity(from, needed, known));
        std::uint64_t const part = std::min<std::uint64_t>(bytes - done, data_.bytes() - from);
        std::size_t const got = source(data_.data() + from, part);
        done += got;
        if (got < part) refuse(entry.name, std::to_string(bytes) + " bytes", std::to_string(done));
      }
      place += slot(bytes);
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      tensors_.push_back(
          {entries[i].name, tensor_view(data_.data() + places[i], entries[i].type, entries[i].dims)});
      by_name_.push_back(i);
    }
    std::sort(by_name_.begin(), by_name_.end(),
              [&](std::size_t a, std::size_t b) { return tensors_[a].name < tensors_[b].name; });
  }

  std::string name_;
  safetensors_metadata metadata_;
  std::vector<stored_tensor> tensors_;
  std::vector<std::size_t> by_name_;
  buffer data_;
};

}  // namespace cohort
