// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/nd4j_reader.hpp>
#include <cohort/tensor/f16.hpp>
#include <utility>

namespace cohort::detail {

namespace nd4j_format {

inline constexpr std::size_t longest_text = 64;
inline constexpr std::int64_t most_axes = 32, most_elements = std::int64_t{1} << 34;

/// Size of an element in a file; 0 for an unknown type.
inline std::size_t bytes_of(std::string const& type) {
  if (type == "DOUBLE" || type == "LONG") return 8;
  if (type == "FLOAT" || type == "INT") return 4;
  if (type == "HALF" || type == "FLOAT16" || type == "BFLOAT16") return 2;
  return 0;
}

}  // namespace nd4j_format

void nd4j_reader::refuse(std::string problem, std::string expected, std::string got) const {
  throw data_error({.what = {"cannot read the Deeplearning4j model: ", problem},
                    .where = {name_, ", byte ", position_},
                    .expected = std::move(expected),
                    .got = std::move(got)});
}

std::uint64_t nd4j_reader::number(int width) {
  if (bytes_.size() - position_ < static_cast<std::size_t>(width))
    refuse("the data are truncated", std::to_string(width) + " bytes", "the end");
  std::uint64_t value = 0;
  for (int i = 0; i < width; ++i) value = value << 8 | std::to_integer<std::uint64_t>(bytes_[position_++]);
  return value;
}

bool nd4j_reader::flag() { return number(1) != 0; }

std::int32_t nd4j_reader::integer() { return static_cast<std::int32_t>(number(4)); }

double nd4j_reader::real() { return std::bit_cast<double>(number(8)); }

std::string nd4j_reader::text() {
  auto const size = static_cast<std::size_t>(number(2));
  if (size > nd4j_format::longest_text || size > bytes_.size() - position_)
    refuse("a name is damaged", "at most " + std::to_string(nd4j_format::longest_text) + " bytes",
           std::to_string(size));
  std::string value(reinterpret_cast<char const*>(bytes_.data()) + position_, size);
  position_ += size;
  return value;
}

nd4j_reader::header nd4j_reader::read_header() {
  std::string const mode = text();
  // The modes of Nd4j up to 0.9 have a length of 32 bits.
  bool const is_narrow = mode == "DIRECT" || mode == "HEAP" || mode == "JAVACPP";
  if (!is_narrow && mode != "LONG_SHAPE" && mode != "MIXED_DATA_TYPES")
    refuse("an array has an unknown allocation mode", "DIRECT, HEAP, JAVACPP, LONG_SHAPE or MIXED_DATA_TYPES",
           quote_for_error(mode));
  std::uint64_t const length = is_narrow ? number(4) : number(8);
  std::string type = text();
  std::size_t const bytes = nd4j_format::bytes_of(type);
  if (bytes == 0)
    refuse("an array has an element type that is not imported", "FLOAT, DOUBLE, HALF or BFLOAT16",
           quote_for_error(type));
  if (length > (bytes_.size() - position_) / bytes)
    refuse("an array is truncated", std::to_string(length) + " elements of " + type,
           std::to_string(bytes_.size() - position_) + " bytes");
  return {static_cast<std::size_t>(length), std::move(type)};
}

std::vector<std::int64_t> nd4j_reader::read_shape_information() {
  header const found = read_header();
  if (found.type != "LONG" && found.type != "INT")
    refuse("the shape of an array has another type", "LONG or INT", quote_for_error(found.type));
  if (found.length < 4 || found.length > static_cast<std::size_t>(2 * nd4j_format::most_axes + 4))
    refuse("the shape of an array is damaged", "4 to 68 numbers", std::to_string(found.length));
  std::vector<std::int64_t> numbers(found.length);
  for (std::int64_t& value : numbers)
    value = found.type == "LONG" ? static_cast<std::int64_t>(number(8)) : integer();
  return numbers;
}

std::vector<float> nd4j_reader::array() {
  // rank, extents, strides, offset or options, stride between the elements, order
  std::vector<std::int64_t> const shape = read_shape_information();
  std::int64_t const rank = shape[0];
  if (rank < 0 || rank > nd4j_format::most_axes || static_cast<std::int64_t>(shape.size()) != 2 * rank + 4)
    refuse("the shape of an array is damaged", "a rank for " + std::to_string(shape.size()) + " numbers",
           std::to_string(rank));
  std::vector<std::int64_t> extents(shape.begin() + 1, shape.begin() + 1 + rank);
  std::int64_t elements = 1;
  for (std::int64_t const extent : extents) {
    if (extent < 0 || (elements > 0 && extent > nd4j_format::most_elements / elements))
      refuse("an extent of an array is damaged", "at most 2^34 elements", std::to_string(extent));
    elements *= extent;
  }
  char const order = static_cast<char>(shape.back());
  if (order != 'c' && order != 'f')
    refuse("the order of an array is unknown", "c or f", std::to_string(shape.back()));
  header const data = read_header();
  if (data.type == "LONG" || data.type == "INT")
    refuse("an array has an element type that is not imported", "FLOAT, DOUBLE, HALF or BFLOAT16", data.type);
  if (static_cast<std::int64_t>(data.length) != elements)
    refuse("an array and its shape differ", std::to_string(elements) + " elements",
           std::to_string(data.length));
  std::vector<float> stored(data.length);
  for (float& value : stored) {
    if (data.type == "FLOAT")
      value = std::bit_cast<float>(static_cast<std::uint32_t>(number(4)));
    else if (data.type == "DOUBLE")
      value = static_cast<float>(real());
    else if (data.type == "BFLOAT16")
      value = std::bit_cast<float>(static_cast<std::uint32_t>(number(2)) << 16);
    else
      value = f16{static_cast<std::uint16_t>(number(2))}.value();
  }
  if (order == 'c') return stored;
  // Column-major: the first axis has stride 1.
  std::vector<float> sorted(stored.size());
  std::vector<std::int64_t> index(extents.size(), 0);
  for (float& value : sorted) {
    std::int64_t from = 0, stride = 1;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      from += index[axis] * stride;
      stride *= extents[axis];
    }
    value = stored[static_cast<std::size_t>(from)];
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      if (++index[axis] < extents[axis]) break;
      index[axis] = 0;
    }
  }
  return sorted;
}

void nd4j_reader::expect_end() const {
  if (position_ < bytes_.size())
    refuse("bytes follow the last array", "the end", std::to_string(bytes_.size() - position_) + " bytes");
}

}  // namespace cohort::detail
