// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/codec/detail/message_reader.hpp>
#include <cohort/codec/detail/message_writer.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/codec/tensor_table.hpp>
#include <cohort/codec/threshold_device.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/execution/team.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cohort {

/// Whose message, of which step.
struct message_stamp {
  std::uint64_t run = 0;
  std::uint64_t step = 0;
  std::uint32_t rank = 0;
  std::uint32_t flags = 0;
  std::uint64_t examples = 0;
  double weight = 0;
};

/// What the last message was like.
///
/// Units     `entropy_bytes` is the least that a message of so many independent elements and signs can take,
///           n·H(d) + d·n bits; `clipped_mass` is Σ |what a residual policy has cut off after it|.
struct message_report {
  std::uint64_t elements = 0;
  std::uint64_t sent = 0;
  std::uint64_t bytes = 0;
  double smallest_threshold = 0;
  double largest_threshold = 0;
  double clipped_mass = 0;

  double density() const;
  double entropy_bytes() const;
};

/// What all ways to write a gradient have in common: reading any message, and writing those that bring none.
///
/// Shapes    residuals, gradients and dense sums: table.elements() of f32, where elsewhere() says.
/// Order     one call at a time; what a call returns is valid until the next one that writes, and may be merged by it.
/// Errors    parse and decode_add: data_error if the message is cut, damaged, foreign, stale or cannot be; dense is unchanged then.
///           shape_error for an array of another size.
/// Exact     the same bytes and sums on every instruction set and for any number of workers.
class message_codec {
 public:
  explicit message_codec(tensor_table table, team* workers = nullptr, isa which = best_isa(),
                         std::shared_ptr<threshold_device> device_passes = nullptr);

  tensor_table const& table() const { return table_; }
  /// Who works on the arrays, and where they lie; null: the processor.
  threshold_device* device_passes() const { return device_passes_.get(); }

  /// The message that these bytes are; it shows them.
  message_view parse(std::span<std::byte const> message, expected_messages const& expected) const;
  /// dense += scale·s, where the message brings s. Messages that bring no gradient change nothing: see the header.
  void decode_add(message_view const& message, float scale, std::span<float> dense);
  message_header decode_add(std::span<std::byte const> message, expected_messages const& expected,
                            float scale, std::span<float> dense);

  /// A rank's gradient that is not finite, whose residual stays.
  std::span<std::byte const> not_finite(message_stamp const& stamp);
  /// Of a rank without examples.
  std::span<std::byte const> nothing(message_stamp const& stamp);
  message_report const& report() const { return report_; }

 protected:
  message_header header_of(message_stamp const& stamp, message_kind kind) const;

  /// A header alone.
  std::span<std::byte const> plain(message_header header);

  /// Looks at all of a message, and adds it.
  void read(message_view const& message, detail::message_reader& elements) const;
  void add(message_view const& message, detail::message_reader const& elements, float scale,
           float* dense) const;

  /// Merges two messages whose elements have been read by merge_sparse(header, lower, upper) if both are sparse.
  template <class MergeSparse>
  std::span<std::byte const> merge_read(std::span<std::byte const> lower_bytes,
                                        std::span<std::byte const> upper_bytes,
                                        expected_messages const& expected, std::span<float> r,
                                        MergeSparse merge_sparse) {
    require_shape("residual", r.size());
    for (auto* const bytes : {&lower_bytes, &upper_bytes})
      if (writer_.made(*bytes)) {  // the merged message would be written over it
        own_.assign(bytes->begin(), bytes->end());
        *bytes = own_;
      }
    message_view const lower = parse(lower_bytes, expected);
    message_view const upper = parse(upper_bytes, expected);
    message_header const header = merged_header(lower.header, upper.header);
    read(lower, reader_);
    read(upper, upper_reader_);
    auto const is = [&](message_kind a, message_kind b) {
      return lower.header.kind == a && upper.header.kind == b;
    };
    if (is(message_kind::sparse, message_kind::sparse)) return merge_sparse(header, lower, upper);
    if (is(message_kind::sparse, message_kind::nothing)) return again(header, lower_bytes);
    if (is(message_kind::nothing, message_kind::sparse)) return again(header, upper_bytes);
    if (header.kind == message_kind::not_finite) {  // what others have sent is not lost
      add(lower, reader_, 1, r.data());
      add(upper, upper_reader_, 1, r.data());
    }
    return plain(header);
  }

  void require_shape(char const* what, std::size_t got) const;

  tensor_table table_;
  team* workers_;
  isa isa_;
  std::shared_ptr<threshold_device> device_passes_;
  detail::message_reader reader_;
  detail::message_reader upper_reader_;
  detail::message_writer writer_;
  std::vector<std::byte> own_;
  message_report report_;

 private:
  threshold_device::side side_of(detail::message_reader const& elements) const;

  /// The header of two messages' sum.
  static message_header merged_header(message_header const& lower, message_header const& upper);

  /// The same content under another header.
  std::span<std::byte const> again(message_header header, std::span<std::byte const> message);
};

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/codec/impl/message_codec.ipp>
#endif
