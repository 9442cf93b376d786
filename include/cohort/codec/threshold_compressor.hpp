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

/// Settings of a threshold_compressor.
struct threshold_compression {
  threshold_policy threshold = threshold::quantile{};
  residual_policy residual = residual::none{};
  bool per_tensor = false;  ///< a separate threshold for each tensor
};

/// Sends ±t for every element of r + x whose magnitude is at least the threshold t, and keeps the rest in r.
///
/// Shapes    residual r, gradient x, dense sums: table.elements() elements, f32. All are in the processor's
///           memory, or all in the memory of the device on which `device_passes` runs.
/// Before    within_range(x) is true. r is 0, or the result of encode or merge.
/// After     encode: with y = fl(r + x), the message contains s, and r = y − s. If the residual policy acts
///           after this message, the policy is then applied to r. merge: the same with y = fl(r + lower +
///           upper), for each element in at least one of the messages, and without the residual policy. The
///           merged message has the larger threshold, the sums of examples, weights and ranks, and the flags
///           of both messages.
/// Moves     a message has 96 bytes, 2 per threshold, 8 per 65,536 elements, and codes of about
///           message_report::entropy_bytes().
/// Errors    merge: data_error as decode_add, and for messages of different steps, of ranks that are not
///           neighbours, or with another number of thresholds; r is unchanged then. Constructor:
///           setting_error for an invalid policy. numeric_error if the residual is not finite.
/// Exact     s + r = y exactly, for every element, because t has 8 significant bits and |y| is at
///           most 2¹⁶·t. Larger elements are sent as a multiple with 16 significant bits. The same bytes on
///           every instruction set and for any number of workers.
/// Cost      memory traffic of 12 bytes per element.
/// Source    Strom, Scalable Distributed DNN Training Using Commodity GPU Cloud Computing, Interspeech 2015.
class threshold_compressor : public message_codec {
 public:
  explicit threshold_compressor(tensor_table table, threshold_compression how = {}, team* workers = nullptr,
                                isa which = best_isa(),
                                std::shared_ptr<threshold_device> device_passes = nullptr);

  /// Writes the message of gradient x, and updates the residual r and the thresholds.
  std::span<std::byte const> encode(message_stamp const& stamp, std::span<float> r, std::span<float const> x);

  /// Merges two messages into one. The ranks of `lower` directly precede the ranks of `upper`. r is the
  /// merging rank's residual.
  std::span<std::byte const> merge(std::span<std::byte const> lower_bytes,
                                   std::span<std::byte const> upper_bytes, expected_messages const& expected,
                                   std::span<float> r);

  /// Returns the checkpoint state besides the residual: the thresholds before rounding.
  std::span<double const> state() const { return thresholds_.state(); }
  void restore(std::span<double const> state) { thresholds_.restore(state); }

 private:
  std::size_t threshold_of(std::uint64_t index) const;

  /// Writes block b. Divides the block into ranges with one threshold each. For each range, calls
  /// extract(first, n, threshold, list), which appends the sent elements to `list`.
  template <class Extract>
  void write_block(detail::message_part& part, std::size_t b, std::span<bf16 const> t,
                   Extract extract) const {
    if (part.list.empty()) part.list.resize(block_elements + detail::list_slack);
    detail::sent_element* list = part.list.data();
    std::uint64_t const begin = b * std::uint64_t{block_elements};
    std::uint64_t const end = std::min(begin + block_elements, table_.elements());
    std::size_t k = threshold_of(begin);
    for (std::uint64_t first = begin; first < end; ++k) {
      std::uint64_t const last = std::min(end, ends_[k]);
      detail::sent_element* const from = list;
      std::size_t const multiples = part.multiples.size();
      extract(first, static_cast<std::size_t>(last - first), t[k].value(), list);
      part.sent[k] += static_cast<std::uint64_t>(list - from) + (part.multiples.size() - multiples);
      first = last;
    }
    part.entries.push_back(detail::write_block(
        part.codes, std::span(part.list).first(static_cast<std::size_t>(list - part.list.data())),
        static_cast<std::size_t>(end - begin)));
  }

  /// Writes a message. Calls write(part, block), which appends a block to a part, for every block.
  template <class Write>
  std::span<std::byte const> write_parts(message_header const& header, std::span<bf16 const> t, Write write) {
    auto const bytes = writer_.write(isa_, header, t, workers_, write);
    sent_.assign(t.size(), 0);
    for (detail::message_part const& part : writer_.parts())
      for (std::size_t k = 0; k < t.size(); ++k) sent_[k] += part.sent[k];
    return fill_report(bytes, t);
  }
  /// Writes the message of elements that were extracted on a device.
  std::span<std::byte const> write_extracted(message_header const& header, std::span<bf16 const> t,
                                             threshold_device::extracted const& all);

  /// Fills report_ from a message and sent_, and returns the message.
  std::span<std::byte const> fill_report(std::span<std::byte const> bytes, std::span<bf16 const> t);

  /// Applies the residual policy. Sums the clipped magnitudes per block, so that their total does not depend
  /// on the number of workers.
  void apply_residual_policy(std::span<float> r, std::span<bf16 const> t);

  void apply_residual_policy_on_device(std::span<float> r, std::span<bf16 const> t);

  void require_thresholds(message_header const& header) const;

  threshold_compression how_;
  std::vector<std::uint64_t> ends_;
  thresholds thresholds_;
  std::vector<bf16> larger_;
  std::vector<double> clipped_;
  std::vector<std::uint64_t> sent_;  // number of elements sent of each threshold
};

}  // namespace cohort
