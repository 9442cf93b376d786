// SPDX-License-Identifier: Apache-2.0
#include <cohort/codec/detail/block_merge.hpp>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/codec/threshold_compressor.hpp>
#include <utility>

namespace cohort {

threshold_compressor::threshold_compressor(tensor_table table, threshold_compression how, team* workers,
                                           isa which, std::shared_ptr<threshold_device> device_passes)
    : message_codec(std::move(table), workers, which, std::move(device_passes)),
      how_(how),
      ends_(how.per_tensor || table_.size() == 0
                ? std::vector<std::uint64_t>(table_.ends().begin(), table_.ends().end())
                : std::vector<std::uint64_t>{table_.elements()}),
      thresholds_(how.threshold, ends_.size()) {
  how.threshold.check();
  how.residual.check();
}

std::span<std::byte const> threshold_compressor::encode(message_stamp const& stamp, std::span<float> r,
                                                        std::span<float const> x) {
  require_shape("residual", r.size());
  require_shape("gradient", x.size());
  message_header const header = header_of(stamp, message_kind::sparse);
  std::span<bf16 const> t{};
  std::span<std::byte const> bytes{};
  if (device_passes_) {
    t = thresholds_.choose(
        ends_, stamp.step,
        [&](std::uint64_t begin, detail::element_sample const& from, std::span<std::uint32_t> counts) {
          device_passes_->count_levels(r.data() + begin, x.data() + begin, from, counts);
        });
    bytes = write_extracted(header, t, device_passes_->extract(r, x, ends_, t));
  } else {
    t = thresholds_.choose(r, x, ends_, stamp.step);
    bytes = write_parts(header, t, [&](detail::message_part& part, std::size_t b) {
      write_block(part, b, t,
                  [&](std::uint64_t first, std::size_t n, float threshold, detail::sent_element*& list) {
                    detail::extract_above_threshold(isa_, r.data() + first, x.data() + first, n, threshold,
                                                    first, list, part.multiples);
                  });
    });
  }
  for (std::size_t k = 0; k < t.size(); ++k) {
    std::uint64_t const begin = k == 0 ? 0 : ends_[k - 1];
    thresholds_.observe(k, static_cast<double>(sent_[k]) / static_cast<double>(ends_[k] - begin));
  }
  if (how_.residual.acts_after(stamp.step)) apply_residual_policy(r, t);
  return bytes;
}

std::span<std::byte const> threshold_compressor::merge(std::span<std::byte const> lower_bytes,
                                                       std::span<std::byte const> upper_bytes,
                                                       expected_messages const& expected,
                                                       std::span<float> r) {
  return read_and_merge(
      lower_bytes, upper_bytes, expected, r,
      [&](message_header const& header, message_view const& lower, message_view const& upper) {
        require_thresholds(lower.header);
        require_thresholds(upper.header);
        larger_.resize(ends_.size());
        for (std::size_t k = 0; k < larger_.size(); ++k)
          larger_[k] = {std::max(lower.threshold(k).pattern, upper.threshold(k).pattern)};
        if (device_passes_)
          return write_extracted(header, larger_, device_passes_->merge(lower, upper, ends_, larger_, r));
        return write_parts(header, larger_, [&](detail::message_part& part, std::size_t b) {
          detail::block_merge both(lower, reader_, upper, upper_reader_, b, r.data());
          write_block(part, b, larger_,
                      [&](std::uint64_t first, std::size_t n, float threshold, detail::sent_element*& list) {
                        std::size_t const k = threshold_of(first);
                        both.merge_until(first + n, lower.threshold(k).value(), upper.threshold(k).value(),
                                         threshold, list, part.multiples);
                      });
        });
      });
}

std::size_t threshold_compressor::threshold_of(std::uint64_t index) const {
  return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
}

std::span<std::byte const> threshold_compressor::write_extracted(message_header const& header,
                                                                 std::span<bf16 const> t,
                                                                 threshold_device::extracted const& all) {
  auto const bytes = writer_.write_coded(isa_, header, t, all.coded);
  sent_.assign(all.sent.begin(), all.sent.end());
  return fill_report(bytes, t);
}

std::span<std::byte const> threshold_compressor::fill_report(std::span<std::byte const> bytes,
                                                             std::span<bf16 const> t) {
  report_ = {.elements = table_.elements(), .bytes = bytes.size()};
  for (std::size_t k = 0; k < t.size(); ++k) {
    double const value = double{t[k].value()};
    report_.smallest_threshold = k == 0 ? value : std::min(report_.smallest_threshold, value);
    report_.largest_threshold = std::max(report_.largest_threshold, value);
    report_.sent += sent_[k];
  }
  return bytes;
}

void threshold_compressor::apply_residual_policy(std::span<float> r, std::span<bf16 const> t) {
  if (device_passes_) return apply_residual_policy_on_device(r, t);
  clipped_.assign(static_cast<std::size_t>(blocks_of(r.size())), 0);
  detail::for_block_ranges(workers_, clipped_.size(), [&](int, std::size_t from, std::size_t to) {
    for (std::size_t b = from; b < to; ++b) {
      std::uint64_t const begin = b * std::uint64_t{block_elements};
      std::uint64_t const end = std::min<std::uint64_t>(begin + block_elements, r.size());
      std::size_t k = threshold_of(begin);
      for (std::uint64_t first = begin; first < end; ++k) {
        std::uint64_t const last = std::min(end, ends_[k]);
        std::span<float> const run = r.subspan(first, last - first);
        if (how_.residual.which == residual_policy::kind::clip)
          clipped_[b] += clip_residual(isa_, run, static_cast<float>(how_.residual.number) * t[k].value());
        else
          scale_residual(isa_, run, static_cast<float>(how_.residual.number));
        first = last;
      }
    }
  });
  for (double const mass : clipped_) report_.clipped_mass += mass;
}

void threshold_compressor::apply_residual_policy_on_device(std::span<float> r, std::span<bf16 const> t) {
  auto const number = static_cast<float>(how_.residual.number);
  if (how_.residual.which != residual_policy::kind::clip)
    return device_passes_->arrays().scale(reinterpret_cast<std::byte*>(r.data()), r.size(), number);
  std::uint64_t begin = 0;
  for (std::size_t k = 0; k < t.size(); ++k) {
    report_.clipped_mass += device_passes_->clip(r.subspan(begin, ends_[k] - begin), number * t[k].value());
    begin = ends_[k];
  }
}

void threshold_compressor::require_thresholds(message_header const& header) const {
  if (header.coding == message_coding::ternary && header.thresholds == ends_.size()) return;
  throw data_error({.what = "cannot merge a message of another encoding",
                    .where = {"rank ", header.rank},
                    .expected = {ends_.size(), " thresholds"},
                    .got = {header.thresholds, " thresholds"}});
}

}  // namespace cohort
