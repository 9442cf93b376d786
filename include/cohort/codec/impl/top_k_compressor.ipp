// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/codec/top_k_compressor.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/optimizer/named_number.hpp>
#include <cohort/tensor/finite.hpp>

namespace cohort {

top_k_compressor::top_k_compressor(tensor_table table, top_k_compression how, team* workers, isa which)
    : message_codec(std::move(table), workers, which) {
  detail::require_setting(how.density > 0 && how.density <= 1, "top_k", "density", "above 0, at most 1",
                          how.density);
  target_count_ = static_cast<std::uint64_t>(std::ceil(how.density * static_cast<double>(table_.elements())));
}

std::span<std::byte const> top_k_compressor::encode(message_stamp const& stamp, std::span<float> r,
                                                    std::span<float const> x) {
  require_shape("residual", r.size());
  require_shape("gradient", x.size());
  auto const each = [&](std::size_t b, auto see) {
    std::uint64_t const begin = b * std::uint64_t{block_elements};
    std::uint64_t const end = std::min<std::uint64_t>(begin + block_elements, r.size());
    for (std::uint64_t i = begin; i < end; ++i) see(i);
  };
  auto const add = [&](std::uint64_t i) { r[i] += x[i]; };
  return select(header_of(stamp, message_kind::sparse), r, each, add);
}

std::span<std::byte const> top_k_compressor::merge(std::span<std::byte const> lower_bytes,
                                                   std::span<std::byte const> upper_bytes,
                                                   expected_messages const& expected, std::span<float> r) {
  return read_and_merge(
      lower_bytes, upper_bytes, expected, r,
      [&](message_header const& header, message_view const& lower, message_view const& upper) {
        for (message_view const* one : {&lower, &upper})
          if (one->header.coding != message_coding::values)
            throw data_error({.what = "cannot merge a message of another encoding",
                              .where = {"rank ", one->header.rank},
                              .expected = "values",
                              .got = "thresholds"});
        add(lower, reader_, 1, r.data());
        add(upper, upper_reader_, 1, r.data());
        auto const each = [&](std::size_t b, auto see) {
          std::uint64_t const begin = b * std::uint64_t{block_elements};
          auto const one = reader_.block(b);
          auto const other = upper_reader_.block(b);
          for (std::size_t i = 0, j = 0; i < one.size() || j < other.size();) {
            std::uint32_t const from_one = i < one.size() ? one[i].index() : ~0U;
            std::uint32_t const from_other = j < other.size() ? other[j].index() : ~0U;
            std::uint32_t const next = std::min(from_one, from_other);
            i += from_one == next;
            j += from_other == next;
            see(begin + next);
          }
        };
        return select(header, r, each, [](std::uint64_t) {});
      });
}

void top_k_compressor::restore(std::span<double const> state) {
  if (!state.empty())
    throw data_error(
        {.what = "cannot restore top_k", .expected = "an empty state", .got = {state.size(), " numbers"}});
}

void top_k_compressor::refuse_not_finite(std::span<float const> y) {
  std::size_t first = 0;
  while (is_finite(y[first])) ++first;
  detail::refuse_residual(first);
}

}  // namespace cohort
