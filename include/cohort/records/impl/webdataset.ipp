// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/gzip_magic.hpp>
#include <cohort/records/detail/forward_reader.hpp>
#include <cohort/records/webdataset.hpp>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace cohort::detail {

/// Reads the headers of a tar archive and groups its files into records.
class tar_indexer {
 public:
  explicit tar_indexer(std::string const& path) : file_(path) {}

  record_index run() {
    header block;
    while (next(block)) visit(block);
    finish_record();
    return std::move(index_);
  }

 private:
  static constexpr std::size_t block_bytes = 512;
  static constexpr std::uint64_t most_text = std::uint64_t{1} << 20;  // bytes of a long name or pax header
  static constexpr std::size_t most_fields = 256;
  using header = std::array<char, block_bytes>;

  [[noreturn]] void refuse(char const* what, clause expected, clause got) const {
    throw data_error({.what = what,
                      .where = {file_.path(), ", byte ", begin_},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

  /// Reads the next header; returns false at the end of the file. An archive ends with blocks of zeros.
  /// Further archives may follow, as after `cat a.tar b.tar`.
  bool next(header& block) {
    do {
      begin_ = file_.position();
      std::size_t const got = file_.read(block.data(), block_bytes);
      if (got == 0) return false;
      if (got < block_bytes) {
        if (std::all_of(block.data(), block.data() + got, [](char byte) { return byte == 0; })) return false;
        refuse("the tar archive is truncated", "a header of 512 bytes", {got, " bytes"});
      }
    } while (std::ranges::all_of(block, [](char byte) { return byte == 0; }));
    if (begin_ == 0 && has_gzip_magic({block.data(), block.size()}))
      refuse("the archive is compressed", "an uncompressed tar archive: gunzip it first", "gzip");
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < block_bytes; ++k)
      sum += k >= 148 && k < 156 ? static_cast<unsigned char>(' ') : static_cast<unsigned char>(block[k]);
    if (std::uint64_t const expected = number(block, 148, 8); expected != sum)
      refuse("a header of the tar archive is damaged", {"checksum ", sum}, {expected});
    return true;
  }

  /// Returns a number in octal digits, or in GNU's binary form for numbers with too many digits.
  std::uint64_t number(header const& block, std::size_t at, std::size_t bytes) const {
    std::uint64_t value = 0;
    if (static_cast<unsigned char>(block[at]) & 0x80) {
      for (std::size_t k = 1; k < bytes; ++k) {
        if (value >> 55 != 0) refuse("a number in the tar archive is too large", "less than 2^63", "more");
        value = value << 8 | static_cast<unsigned char>(block[at + k]);
      }
      return value;
    }
    std::size_t k = at;
    while (k < at + bytes && block[k] == ' ') ++k;
    for (; k < at + bytes && block[k] >= '0' && block[k] <= '7'; ++k)
      value = value << 3 | static_cast<std::uint64_t>(block[k] - '0');
    if (k < at + bytes && block[k] != ' ' && block[k] != 0)
      refuse("a number in the tar archive is damaged", "octal digits",
             {"the byte ", static_cast<int>(block[k])});
    return value;
  }

  static std::string text(header const& block, std::size_t at, std::size_t bytes) {
    char const* const first = block.data() + at;
    return {first, std::find(first, first + bytes, '\0')};
  }

  static std::uint64_t padded(std::uint64_t bytes) {
    return (bytes + block_bytes - 1) / block_bytes * block_bytes;
  }

  /// Skips the content of a file, or reads it to `into`.
  void content(std::uint64_t bytes, std::string* into = nullptr) {
    std::uint64_t const rest = file_.size() - file_.position();
    if (bytes > rest) refuse("the tar archive is truncated", {bytes, " bytes of a file"}, {rest, " bytes"});
    std::uint64_t done = 0;
    if (into) {
      if (bytes > most_text)
        refuse("a name in the tar archive is too long", {"at most ", most_text, " bytes"}, {bytes});
      into->resize(bytes);
      done = file_.read(into->data(), bytes);
    }
    file_.skip(std::min(padded(bytes), rest) - done);
  }

  void visit(header const& block) {
    std::uint64_t bytes = number(block, 124, 12);
    char const type = block[156];
    if (type == 'L') {  // GNU: the name of the next file
      content(bytes, &long_name_);
      long_name_.resize(std::min(long_name_.find('\0'), long_name_.size()));
      return;
    }
    if (type == 'x' || type == 'g') {
      std::string records;
      content(bytes, &records);
      if (type == 'x') read_pax(records);
      return;
    }
    std::string name = std::exchange(long_name_, {});
    if (name.empty()) {
      name = text(block, 0, 100);
      bool const posix = std::memcmp(block.data() + 257, "ustar\0", 6) == 0;
      if (std::string const prefix = posix ? text(block, 345, 155) : ""; !prefix.empty())
        name = prefix + '/' + name;
    }
    if (!pax_name_.empty()) name = std::exchange(pax_name_, {});
    if (pax_bytes_) bytes = *std::exchange(pax_bytes_, std::nullopt);
    if (type == 'S' || is_sparse_) refuse("a file of the tar archive is sparse", "a whole file", name);
    bool const is_file = type == '0' || type == '\0' || type == '7';
    if (is_file) add(name, {file_.position(), bytes});
    bool const has_content =
        is_file || (type != '1' && type != '2' && type != '3' && type != '4' && type != '5' && type != '6');
    if (has_content) content(bytes);
  }

  /// Reads the records of a pax header: "LENGTH KEY=VALUE\n", any number of times.
  void read_pax(std::string_view records) {
    while (!records.empty()) {
      std::size_t length = 0;
      auto const [stop, error] = std::from_chars(records.data(), records.data() + records.size(), length);
      auto const digits = static_cast<std::size_t>(stop - records.data());
      if (error != std::errc{} || length > records.size() || length < digits + 3
          || records[length - 1] != '\n' || records[digits] != ' ')
        refuse("a pax header of the tar archive is damaged", "LENGTH KEY=VALUE", "other text");
      std::string_view const record = records.substr(digits + 1, length - digits - 2);
      std::size_t const equals = record.find('=');
      if (equals == record.npos)
        refuse("a pax header of the tar archive is damaged", "LENGTH KEY=VALUE", "a text without =");
      std::string_view const key = record.substr(0, equals), value = record.substr(equals + 1);
      if (key == "path") pax_name_ = value;
      if (key == "size") {
        std::uint64_t bytes = 0;
        auto const [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), bytes);
        if (wrong != std::errc{} || end != value.data() + value.size())
          refuse("a pax header of the tar archive is damaged", "a size", std::string(value));
        pax_bytes_ = bytes;
      }
      if (key.starts_with("GNU.sparse.")) is_sparse_ = true;
      records.remove_prefix(length);
    }
  }

  void add(std::string_view name, field_place place) {
    while (name.starts_with("./")) name.remove_prefix(2);
    std::size_t const base = name.rfind('/') + 1;  // npos + 1 is 0
    std::size_t const dot = name.find('.', base);
    std::string_view const file = name.substr(base);
    if (file.empty() || file[0] == '.' || file.starts_with("__")) return;
    if (dot == name.npos) return;
    std::string_view const key = name.substr(0, dot);
    std::string field(name.substr(dot + 1));
    for (char& one : field)
      if (one >= 'A' && one <= 'Z') one = static_cast<char>(one - 'A' + 'a');
    if (!has_record_ || key != key_) {
      finish_record();
      key_ = key;
      has_record_ = true;
    }
    auto const known = std::ranges::find(index_.fields, field);
    auto const column = static_cast<std::size_t>(known - index_.fields.begin());
    if (known == index_.fields.end()) {
      if (column == most_fields)
        refuse("the records of the tar archive have too many fields",
               {"at most ", most_fields, " fields; a field is the rest of a name after its first dot"},
               std::string(name));
      index_.fields.push_back(std::move(field));
    }
    if (record_.size() <= column) record_.resize(column + 1);
    if (record_[column].offset != field_place::missing)
      refuse("a record of the tar archive has a field twice", "each field once", std::string(name));
    record_[column] = place;
  }

  /// Adds the record that has been read. Records before the first occurrence of a field do not have this
  /// field.
  void finish_record() {
    if (!has_record_) return;
    std::size_t const columns = index_.fields.size(), records = index_.keys.size();
    if (records > 0 && columns > columns_) {
      std::vector<field_place> wider(records * columns);
      for (std::size_t r = 0; r < records; ++r)
        std::copy_n(index_.places.begin() + static_cast<std::ptrdiff_t>(r * columns_), columns_,
                    wider.begin() + static_cast<std::ptrdiff_t>(r * columns));
      index_.places = std::move(wider);
    }
    columns_ = columns;
    record_.resize(columns);
    index_.places.insert(index_.places.end(), record_.begin(), record_.end());
    index_.keys.push_back(std::move(key_));
    record_.clear();
    has_record_ = false;
  }

  forward_reader file_;
  std::uint64_t begin_ = 0;  // offset of the current header
  record_index index_;
  std::size_t columns_ = 0;  // number of columns of the records in index_
  std::string key_;
  std::vector<field_place> record_;
  bool has_record_ = false;
  std::string long_name_, pax_name_;
  std::optional<std::uint64_t> pax_bytes_;
  bool is_sparse_ = false;
};

}  // namespace cohort::detail

namespace cohort {

record_format webdataset() {
  return {.name = "webdataset 2",
          .index = [](std::string const& path) { return detail::tar_indexer(path).run(); },
          .grouping = "the members of one example must follow each other in the archive (tar --sort=name)"};
}

}  // namespace cohort
