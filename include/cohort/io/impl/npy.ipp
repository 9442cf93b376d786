// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/npy_layout.hpp>
#include <cohort/io/detail/permutation.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/npy.hpp>
#include <cohort/tensor/f16.hpp>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::detail {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

inline constexpr std::string_view npy_f16 = "<f2";
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

std::optional<element_type> find_npy_type(std::string_view name) {
  if (name == npy_f16) return element_type::f32;
  for (auto const& [known, type] : npy_types)
    if (known == name) return type;
  return std::nullopt;
}

element_type npy_type(std::string const& name, std::string const& where) {
  if (auto const type = find_npy_type(name)) return *type;
  std::string got = quote_for_error(name);
  if (name.ends_with('O')) got += ", Python objects, which would be unpickled";
  if (name.starts_with('>')) got += ", big-endian";
  throw data_error(
      {.what = "cannot read the .npy file",
       .where = {where, ", type"},
       .expected = "<f2, <f4, <f8, <i4, <i8, <u8, |u1 or |b1 (numpy.ascontiguousarray(a, dtype='<f4'))",
       .got = std::move(got)});
}

/// Copies an array in Fortran order, whose first axis is contiguous, to row-major order.
template <class Word>
void copy_from_fortran_order(shape const& dims, std::byte const* from, std::byte* to) {
  std::vector<std::int64_t> extents;
  std::vector<int> axes;
  for (int axis = dims.rank; axis-- > 0;) {
    extents.push_back(dims[axis]);
    axes.push_back(axis);
  }
  visit_permuted(extents, axes, [&](std::int64_t i) {
    std::memcpy(to, from + static_cast<std::size_t>(i) * sizeof(Word), sizeof(Word));
    to += sizeof(Word);
  });
}

[[noreturn]] void refuse_npy(std::string const& where, std::size_t byte, std::string expected,
                             std::string got) {
  throw data_error({.what = "cannot read the .npy file",
                    .where = {where, ", byte ", byte},
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

/// Reads magic, version and header. `begin`, `file_bytes`: as read_npy_layout.
npy_header_reader read_npy_header(std::span<std::byte const> begin, std::uint64_t file_bytes,
                                  std::string const& where) {
  std::string_view const all(reinterpret_cast<char const*>(begin.data()), begin.size());
  if (!all.starts_with(npy_magic))
    refuse_npy(where, 0, "the magic of NumPy",
               all.empty() ? "an empty file" : quote_for_error(all.substr(0, 6)));
  auto const at = [&](std::size_t i) { return std::to_integer<std::size_t>(begin[i]); };
  std::size_t const version = begin.size() > 6 ? at(6) : 0;
  if (version != 1 && version != 2)
    refuse_npy(where, 6, "version 1 or 2 of the format",
               begin.size() > 6 ? std::to_string(version) : "the end of the file");
  std::size_t const prefix = version == 1 ? 10 : 12;
  if (begin.size() < prefix)
    refuse_npy(where, begin.size(), std::to_string(prefix) + " bytes before the header",
               "the end of the file");
  std::size_t length = 0;
  for (std::size_t i = prefix; i-- > 8;) length = length * 256 + at(i);
  std::uint64_t const most = std::min<std::uint64_t>(longest_npy_header, file_bytes - prefix);
  if (length > most)
    refuse_npy(where, 8, "a header of at most " + std::to_string(most) + " bytes", std::to_string(length));
  npy_header_reader header{.text = all.substr(prefix, length), .first = prefix, .where = where};
  header.read();
  return header;
}

std::string unread_npy_type(std::span<std::byte const> file, std::string const& where) {
  npy_header_reader const header = read_npy_header(file, file.size(), where);
  return find_npy_type(header.type) ? "" : header.type;
}

npy_layout read_npy_layout(std::span<std::byte const> begin, std::uint64_t file_bytes,
                           std::string const& where) {
  npy_header_reader const header = read_npy_header(begin, file_bytes, where);
  npy_layout made{.type = npy_type(header.type, where),
                  .dims = header.dims,
                  .is_boolean = header.type == "|b1",
                  .is_fortran = header.fortran_order && header.dims.rank > 1,
                  .is_f16 = header.type == npy_f16,
                  .first = header.first + header.text.size()};
  std::size_t const prefix = header.first;
  std::uint64_t size = made.element_bytes();
  for (int axis = 0; axis < header.dims.rank; ++axis) {
    if (header.dims[axis] == 0) size = 0;
    if (__builtin_mul_overflow(size, static_cast<std::uint64_t>(header.dims[axis]), &size))
      refuse_npy(where, prefix, "less than 2^64 bytes", "the shape " + to_string(header.dims));
  }
  if (size != file_bytes - made.first)
    refuse_npy(where, made.first,
               std::to_string(size) + " bytes for " + to_string(header.dims) + ' '
                   + std::string(made.is_f16 ? "f16" : name_of(made.type)),
               std::to_string(file_bytes - made.first));
  made.bytes = static_cast<std::size_t>(size);
  return made;
}

/// Copies an array in Fortran order to row-major order, with elements of the layout's type.
void copy_from_fortran_order(npy_layout const& layout, std::byte const* from, std::byte* to) {
  std::size_t const width = layout.element_bytes();
  if (width == 8)
    copy_from_fortran_order<std::uint64_t>(layout.dims, from, to);
  else if (width == 4)
    copy_from_fortran_order<std::uint32_t>(layout.dims, from, to);
  else if (width == 2)
    copy_from_fortran_order<std::uint16_t>(layout.dims, from, to);
  else
    copy_from_fortran_order<std::uint8_t>(layout.dims, from, to);
}

/// Throws data_error for a boolean that is neither 0 nor 1.
void check_booleans(npy_layout const& layout, std::span<std::byte const> data, std::string const& where) {
  if (!layout.is_boolean) return;
  auto const wrong = std::ranges::find_if(data, [](std::byte one) { return one > std::byte{1}; });
  if (wrong != data.end())
    refuse_npy(where, layout.first + static_cast<std::size_t>(wrong - data.begin()), "a boolean: 0 or 1",
               std::to_string(std::to_integer<int>(*wrong)));
}

std::string npy_header(element_type type, shape const& dims) {
  auto const* const known =
      std::find_if(npy_types.begin(), npy_types.end(), [&](auto const& one) { return one.second == type; });
  if (known == npy_types.end())
    throw data_error({.what = "cannot write the array for NumPy",
                      .where = {"type ", name_of(type)},
                      .expected = "f32, f64, i32, i64, u64 or u8"});
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis < dims.rank; ++axis) extents.push_back(dims[axis]);
  return npy_header(known->first, extents);
}

std::string npy_header(std::string_view type, std::span<std::int64_t const> dims) {
  std::string text = "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    text += std::to_string(dims[axis]) + (dims.size() == 1 ? "," : axis + 1 < dims.size() ? ", " : "");
  text += "), }";
  constexpr std::size_t before = 10;     // bytes of magic, version and length
  constexpr std::size_t alignment = 64;  // of the data in the file
  text.resize((before + text.size() + 1 + alignment - 1) / alignment * alignment - before - 1, ' ');
  text += '\n';
  std::string header(npy_magic);
  header += {'\1', '\0', static_cast<char>(text.size() % 256), static_cast<char>(text.size() / 256)};
  return header + text;
}

}  // namespace cohort::detail

namespace cohort {

npy_array npy_array::load(std::string const& path, std::size_t max_bytes) {
  io::file_reader file(path);
  file.expect_at_most(max_bytes);
  std::vector<std::byte> begin(
      static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), detail::longest_npy_prefix)));
  file.read_exactly(begin.data(), begin.size());
  detail::npy_layout const layout = detail::read_npy_layout(begin, file.size(), path);

  npy_array made;
  made.type_ = layout.type;
  made.dims_ = layout.dims;
  made.memory_ = buffer(layout.memory_bytes());
  buffer apart = layout.is_fortran ? buffer(layout.bytes) : buffer();
  std::byte* const data = layout.is_fortran ? apart.data() : made.memory_.data();
  std::size_t const known = std::min(begin.size() - layout.first, layout.bytes);
  if (known > 0) std::memcpy(data, begin.data() + layout.first, known);
  if (known < layout.bytes) file.read_exactly(data + known, layout.bytes - known);
  detail::check_booleans(layout, {data, layout.bytes}, path);
  if (layout.is_fortran) detail::copy_from_fortran_order(layout, data, made.memory_.data());
  if (layout.is_f16) detail::widen_f16(made.memory_.data(), layout.bytes / sizeof(f16));
  return made;
}

npy_array npy_array::parse(std::span<std::byte const> bytes, std::string const& where) {
  detail::npy_layout const layout = detail::read_npy_layout(bytes, bytes.size(), where);
  std::span<std::byte const> const data = bytes.subspan(layout.first);
  detail::check_booleans(layout, data, where);
  npy_array made;
  made.type_ = layout.type;
  made.dims_ = layout.dims;
  made.memory_ = buffer(layout.memory_bytes());
  if (layout.is_fortran)
    detail::copy_from_fortran_order(layout, data.data(), made.memory_.data());
  else if (!data.empty())
    std::memcpy(made.memory_.data(), data.data(), data.size());
  if (layout.is_f16) detail::widen_f16(made.memory_.data(), layout.bytes / sizeof(f16));
  return made;
}

void write_npy(io::byte_sink_ref sink, tensor_view array) {
  std::string const header = detail::npy_header(array.type, array.dims);
  sink.write(header.data(), header.size());
  sink.write(reinterpret_cast<char const*>(array.data), array.bytes());
}

void save_npy(std::string const& path, tensor_view array) {
  io::file_writer file(path);
  write_npy(file, array);
  file.commit();
}

}  // namespace cohort
