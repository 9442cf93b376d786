// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cohort/caffe/detail/caffe_parameters.hpp>

namespace cohort::detail {

/// Calls visit(index in the blob, index in the parameter) for each element of the blob.
template <class Visit>
void caffe_parameter_blob::each(Visit visit) const {
  std::size_t from = 0;
  if (transposed) {
    std::int64_t const across = rows / groups;
    for (std::int64_t g = 0; g < groups; ++g)
      for (std::int64_t a = 0; a < columns; ++a)
        for (std::int64_t b = 0; b < across; ++b)
          for (std::int64_t i = 0; i < inner; ++i)
            visit(from++, static_cast<std::size_t>(((g * across + b) * total + a) * inner + i));
    return;
  }
  constexpr std::array<std::int64_t, 4> order{0, 1, 3, 2};  // i f o g
  std::int64_t const block = rows / 4;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t const row = gates ? order[static_cast<std::size_t>(r / block)] * block + r % block : r;
    for (std::int64_t c = 0; c < columns; ++c)
      visit(from++, static_cast<std::size_t>(row * total + first + c));
  }
}

void caffe_parameter_blob::store(std::span<float const> blob, float factor, std::span<float> into) const {
  each([&](std::size_t from, std::size_t to) { into[to] = factor * blob[from]; });
}

std::vector<float> caffe_parameter_blob::values_in(std::span<float const> from) const {
  std::vector<float> result(static_cast<std::size_t>(rows * columns * inner));
  each([&](std::size_t blob, std::size_t place) { result[blob] = from[place]; });
  return result;
}

}  // namespace cohort::detail
