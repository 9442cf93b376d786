// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/io/detail/protobuf.hpp>
#include <cohort/records/caffe_datum.hpp>
#include <limits>

namespace cohort {

caffe_datum caffe_datum::parse(std::span<std::byte const> message, std::string_view where) {
  std::string const file(where);
  caffe_datum found;
  detail::protobuf_reader in({reinterpret_cast<char const*>(message.data()), message.size()}, file,
                             "cannot read the Caffe Datum");
  auto const small = [&](char const* field, int least = 0) {
    std::int64_t const value = in.integer();
    if (value < least || value > std::numeric_limits<int>::max())
      throw data_error({.what = "a field of a Caffe Datum is out of range",
                        .where = {where, ", ", field},
                        .expected = {least, " to ", std::numeric_limits<int>::max()},
                        .got = {value}});
    return static_cast<int>(value);
  };
  while (in.next()) {
    if (in.field() == 1) found.channels = small("channels");
    if (in.field() == 2) found.height = small("height");
    if (in.field() == 3) found.width = small("width");
    if (in.field() == 4) found.data = in.bytes();
    if (in.field() == 5) found.label = small("label", std::numeric_limits<int>::min());
    if (in.field() == 6) in.append_to(found.numbers);
    if (in.field() == 7) found.encoded = in.integer() != 0;
  }
  found.require_extents(where);
  return found;
}

void caffe_datum::require_extents(std::string_view where) const {
  if (encoded) return;
  std::size_t const count = numbers.empty() ? data.size() : numbers.size();
  auto const wide = [](int extent) { return static_cast<std::uint64_t>(extent); };
  bool const small_enough = wide(height) * wide(width) <= count + 1;
  std::uint64_t const elements = small_enough ? wide(channels) * wide(height) * wide(width) : 0;
  if (!small_enough || elements == 0 || elements != count)
    throw data_error({.what = "the number of elements of a Caffe Datum differs from its extents",
                      .where = {where},
                      .expected = {channels, "x", height, "x", width, " elements"},
                      .got = {count}});
}

}  // namespace cohort
