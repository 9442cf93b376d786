// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cohort/data/skip_damaged.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/records/record_dataset.hpp>
#include <utility>

namespace cohort {

namespace detail {

/// Returns this thread's memory for the fields of one record.
std::vector<std::vector<std::byte>>& memory_of_fields() {
  thread_local std::vector<std::vector<std::byte>> memory;
  return memory;
}

/// Examples that are decoded from records.
class decoded_record_examples {
 public:
  decoded_record_examples(record_set records, data_description description, record_decoder decode)
      : records_(std::move(records)), description_(std::move(description)), decode_(std::move(decode)) {}

  data_description const& describe() const { return description_; }
  std::int64_t size() const { return records_.size(); }

  void get(std::int64_t i, example_view& out) const {
    record_view record(records_, i);
    decode_(record, out);
  }

 private:
  record_set records_;
  data_description description_;
  record_decoder decode_;
};

}  // namespace detail

record_view::record_view(record_set const& records, std::int64_t index)
    : records_(records), index_(index), memory_(detail::memory_of_fields()) {
  if (memory_.size() < records.fields().size()) memory_.resize(records.fields().size());
}

std::span<std::byte const> record_view::bytes(std::size_t field) {
  return records_.read(index_, field, memory_[field]);
}

std::span<std::byte const> record_view::bytes(std::size_t field, std::size_t size) {
  std::span<std::byte const> const found = bytes(field);
  if (found.size() != size)
    throw data_error({.what = "a field of a record has the wrong size",
                      .where = {where(), ", field ", records_.fields()[field]},
                      .expected = {size, " bytes"},
                      .got = {found.size()}});
  return found;
}

std::string_view record_view::text(std::size_t field) {
  std::span<std::byte const> const found = bytes(field);
  return {reinterpret_cast<char const*>(found.data()), found.size()};
}

std::int64_t record_view::integer(std::size_t field, std::int64_t least, std::int64_t most) {
  std::string_view whole = text(field);
  while (!whole.empty() && (whole.back() == ' ' || whole.back() == '\n' || whole.back() == '\r'))
    whole.remove_suffix(1);
  std::int64_t value = 0;
  auto const [stop, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (error != std::errc{} || stop != whole.data() + whole.size() || value < least || value > most)
    throw data_error({.what = "a field of a record is not an integer in the expected range",
                      .where = {where(), ", field ", records_.fields()[field]},
                      .expected = {least, " to ", most},
                      .got = {"'", whole.substr(0, 40), "'"}});
  return value;
}

dataset decoded_records(record_set records, data_description description, record_decoder decode,
                        record_decoding const& how) {
  detail::decoded_record_examples examples(std::move(records), std::move(description), std::move(decode));
  if (how.bad == bad_record::stop) return examples;
  return skip_damaged(std::move(examples), {how.log, how.skipped});
}

}  // namespace cohort
