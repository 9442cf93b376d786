// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/evaluation/detail/report_bytes.hpp>
#include <cohort/tensor/finite.hpp>
#include <cstring>

namespace cohort::detail {

report_writer& report_writer::natural(std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes_.push_back(static_cast<std::byte>(number | 0x80));
  bytes_.push_back(static_cast<std::byte>(number));
  return *this;
}

report_writer& report_writer::real(double number) {
  auto const bits = std::as_bytes(std::span(&number, 1));
  bytes_.insert(bytes_.end(), bits.begin(), bits.end());
  return *this;
}

report_writer& report_writer::block(std::span<std::byte const> bytes) {
  natural(bytes.size());
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

std::uint64_t report_reader::natural(std::string_view what, std::uint64_t lowest, std::uint64_t highest) {
  std::size_t const start = at_;
  std::uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    if (at_ == bytes_.size()) refuse(what, "more bytes", "the end of the bytes");
    auto const byte = std::to_integer<std::uint64_t>(bytes_[at_++]);
    if (shift == 63 && byte > 1) refuse(what, "a number of at most 64 bits", "more bits");
    number |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  if (number >= lowest && number <= highest) return number;
  at_ = start;
  refuse(what, lowest == highest ? std::to_string(lowest) : text_of({lowest, " to ", highest}),
         std::to_string(number));
}

std::int64_t report_reader::count(std::string_view what, std::int64_t lowest, std::int64_t highest) {
  return static_cast<std::int64_t>(
      natural(what, static_cast<std::uint64_t>(lowest), static_cast<std::uint64_t>(highest)));
}

double report_reader::real(std::string_view what, double lowest, double highest) {
  if (bytes_.size() - at_ < sizeof(double)) refuse(what, "8 bytes", std::to_string(bytes_.size() - at_));
  double number = 0;
  std::memcpy(&number, bytes_.data() + at_, sizeof number);
  if (!is_finite(number) || number < lowest || number > highest)
    refuse(what, text_of({lowest, " to ", highest}),
           is_finite(number) ? std::to_string(number) : "NaN or infinity");
  at_ += sizeof number;
  return number;
}

std::span<std::byte const> report_reader::block(std::string_view what) {
  auto const size = static_cast<std::size_t>(natural(what, 0, bytes_.size()));
  if (size > bytes_.size() - at_)
    refuse(what, text_of({size, " bytes"}), std::to_string(bytes_.size() - at_));
  return bytes_.subspan(std::exchange(at_, at_ + size), size);
}

void report_reader::end() const {
  if (at_ != bytes_.size()) refuse("end", "no more bytes", std::to_string(bytes_.size() - at_));
}

void report_reader::refuse(std::string_view what, std::string expected, std::string got) const {
  throw data_error({.what = "cannot merge the bytes of a report",
                    .where = {"byte ", at_, ", ", what},
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

}  // namespace cohort::detail
