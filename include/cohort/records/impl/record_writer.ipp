// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/tfrecord_frame.hpp>
#include <cohort/records/record_writer.hpp>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace cohort::detail {

inline constexpr std::size_t tar_block = 512;

/// Returns the header of a file in a tar archive.  Before: `name` has at most 100 bytes.
std::string tar_header(std::string_view name, std::uint64_t bytes, char type) {
  std::string made(tar_block, '\0');
  auto const put = [&](std::size_t at, std::string_view text) { made.replace(at, text.size(), text); };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  if (bytes < std::uint64_t{1} << 33) {
    char octal[16];
    std::snprintf(octal, sizeof octal, "%011llo", static_cast<unsigned long long>(bytes));
    put(124, octal);
  } else {  // GNU's form: a big-endian number
    made[124] = '\x80';
    for (int k = 0; k < 8; ++k) made[static_cast<std::size_t>(135 - k)] = static_cast<char>(bytes >> 8 * k);
  }
  put(136, "00000000000");
  put(148, "        ");
  made[156] = type;
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (char const one : made) sum += static_cast<unsigned char>(one);
  char octal[8];
  std::snprintf(octal, sizeof octal, "%06o", sum);
  put(148, {octal, 7});  // with the NUL byte
  return made;
}

/// Returns the padding between a content of this size and the next header.
std::string tar_padding(std::uint64_t bytes) {
  return std::string((tar_block - bytes % tar_block) % tar_block, '\0');
}

}  // namespace cohort::detail

namespace cohort {

webdataset_writer::webdataset_writer(std::string path) : path_(path), file_(std::move(path)) {}

void webdataset_writer::add(std::string_view key, std::string_view field,
                            std::span<std::byte const> content) {
  auto const refuse = [&](char const* expected, std::string got) {
    throw data_error({.what = "a record cannot be written to a WebDataset",
                      .where = {path_, ", key ", key, ", field ", field},
                      .expected = expected,
                      .got = std::move(got)});
  };
  std::string_view const name = key.substr(key.rfind('/') + 1);  // npos + 1 is 0
  if (name.empty() || name.starts_with("__") || key.starts_with("./") || key.find('\0') != key.npos
      || name.find('.') != name.npos)
    refuse("a key with a non-empty name without dots that does not begin with \"__\"", std::string(key));
  if (field.empty() || field.find('/') != field.npos || field.find('\0') != field.npos)
    refuse("a field with a name without /", std::string(field));
  if (std::ranges::any_of(field, [](char one) { return one >= 'A' && one <= 'Z'; }))
    refuse("a field in lower case, as it is read", std::string(field));
  if (key != key_) {
    if (!keys_.emplace(key).second)
      refuse("the fields of a key one after the other", "another key between them");
    key_ = key;
    fields_.clear();
  }
  if (!fields_.emplace(field).second) refuse("each field once", "the field twice");
  std::string const whole = key_ + '.' + std::string(field);
  if (whole.size() > 100) {  // GNU: a file whose content is the name of the next file
    file_.write(detail::tar_header("././@LongLink", whole.size() + 1, 'L'));
    file_.write(whole);
    file_.write(std::string(1, '\0') + detail::tar_padding(whole.size() + 1));
  }
  file_.write(detail::tar_header(std::string_view(whole).substr(0, 100), content.size(), '0'));
  file_.write(reinterpret_cast<char const*>(content.data()), content.size());
  file_.write(detail::tar_padding(content.size()));
}

void webdataset_writer::commit() {
  file_.write(std::string(2 * detail::tar_block, '\0'));
  file_.commit();
}

void tfrecord_writer::add(std::span<std::byte const> content) {
  detail::tfrecord_frame const around = detail::frame_of(content);
  file_.write(around.head.data(), around.head.size());
  file_.write(reinterpret_cast<char const*>(content.data()), content.size());
  file_.write(around.tail.data(), around.tail.size());
}

}  // namespace cohort
