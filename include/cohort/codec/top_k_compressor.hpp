// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cohort/codec/message_codec.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cohort {

/// Settings of a top_k_compressor. `density`: the fraction of elements sent.
struct top_k_compression {
  double density = 1e-2;
};

/// Sends the k = ⌈density·n⌉ elements of r + x of largest magnitude unchanged, and keeps the others in r.
///
/// Magnitudes are compared by their upper 16 bits (8 significant bits). Of elements that compare equal, those
/// with the lowest indices are sent. Zeros, and subnormals whose upper 16 bits are zero, are never sent.
///
/// Shapes    residual r, gradient x, dense sums: table.elements() elements, f32.
/// Before    within_range(x) is true, and r is finite.
/// After     encode: with y = fl(r + x), the message contains s = y or 0, and r = y − s. merge: as encode,
///           with y = fl(fl(r + lower) + upper), for each element in at least one of the messages.
/// Moves     a message has 96 bytes, 8 per 65,536 elements, and for each element sent its code and 4 bytes.
/// Errors    as message_codec. encode and merge: numeric_error if y is not finite; then r is y.
/// Exact     the same bytes on every instruction set and for any number of workers.
/// Cost      memory traffic of 20 bytes per element.
/// Source    Aji and Heafield, EMNLP 2017; Lin et al., Deep Gradient Compression, ICLR 2018.
class top_k_compressor : public message_codec {
 public:
  explicit top_k_compressor(tensor_table table, top_k_compression how = {}, team* workers = nullptr,
                            isa which = best_isa());

  /// Writes the message of gradient x, and updates the residual r.
  std::span<std::byte const> encode(message_stamp const& stamp, std::span<float> r, std::span<float const> x);

  /// Merges two messages into one. The ranks of `lower` directly precede the ranks of `upper`. r is the
  /// merging rank's residual.
  std::span<std::byte const> merge(std::span<std::byte const> lower_bytes,
                                   std::span<std::byte const> upper_bytes, expected_messages const& expected,
                                   std::span<float> r);

  /// Returns the checkpoint state besides the residual: none.
  std::span<double const> state() const { return {}; }
  /// Checks the state of a checkpoint.  Errors: data_error if it is not empty.
  void restore(std::span<double const> state);

 private:
  static constexpr std::uint32_t levels = 1 << 15, not_finite_level = 0x7f80;
  static std::uint32_t level(float y) { return std::bit_cast<std::uint32_t>(y) >> 16 & (levels - 1); }

  /// Sends the candidates (elements that may be sent) of largest magnitude and sets them to 0 in r.
  /// each(block, see) calls see(index) for the block's candidates in ascending order. prepare(index) is
  /// called once before a candidate is read.
  template <class Each, class Prepare>
  std::span<std::byte const> select(message_header header, std::span<float> r, Each each, Prepare prepare) {
    header.coding = message_coding::values;
    std::size_t const workers = workers_ ? static_cast<std::size_t>(workers_->size()) : 1;
    counts_.assign(workers * levels, 0);
    auto const counts = [&](std::size_t worker) {
      return std::span(counts_).subspan(worker * levels, levels);
    };
    detail::for_block_ranges(workers_, static_cast<std::size_t>(blocks_of(r.size())),
                             [&](int worker, std::size_t from, std::size_t to) {
                               auto const mine = counts(static_cast<std::size_t>(worker));
                               for (std::size_t b = from; b < to; ++b)
                                 each(b, [&](std::uint64_t i) {
                                   prepare(i);
                                   ++mine[level(r[i])];
                                 });
                             });
    for (std::size_t w = 0; w < workers; ++w)
      for (std::uint32_t infinite = not_finite_level; infinite < levels; ++infinite)
        if (counts(w)[infinite] > 0) refuse_not_finite(r);
    // The lowest level that is sent, and how many of its elements each worker sends.
    std::uint32_t cut = levels - 1;
    std::uint64_t left = target_count_;
    for (;; --cut) {
      std::uint64_t here = 0;
      for (std::size_t w = 0; w < workers; ++w) here += counts(w)[cut];
      if (here >= left || cut == 1) break;
      left -= here;
    }
    ties_.assign(workers, 0);
    for (std::size_t w = 0; w < workers; ++w) {
      ties_[w] = std::min<std::uint64_t>(left, counts(w)[cut]);
      left -= ties_[w];
    }
    auto const bytes =
        writer_.write(isa_, header, {}, workers_, [&](detail::message_part& part, std::size_t b) {
          std::uint64_t& ties = ties_[static_cast<std::size_t>(&part - writer_.parts().data())];
          if (part.list.empty()) part.list.resize(block_elements);
          std::size_t count = 0;
          each(b, [&](std::uint64_t i) {
            std::uint32_t const is = level(r[i]);
            if (is < cut || (is == cut && ties == 0)) return;
            ties -= is == cut;
            auto const pattern = std::bit_cast<std::uint32_t>(std::exchange(r[i], 0.0F));
            part.list[count++] = {static_cast<std::uint32_t>(i % block_elements)
                                  | (pattern & detail::sent_element::negative)};
            part.values.push_back(std::bit_cast<float>(pattern & ~detail::sent_element::negative));
          });
          std::uint64_t const begin = b * std::uint64_t{block_elements};
          part.entries.push_back(detail::write_block(
              part.codes, std::span(part.list).first(count),
              static_cast<std::size_t>(std::min<std::uint64_t>(block_elements, r.size() - begin))));
        });
    report_ = {.elements = table_.elements(), .bytes = bytes.size()};
    for (detail::message_part const& part : writer_.parts()) report_.sent += part.values.size();
    return bytes;
  }

  [[noreturn]] static void refuse_not_finite(std::span<float const> y);

  std::uint64_t target_count_ = 0;
  std::vector<std::uint64_t> counts_;
  std::vector<std::uint64_t> ties_;
};

}  // namespace cohort
