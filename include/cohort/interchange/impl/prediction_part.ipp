// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <charconv>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/prediction_part.hpp>
#include <cohort/tensor/finite.hpp>
#include <utility>

namespace cohort::detail {

std::int64_t parse_integer_key(std::string_view key, std::string const& where) {
  std::int64_t number = 0;
  char const* const end = key.data() + key.size();
  auto const [stop, failure] = std::from_chars(key.data(), end, number);
  if (failure != std::errc() || stop != end || key.empty())
    throw data_error({.what = "a key is not an integer",
                      .where = where,
                      .expected = "a decimal integer of 64 bits (for other keys: .keys = key_type::text)",
                      .got = quote_for_error(key.substr(0, 60))});
  return number;
}

/// Appends a number with the fewest digits from which the same bits can be read back; "nan", "inf" or "-inf".
void append_csv_number(std::string& to, float number) {
  char digits[32];
  auto const bits = std::bit_cast<std::uint32_t>(number);
  if (is_finite(number))
    to.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  else
    to += (bits & 0x7fffff) != 0 ? "nan" : bits >> 31 != 0 ? "-inf" : "inf";
}

prediction_part::prediction_part(prediction_layout const& layout, std::size_t chunk)
    : layout_(layout), chunk_(chunk), row_(layout.chunks[chunk].row) {
  auto const open = [&](std::string_view suffix, std::string const& header) {
    files_.push_back(std::make_unique<io::file_writer>(layout_.part(chunk_, suffix)));
    files_.back()->write(header);
    bytes_ = header.size();
  };
  if (layout_.format == prediction_format::csv) {
    open(csv_suffix, layout_.header());
    return;
  }
  for (prediction_array const& one : layout_.arrays())
    if (one.type != "|S") open(one.suffix, one.header(layout_.chunks[chunk_].examples.count));
}

void prediction_part::add(batch const& from, std::span<predictions const> outputs) {
  text_.clear();
  if (layout_.keyed) add_keys(from);
  if (layout_.format == prediction_format::csv)
    add_csv(from, outputs);
  else
    add_npy(outputs);
  row_ += from.count;
}

void prediction_part::add_keys(batch const& from) {
  bool const npy = layout_.format == prediction_format::npy;
  integers_.clear();
  for (std::size_t i = 0; i < from.keys.size(); ++i) {
    std::int64_t const row = row_ + static_cast<std::int64_t>(i);
    std::string const& key = from.keys[i];
    if (key.size() > longest_key)
      throw data_error({.what = "a key is too long",
                        .where = layout_.example_of(row),
                        .expected = {"at most ", longest_key, " bytes"},
                        .got = {key.size()}});
    if (layout_.keys == key_type::integer) {
      integers_.push_back(parse_integer_key(key, layout_.example_of(row)));
    } else if (npy) {
      if (key.find('\0') != key.npos)
        throw data_error({.what = "NumPy cannot store a key",
                          .where = layout_.example_of(row),
                          .expected = "a text without null bytes",
                          .got = quote_for_error(key.substr(0, 60))});
      texts_.push_back(key);
    }
    if (layout_.sorted())
      entries_.push_back({integers_.empty() ? key : ordered_bytes(integers_.back()), row, 0, 0});
  }
}

void prediction_part::add_csv(batch const& from, std::span<predictions const> outputs) {
  bool const integers = !integers_.empty();
  for (int i = 0; i < from.count; ++i) {
    auto const at = static_cast<std::size_t>(i);
    std::size_t const begin = text_.size();
    if (integers)
      text_ += std::to_string(integers_[at]);
    else if (layout_.keyed)
      append_csv_field(text_, from.keys[at]);
    else
      text_ += std::to_string(row_ + i);
    for (predictions const& one : outputs)
      for (float const number : one[i]) {
        text_ += ',';
        append_csv_number(text_, number);
      }
    text_ += '\n';
    if (!layout_.sorted()) continue;
    key_entry& entry = entries_[entries_.size() - static_cast<std::size_t>(from.count) + at];
    entry.offset = bytes_ + begin;
    entry.bytes = text_.size() - begin;
  }
  files_[0]->write(text_);
  bytes_ += text_.size();
}

void prediction_part::add_npy(std::span<predictions const> outputs) {
  for (std::size_t which = 0; which < outputs.size(); ++which) {
    std::vector<float> const& values = outputs[which].values;
    files_[which]->write(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(float));
  }
  if (!integers_.empty())
    files_[outputs.size()]->write(reinterpret_cast<char const*>(integers_.data()),
                                  integers_.size() * sizeof(std::int64_t));
}

void prediction_part::write_text_keys() {
  prediction_array const array = layout_.arrays().back();
  std::size_t width = 1;
  for (std::string const& key : texts_) width = std::max(width, key.size());
  files_.push_back(std::make_unique<io::file_writer>(layout_.part(chunk_, array.suffix)));
  files_.back()->write(array.header(std::ssize(texts_), width));
  for (std::string& key : texts_) {
    key.resize(width, '\0');
    files_.back()->write(key);
  }
}

void prediction_part::commit() {
  bool const texts = layout_.keyed && layout_.keys == key_type::text;
  if (layout_.format == prediction_format::npy && texts) write_text_keys();
  for (auto const& one : files_) one->commit();
  // Written last, because its offsets refer to the files above. Files of an earlier call may have other
  // offsets.
  if (layout_.sorted()) write_key_run(layout_.part(chunk_, key_run_suffix), entries_);
}

}  // namespace cohort::detail
