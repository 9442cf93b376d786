// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/caffe/detail/implementation.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// A message in the text format of Protocol Buffers, such as a network or a solver of Caffe.
///
///     prototxt_message const solver = read_prototxt("solver.prototxt");
///     double const rate = solver.number("base_lr", 0);
///     for (prototxt_message const* layer : net.messages("layer")) …
///
/// Before    no schema is known: each function reads the fields of one name, as the type of the function.
/// Errors    data_error with file, line, column and the field, if a field that is read as a single value
///           exists more than once, or if a value has another type.
class prototxt_message {
 public:
  /// A field: `text` is a number, an identifier or the content of a string; a message has no text.
  struct field {
    std::string name{};
    std::string text{};
    bool is_string = false;
    std::vector<prototxt_message> message{};  ///< one element if the value is a message; otherwise empty
    int line = 0;                             ///< from 1, of the value
    int column = 0;                           ///< from 1, in bytes
  };

  /// An empty message. `origin`: the file's name, for errors.
  explicit prototxt_message(std::string origin = {}, int line = 1, int column = 1);

  /// All fields in the order of the file.
  std::vector<field> const& fields() const& { return fields_; }
  std::vector<field> const& fields() const&& = delete;
  std::string const& origin() const { return *origin_; }
  bool has(std::string_view name) const;
  /// Returns the number of fields with this name.
  std::size_t count(std::string_view name) const;

  /// The only value of a field, or `otherwise` if the message has no such field. `text` also reads the
  /// identifiers of enumerations.
  std::string text(std::string_view name, std::string_view otherwise = {}) const;
  double number(std::string_view name, double otherwise) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  bool boolean(std::string_view name, bool otherwise) const;
  /// The only message of a field; an empty message at the place of this one if the field is missing.
  prototxt_message message(std::string_view name) const;

  /// All values of a repeated field, in the order of the file.
  std::vector<std::string> texts(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<bool> booleans(std::string_view name) const;
  std::vector<prototxt_message const*> messages(std::string_view name) const&;
  std::vector<prototxt_message const*> messages(std::string_view name) const&& = delete;  // would dangle

  /// Throws data_error about the first field that is not in `names`: the message has fields that the reader
  /// does not know.
  void expect_only(std::span<std::string_view const> names) const;
  /// Returns "net.prototxt:12:3" for the first field with this name; the place of the message if it has none.
  std::string where(std::string_view name = {}) const;
  /// Throws data_error about a field, or about the message if it has no such field.
  [[noreturn]] void refuse(std::string_view name, detail::clause problem, detail::clause expected,
                           detail::clause got) const;

  /// Appends a field; used by the parser and by programs that change a message.
  void add(field value);
  /// Removes all fields with this name.
  void remove(std::string_view name);
  /// Returns an empty message of the same file, at another place.
  prototxt_message nested(int line, int column) const;

 private:
  prototxt_message(std::shared_ptr<std::string const> origin, int line, int column)
      : origin_(std::move(origin)), line_(line), column_(column) {}
  field const* only(std::string_view name) const;
  double number_of(field const& from) const;
  std::int64_t integer_of(field const& from) const;
  bool boolean_of(field const& from) const;
  std::string const& text_of(field const& from) const;
  prototxt_message const& message_of(field const& from) const;
  static std::string described(field const& from);
  [[noreturn]] void refuse(field const& about, detail::clause problem, detail::clause expected,
                           detail::clause got) const;

  std::shared_ptr<std::string const> origin_;
  int line_ = 1;
  int column_ = 1;
  std::vector<field> fields_{};
};

/// Reads a file in the text format of Protocol Buffers.
///
/// Before    the file may be untrusted.
/// Errors    file_error, also for a file of more than 64 MiB; data_error with file, line and column if the
///           bytes are not in the text format, if messages are nested more than 64 deep, or if there are more
///           than 2^20 fields.
/// Source    https://protobuf.dev/reference/protobuf/textformat-spec
prototxt_message read_prototxt(std::string const& path);
/// Reads a text in memory. `origin`: the file's name, for errors. data_error for a text of more than 64 MiB.
prototxt_message parse_prototxt(std::string_view text, std::string const& origin);

}  // namespace cohort
