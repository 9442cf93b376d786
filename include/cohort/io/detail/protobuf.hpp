// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The wire format of Protocol Buffers, without a schema: https://protobuf.dev/programming-guides/encoding
namespace cohort::detail {

/// Reads the fields of one message in the order of the bytes.
///
///     while (reader.next())
///       if (reader.field() == 2) name = reader.bytes();   // other fields are skipped
///
/// Before    the bytes may be untrusted. The bytes and `parent` outlive the reader.
/// Errors    data_error naming the file, the path of the message and the byte if the bytes are not a valid
///           message, or if a field has another wire type.
class protobuf_reader {
 public:
  /// `what`: first part of the data_error's message, a string literal.
  protobuf_reader(std::string_view message, std::string const& file, char const* what)
      : begin_(message.data()),
        at_(begin_),
        end_(begin_ + message.size()),
        file_(&file),
        what_(what),
        start_(begin_) {}
  /// Reads the message that is the current field of `parent`. `name`: the field's name, a string literal.
  /// `index`: index in a repeated field; below 0: the field is not repeated.
  protobuf_reader(protobuf_reader const& parent, char const* name, std::int64_t index = -1);

  /// Reads the next field.  Returns false at the end of the message.
  bool next();
  /// Number of the current field in its schema.
  std::uint32_t field() const { return field_; }

  std::int64_t integer() const;
  float real() const;
  std::string_view bytes() const;
  /// Appends the elements of the current field, a repeated field, packed or not, to `list`.
  void append_to(std::vector<std::int64_t>& list) const;
  void append_to(std::vector<float>& list) const;
  void append_to(std::vector<double>& list) const;

  [[noreturn]] void refuse(std::string expected, std::string got) const;

 private:
  enum wire_type : std::uint32_t { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

  std::uint64_t read_varint(char const*& at, char const* end) const;
  std::uint64_t read_fixed(std::size_t bytes);
  void expect(wire_type type) const;
  std::string path() const;

  char const* begin_;
  char const* at_;
  char const* end_;
  std::string const* file_;
  char const* what_;
  char const* start_;  // start of the file
  protobuf_reader const* parent_ = nullptr;
  char const* name_ = "";
  std::int64_t index_ = -1;
  char const* field_begin_ = nullptr;
  std::uint32_t field_ = 0;
  wire_type type_ = varint;
  std::uint64_t number_ = 0;
  std::string_view bytes_{};
};

/// Appends the fields of one message to a text.
class protobuf_writer {
 public:
  void integer(std::uint32_t field, std::int64_t value);
  void real(std::uint32_t field, float value);
  void f64(std::uint32_t field, double value);
  /// Appends a repeated field, packed.
  void f64s(std::uint32_t field, std::span<double const> values);
  /// Appends a string, or a message: the text of another writer.
  void bytes(std::uint32_t field, std::string_view value);
  std::string const& text() const { return text_; }

 private:
  void varint(std::uint64_t value);

  std::string text_;
};

}  // namespace cohort::detail
