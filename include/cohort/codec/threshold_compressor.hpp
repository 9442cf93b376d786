// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/codec/detail/threshold_simd.hpp>
#include <cohort/codec/message_codec.hpp>
#include <cohort/codec/residual_policy.hpp>
#include <cohort/codec/threshold_device.hpp>
#include <cohort/codec/threshold_policy.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cohort {

/// How a threshold_compressor chooses what to send.
struct threshold_compression {
  threshold_policy threshold = threshold::quantile{};
  residual_policy residual = residual::none{};
  bool per_tensor = false;  ///< a threshold for each tensor
};

/// Sends ±t for every element of r + x that is at least t, and keeps the rest.
///
/// Shapes    residual r, gradient x, dense sums: table.elements() of f32, in the processor's memory, or all in a device's, where
///           `elsewhere` works on them.
/// Before    within_range(x); r is 0, or what this or merge has left.
/// After     encode: with y = fl(r + x), r = y − s, where the message brings s. merge: the same with what both messages bring
///           for x, where they bring anything; the larger threshold; examples, weights and ranks added, flags joined.
///           Then, after the message of every n-th step, what the residual policy says.
/// Moves     12 bytes an element. A message takes 96 bytes, 2 a threshold, 8 for 65,536 elements, and about its entropy.
/// Errors    merge: data_error as decode_add, and for messages of different steps, of ranks that are not neighbours, or with
///           other numbers of thresholds; r is unchanged then.   setting_error for a policy that makes no sense.
///           numeric_error if the residual is not finite.
/// Exact     s + r = y for every element, in real numbers: t has 8 significant bits and y at most 2¹⁶ of it; beyond, a multiple of
///           16 bits is sent. The same bytes on every instruction set and for any number of workers.
/// Source    Strom, Scalable Distributed DNN Training Using Commodity GPU Cloud Computing, Interspeech 2015.
class threshold_compressor : public message_codec {
 public:
  explicit threshold_compressor(tensor_table table, threshold_compression how = {}, team* workers = nullptr,
                                isa which = best_isa(),
                                std::shared_ptr<threshold_device> device_passes = nullptr);

  std::span<std::byte const> encode(message_stamp const& stamp, std::span<float> r, std::span<float const> x);

  /// One message for two: `lower` of the ranks in front of those of `upper`. r is the residual of who merges.
  std::span<std::byte const> merge(std::span<std::byte const> lower_bytes,
                                   std::span<std::byte const> upper_bytes, expected_messages const& expected,
                                   std::span<float> r);

  /// What a checkpoint keeps besides the residual: thresholds, before rounding.
  std::span<double const> state() const { return thresholds_.state(); }
  void restore(std::span<double const> state) { thresholds_.restore(state); }

 private:
  std::size_t threshold_of(std::uint64_t index) const;

  /// Calls take(first, n, threshold, list) for each run of a block's elements that have one threshold, and writes the list.
  template <class Take>
  void write_block(detail::message_part& part, std::size_t b, std::span<bf16 const> t, Take take) const {
    if (part.list.empty()) part.list.resize(block_elements + detail::list_slack);
    detail::sent_element* list = part.list.data();
    std::uint64_t const begin = b * std::uint64_t{block_elements};
    std::uint64_t const end = std::min(begin + block_elements, table_.elements());
    std::size_t k = threshold_of(begin);
    for (std::uint64_t first = begin; first < end; ++k) {
      std::uint64_t const last = std::min(end, ends_[k]);
      detail::sent_element* const from = list;
      std::size_t const multiples = part.multiples.size();
      take(first, static_cast<std::size_t>(last - first), t[k].value(), list);
      part.sent[k] += static_cast<std::uint64_t>(list - from) + (part.multiples.size() - multiples);
      first = last;
    }
    part.entries.push_back(detail::write_block(
        part.codes, std::span(part.list).first(static_cast<std::size_t>(list - part.list.data())),
        static_cast<std::size_t>(end - begin)));
  }

  /// The message whose blocks write(part, block) writes.
  template <class Write>
  std::span<std::byte const> write_parts(message_header const& header, std::span<bf16 const> t, Write write) {
    auto const bytes = writer_.write(isa_, header, t, workers_, write);
    sent_.assign(t.size(), 0);
    for (detail::message_part const& part : writer_.parts())
      for (std::size_t k = 0; k < t.size(); ++k) sent_[k] += part.sent[k];
    return reported(bytes, t);
  }
  /// The message of what was taken elsewhere.
  std::span<std::byte const> write_taken(message_header const& header, std::span<bf16 const> t,
                                         threshold_device::taken const& all);

  std::span<std::byte const> reported(std::span<std::byte const> bytes, std::span<bf16 const> t);

  /// The residual policy's turn. Sums go over the same pieces for any number of workers.
  void settle(std::span<float> r, std::span<bf16 const> t);

  void settle_elsewhere(std::span<float> r, std::span<bf16 const> t);

  void require_thresholds(message_header const& header) const;

  threshold_compression how_;
  std::vector<std::uint64_t> ends_;
  thresholds thresholds_;
  std::vector<bf16> larger_;
  std::vector<double> clipped_;
  std::vector<std::uint64_t> sent_;  // of each threshold
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/codec/impl/threshold_compressor.ipp>
#endif
