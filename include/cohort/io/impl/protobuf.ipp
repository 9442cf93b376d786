// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/protobuf.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

static_assert(std::endian::native == std::endian::little, "cohort: Protocol Buffers are little-endian");

protobuf_reader::protobuf_reader(protobuf_reader const& parent, char const* name, std::int64_t index)
    : protobuf_reader(parent.bytes(), *parent.file_, parent.what_) {
  start_ = parent.start_;
  parent_ = &parent;
  name_ = name;
  index_ = index;
}

std::string protobuf_reader::path() const {
  std::string text = parent_ ? parent_->path() : std::string();
  if (!text.empty()) text += '.';
  text += name_;
  if (index_ >= 0) text += '[' + std::to_string(index_) + ']';
  return text;
}

void protobuf_reader::refuse(std::string expected, std::string got) const {
  std::string where = *file_ + ", byte " + std::to_string((field_begin_ ? field_begin_ : begin_) - start_);
  if (std::string const message = path(); !message.empty()) where += " in " + message;
  throw data_error(
      {.what = what_, .where = std::move(where), .expected = std::move(expected), .got = std::move(got)});
}

std::uint64_t protobuf_reader::read_varint(char const*& at, char const* end) const {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at == end) refuse("an integer", "the end of the message");
    auto const byte = static_cast<unsigned char>(*at++);
    if (shift == 63 && byte > 1) break;
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  refuse("an integer of 64 bits", "more bits");
}

std::uint64_t protobuf_reader::read_fixed(std::size_t bytes) {
  if (static_cast<std::size_t>(end_ - at_) < bytes)
    refuse(std::to_string(bytes) + " bytes", "the end of the message");
  std::uint64_t value = 0;
  std::memcpy(&value, at_, bytes);
  at_ += bytes;
  return value;
}

bool protobuf_reader::next() {
  if (at_ == end_) return false;
  field_begin_ = at_;
  std::uint64_t const tag = read_varint(at_, end_);
  if (tag >> 3 == 0 || tag >> 3 >= std::uint64_t{1} << 29)
    refuse("a field number from 1 to 536870911", std::to_string(tag >> 3));
  field_ = static_cast<std::uint32_t>(tag >> 3);
  switch (tag & 7) {
    case varint:
      number_ = read_varint(at_, end_);
      break;
    case fixed64:
      number_ = read_fixed(8);
      break;
    case fixed32:
      number_ = read_fixed(4);
      break;
    case length_delimited: {
      std::uint64_t const size = read_varint(at_, end_);
      if (size > static_cast<std::uint64_t>(end_ - at_))
        refuse("a field of at most " + std::to_string(end_ - at_) + " bytes",
               std::to_string(size) + " bytes");
      bytes_ = {at_, static_cast<std::size_t>(size)};
      at_ += size;
      break;
    }
    default:
      refuse("wire type 0, 1, 2 or 5", "wire type " + std::to_string(tag & 7));
  }
  type_ = static_cast<wire_type>(tag & 7);
  return true;
}

void protobuf_reader::expect(wire_type type) const {
  if (type_ != type)
    refuse("field " + std::to_string(field_) + " of wire type " + std::to_string(type),
           "wire type " + std::to_string(type_));
}

std::int64_t protobuf_reader::integer() const {
  expect(varint);
  return static_cast<std::int64_t>(number_);
}

float protobuf_reader::real() const {
  expect(fixed32);
  return std::bit_cast<float>(static_cast<std::uint32_t>(number_));
}

std::string_view protobuf_reader::bytes() const {
  expect(length_delimited);
  return bytes_;
}

void protobuf_reader::append_to(std::vector<std::int64_t>& list) const {
  if (type_ != length_delimited) return list.push_back(integer());
  char const* const end = bytes_.data() + bytes_.size();
  for (char const* at = bytes_.data(); at != end;)
    list.push_back(static_cast<std::int64_t>(read_varint(at, end)));
}

/// Appends packed numbers of a fixed size.
template <class T>
void append_packed(protobuf_reader const& from, std::string_view bytes, std::vector<T>& list) {
  if (bytes.size() % sizeof(T) != 0)
    from.refuse("numbers of " + std::to_string(sizeof(T)) + " bytes",
                std::to_string(bytes.size()) + " bytes");
  std::size_t const first = list.size();
  list.resize(first + bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(list.data() + first, bytes.data(), bytes.size());
}

void protobuf_reader::append_to(std::vector<float>& list) const {
  if (type_ != length_delimited) return list.push_back(real());
  append_packed(*this, bytes_, list);
}

void protobuf_reader::append_to(std::vector<double>& list) const {
  if (type_ == length_delimited) return append_packed(*this, bytes_, list);
  expect(fixed64);
  list.push_back(std::bit_cast<double>(number_));
}

void protobuf_writer::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(0x80 | (value & 0x7f));
  text_ += static_cast<char>(value);
}

void protobuf_writer::integer(std::uint32_t field, std::int64_t value) {
  varint(field << 3);
  varint(static_cast<std::uint64_t>(value));
}

void protobuf_writer::real(std::uint32_t field, float value) {
  varint(field << 3 | 5);
  char raw[4];
  std::memcpy(raw, &value, 4);
  text_.append(raw, 4);
}

void protobuf_writer::f64(std::uint32_t field, double value) {
  varint(field << 3 | 1);
  char raw[8];
  std::memcpy(raw, &value, 8);
  text_.append(raw, 8);
}

void protobuf_writer::f64s(std::uint32_t field, std::span<double const> values) {
  bytes(field, {reinterpret_cast<char const*>(values.data()), values.size_bytes()});
}

void protobuf_writer::bytes(std::uint32_t field, std::string_view value) {
  varint(field << 3 | 2);
  varint(value.size());
  text_ += value;
}

}  // namespace cohort::detail
