// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/error/exceptions.hpp>
#include <cohort/transform/detail/byte_coding.hpp>
#include <cstring>

namespace cohort::detail {

static_assert(std::endian::native == std::endian::little, "cohort: rows are sent as little-endian bytes");

byte_writer& byte_writer::word(std::uint64_t number) {
  std::size_t const at = bytes_.size();
  bytes_.resize(at + sizeof number);
  std::memcpy(bytes_.data() + at, &number, sizeof number);
  return *this;
}

byte_writer& byte_writer::real(double number) { return word(std::bit_cast<std::uint64_t>(number)); }

byte_writer& byte_writer::text(std::string_view content) {
  word(content.size());
  auto const* const from = reinterpret_cast<std::byte const*>(content.data());
  bytes_.insert(bytes_.end(), from, from + content.size());
  return *this;
}

void byte_reader::refuse(std::string expected, std::string got) const {
  throw data_error({.what = "a message of another rank is malformed",
                    .where = {where_, ", byte ", at_},
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

std::span<std::byte const> byte_reader::next(std::size_t size) {
  if (size > bytes_.size() - at_) refuse(text_of({size, " bytes"}), text_of({bytes_.size() - at_, " bytes"}));
  at_ += size;
  return bytes_.subspan(at_ - size, size);
}

std::uint64_t byte_reader::word() {
  std::uint64_t number;
  std::memcpy(&number, next(sizeof number).data(), sizeof number);
  return number;
}

double byte_reader::real() { return std::bit_cast<double>(word()); }

std::string_view byte_reader::text() {
  auto const content = next(count(1));
  return {reinterpret_cast<char const*>(content.data()), content.size()};
}

std::size_t byte_reader::count(std::size_t item_bytes) {
  std::uint64_t const items = word();
  if (items > (bytes_.size() - at_) / item_bytes)
    refuse(text_of({"at most ", (bytes_.size() - at_) / item_bytes, " items"}), text_of({items}));
  return static_cast<std::size_t>(items);
}

void byte_reader::end() const {
  if (at_ != bytes_.size()) refuse("the end", text_of({bytes_.size() - at_, " more bytes"}));
}

}  // namespace cohort::detail
