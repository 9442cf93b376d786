// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/npy.hpp>
#include <cohort/io/detail/json_string.hpp>
#include <cohort/io/file.hpp>
#include <cohort/io/file_writer.hpp>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace cohort::detail {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

inline constexpr std::array<std::pair<std::string_view, element_type>, 7> npy_types{{
    {"<f4", element_type::f32},
    {"<f8", element_type::f64},
    {"<i4", element_type::i32},
    {"<i8", element_type::i64},
    {"<u8", element_type::u64},
    {"|u1", element_type::u8},
    {"|b1", element_type::u8},
}};

/// Reads the header of a .npy file: a dictionary as Python writes it.
struct npy_header_reader {
  std::string_view text;
  std::size_t first;  // byte of the header in the file
  std::string const& where;
  std::size_t at = 0;

  std::string type{};
  bool fortran_order = false;
  shape dims{};

  [[noreturn]] void refuse(std::string expected, std::string got) const {
    throw data_error({.what = "cannot read the .npy file",
                      .where = {where, ", byte ", first + at},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }
  [[noreturn]] void refuse(std::string expected) const {
    refuse(std::move(expected),
           at < text.size() ? quote_for_error(text.substr(at, 20)) : "the end of the header");
  }

  char next() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
    return at < text.size() ? text[at] : '\0';
  }
  bool has(char wanted) {
    if (next() != wanted) return false;
    ++at;
    return true;
  }
  bool has(std::string_view word) {
    next();
    if (!text.substr(at).starts_with(word)) return false;
    at += word.size();
    return true;
  }
  void demand(char wanted) {
    if (!has(wanted)) refuse(std::string("'") + wanted + '\'');
  }
  std::string quoted() {
    char const quote = next();
    std::size_t const end = quote == '\'' || quote == '"' ? text.find(quote, at + 1) : std::string_view::npos;
    if (end == std::string_view::npos) refuse("a text in quotes");
    std::string made(text.substr(at + 1, end - at - 1));
    at = end + 1;
    return made;
  }

  void read_shape() {
    demand('(');
    while (!has(')')) {
      next();
      int extent = 0;
      char const *const begin = text.data() + at, *const end = text.data() + text.size();
      auto const [stop, failure] = std::from_chars(begin, end, extent);
      if (failure != std::errc() || extent < 0) refuse("an extent from 0 to 2147483647");
      if (dims.rank == shape::max_rank) refuse("at most six extents");
      dims[dims.rank++] = extent;
      at += static_cast<std::size_t>(stop - begin);
      if (!has(',') && next() != ')') refuse("',' or ')'");
    }
  }

  void read() {
    std::array<bool, 3> seen{};
    demand('{');
    while (!has('}')) {
      next();
      std::size_t const begin = at;
      std::string const key = quoted();
      std::size_t const which = key == "descr" ? 0 : key == "fortran_order" ? 1 : 2;
      if ((which == 2 && key != "shape") || seen[which]) {
        at = begin;
        refuse("'descr', 'fortran_order' and 'shape', once each");
      }
      seen[which] = true;
      demand(':');
      if (which == 0) {
        if (next() == '[') refuse("an array of numbers", "an array of records");
        type = quoted();
      } else if (which == 1) {
        fortran_order = has("True");
        if (!fortran_order && !has("False")) refuse("True or False");
      } else {
        read_shape();
      }
      if (!has(',') && next() != '}') refuse("',' or '}'");
    }
    if (next() != '\0') refuse("the end of the header");
    if (!(seen[0] && seen[1] && seen[2])) refuse("'descr', 'fortran_order' and 'shape'", "only some of them");
  }
};

COHORT_CORE_INLINE element_type npy_type(std::string const& name, std::string const& where) {
  for (auto const& [known, type] : npy_types)
    if (known == name) return type;
  std::string got = quote_for_error(name);
  if (name.ends_with('O')) got += ", Python objects, which would be unpickled";
  if (name.starts_with('>')) got += ", big-endian";
  throw data_error(
      {.what = "cannot read the .npy file",
       .where = {where, ", type"},
       .expected = "<f4, <f8, <i4, <i8, <u8, |u1 or |b1 (numpy.ascontiguousarray(a, dtype='<f4'))",
       .got = std::move(got)});
}

/// Copies an array whose first axis is the fastest one into row-major order.
template <class Word>
void copy_from_fortran_order(shape const& dims, std::byte const* from, std::byte* to) {
  std::array<std::int64_t, shape::max_rank> steps{};
  std::int64_t step = 1;
  for (int axis = 0; axis < dims.rank; step *= dims[axis++]) steps[static_cast<std::size_t>(axis)] = step;
  std::array<int, shape::max_rank> index{};
  std::int64_t place = 0;
  for (std::int64_t i = 0; i < dims.elements(); ++i) {
    std::memcpy(to + static_cast<std::size_t>(i) * sizeof(Word),
                from + static_cast<std::size_t>(place) * sizeof(Word), sizeof(Word));
    for (int axis = dims.rank; axis-- > 0;) {
      auto const a = static_cast<std::size_t>(axis);
      place += steps[a];
      if (++index[a] < dims[axis]) break;
      place -= steps[a] * dims[axis];
      index[a] = 0;
    }
  }
}

COHORT_CORE_INLINE std::string npy_header(element_type type, shape const& dims) {
  auto const* const known =
      std::find_if(npy_types.begin(), npy_types.end(), [&](auto const& one) { return one.second == type; });
  if (known == npy_types.end())
    throw data_error({.what = "cannot write the array for NumPy",
                      .where = {"type ", name_of(type)},
                      .expected = "f32, f64, i32, i64, u64 or u8"});
  std::string text = "{'descr': '" + std::string(known->first) + "', 'fortran_order': False, 'shape': (";
  for (int axis = 0; axis < dims.rank; ++axis)
    text += std::to_string(dims[axis]) + (dims.rank == 1 ? "," : axis + 1 < dims.rank ? ", " : "");
  text += "), }";
  constexpr std::size_t before = 10, alignment = 64;  // magic, version and length; of the data
  text.resize((before + text.size() + 1 + alignment - 1) / alignment * alignment - before - 1, ' ');
  text += '\n';
  std::string header(npy_magic);
  header += {'\1', '\0', static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
  return header + text;
}

}  // namespace cohort::detail

namespace cohort {

COHORT_CORE_INLINE npy_array npy_array::load(std::string const& path, std::size_t max_bytes) {
  return parse(io::read_file(path, max_bytes), path);
}

COHORT_CORE_INLINE npy_array npy_array::parse(std::span<std::byte const> bytes, std::string const& where) {
  auto const refuse = [&](std::size_t byte, std::string expected, std::string got) {
    throw data_error({.what = "cannot read the .npy file",
                      .where = {where, ", byte ", byte},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  };
  auto const* const text = reinterpret_cast<char const*>(bytes.data());
  std::string_view const all(text, bytes.size());
  if (!all.starts_with(detail::npy_magic))
    refuse(0, "the magic of NumPy",
           all.empty() ? "an empty file" : detail::quote_for_error(all.substr(0, 6)));
  auto const at = [&](std::size_t i) { return std::to_integer<std::size_t>(bytes[i]); };
  std::size_t const version = bytes.size() > 6 ? at(6) : 0;
  if (version != 1 && version != 2)
    refuse(6, "version 1 or 2 of the format",
           bytes.size() > 6 ? std::to_string(version) : "the end of the file");
  std::size_t const begin = version == 1 ? 10 : 12;
  if (bytes.size() < begin)
    refuse(bytes.size(), std::to_string(begin) + " bytes before the header", "the end of the file");
  std::size_t length = 0;
  for (std::size_t i = begin; i-- > 8;) length = length * 256 + at(i);
  constexpr std::size_t longest = 1 << 16;  // six extents and a type need less than 200 bytes
  if (length > longest || length > bytes.size() - begin)
    refuse(8, "a header of at most " + std::to_string(std::min(longest, bytes.size() - begin)) + " bytes",
           std::to_string(length));
  detail::npy_header_reader header{.text = all.substr(begin, length), .first = begin, .where = where};
  header.read();

  npy_array made;
  made.type_ = detail::npy_type(header.type, where);
  made.dims_ = header.dims;
  std::uint64_t size = bytes_of(made.type_);
  for (int axis = 0; axis < header.dims.rank; ++axis) {
    if (header.dims[axis] == 0) size = 0;
    if (__builtin_mul_overflow(size, static_cast<std::uint64_t>(header.dims[axis]), &size))
      refuse(begin, "less than 2^64 bytes", "the shape " + to_string(header.dims));
  }
  std::size_t const first = begin + length;
  if (size != bytes.size() - first)
    refuse(first,
           std::to_string(size) + " bytes for " + to_string(header.dims) + ' '
               + std::string(name_of(made.type_)),
           std::to_string(bytes.size() - first));
  made.memory_ = buffer(static_cast<std::size_t>(size));
  std::byte const* const data = bytes.data() + first;
  if (header.fortran_order && header.dims.rank > 1 && size > 0) {
    if (bytes_of(made.type_) == 8)
      detail::copy_from_fortran_order<std::uint64_t>(made.dims_, data, made.memory_.data());
    else if (bytes_of(made.type_) == 4)
      detail::copy_from_fortran_order<std::uint32_t>(made.dims_, data, made.memory_.data());
    else
      detail::copy_from_fortran_order<std::uint8_t>(made.dims_, data, made.memory_.data());
  } else if (size > 0) {
    std::memcpy(made.memory_.data(), data, static_cast<std::size_t>(size));
  }
  return made;
}

COHORT_CORE_INLINE void write_npy(io::byte_sink_ref sink, tensor_view array) {
  std::string const header = detail::npy_header(array.type, array.dims);
  sink.write(header.data(), header.size());
  sink.write(reinterpret_cast<char const*>(array.data), array.bytes());
}

COHORT_CORE_INLINE void save_npy(std::string const& path, tensor_view array) {
  io::file_writer file(path);
  write_npy(file, array);
  file.commit();
}

}  // namespace cohort
