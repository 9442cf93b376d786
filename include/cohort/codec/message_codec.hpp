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

/// Identifies a message: its run, step and rank, the strategy's flags, and the examples and weight of its
/// gradient.
struct message_stamp {
  std::uint64_t run = 0;
  std::uint64_t step = 0;
  std::uint32_t rank = 0;
  std::uint32_t flags = 0;
  std::uint64_t examples = 0;
  double weight = 0;
};

/// Statistics of the last message.
///
/// Units     `density` d is sent / elements. `entropy_bytes` is the entropy of the positions and signs if
///           elements are independent, n·H(d) + d·n bits, in bytes. `clipped_mass` is the sum of the
///           magnitudes that the residual policy cut off after the message.
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

/// Base of all compressors: reads any message, and writes the messages that contain no gradient.
///
/// Shapes    residuals, gradients and dense sums: table.elements() elements, f32, in the memory space of
///           device_passes().
/// Order     one call at a time. A returned message is valid until the next call that writes a message. merge
///           also accepts this message as an argument, although merge overwrites it.
/// Errors    parse and decode_add: data_error if the message is truncated, damaged, inconsistent, or of
///           another run, table or step. In this case dense is unchanged. shape_error for an array of another
///           size.
/// Exact     the same bytes and sums on every instruction set and for any number of workers.
class message_codec {
 public:
  explicit message_codec(tensor_table table, team* workers = nullptr, isa which = best_isa(),
                         std::shared_ptr<threshold_device> device_passes = nullptr);

  tensor_table const& table() const { return table_; }
  /// Passes over arrays in a device's memory; null: the arrays are in the processor's memory.
  threshold_device* device_passes() const { return device_passes_.get(); }

  /// Parses and checks a message. The result is a view of these bytes.
  message_view parse(std::span<std::byte const> message, expected_messages const& expected) const;
  /// dense += scale · the message's values. A message that is not sparse leaves dense unchanged; see
  /// header.kind.
  void decode_add(message_view const& message, float scale, std::span<float> dense);
  message_header decode_add(std::span<std::byte const> message, expected_messages const& expected,
                            float scale, std::span<float> dense);

  /// Writes the message of a rank whose gradient is not finite. The rank's residual is unchanged.
  std::span<std::byte const> not_finite(message_stamp const& stamp);
  /// Writes the message of a rank without examples.
  std::span<std::byte const> nothing(message_stamp const& stamp);
  /// Returns the statistics of the message written last.
  message_report const& report() const { return report_; }

 protected:
  message_header header_of(message_stamp const& stamp, message_kind kind) const;

  /// Writes a message that is only a header.
  std::span<std::byte const> write_header_only(message_header header);

  /// Decodes and checks the elements of a message; does nothing if the message is not sparse.
  void read(message_view const& message, detail::message_reader& elements) const;
  /// dense += scale · the elements that were read.
  void add(message_view const& message, detail::message_reader const& elements, float scale,
           float* dense) const;

  /// Reads two messages and merges them. Returns merge_sparse(header, lower, upper) if both are sparse.
  ///
  /// After     if one message is sparse and the other `nothing`, the result is the sparse one with the merged
  ///           header. If one is not_finite, the result is not_finite, and the elements of a sparse message
  ///           are added to r. If both are `nothing`, the result is `nothing`.
  template <class MergeSparse>
  std::span<std::byte const> read_and_merge(std::span<std::byte const> lower_bytes,
                                            std::span<std::byte const> upper_bytes,
                                            expected_messages const& expected, std::span<float> r,
                                            MergeSparse merge_sparse) {
    require_shape("residual", r.size());
    for (auto* const bytes : {&lower_bytes, &upper_bytes})
      if (writer_.is_latest(*bytes)) {  // the merged message would overwrite it
        message_copy_.assign(bytes->begin(), bytes->end());
        *bytes = message_copy_;
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
    if (is(message_kind::sparse, message_kind::nothing)) return copy_with_header(header, lower_bytes);
    if (is(message_kind::nothing, message_kind::sparse)) return copy_with_header(header, upper_bytes);
    if (header.kind == message_kind::not_finite) {  // the residual keeps the other ranks' elements
      add(lower, reader_, 1, r.data());
      add(upper, upper_reader_, 1, r.data());
    }
    return write_header_only(header);
  }

  void require_shape(char const* what, std::size_t got) const;

  tensor_table table_;
  team* workers_;
  isa isa_;
  std::shared_ptr<threshold_device> device_passes_;
  detail::message_reader reader_;
  detail::message_reader upper_reader_;
  detail::message_writer writer_;
  std::vector<std::byte> message_copy_;
  message_report report_;

 private:
  threshold_device::side side_of(detail::message_reader const& elements) const;

  /// Returns the header of the merged message.
  ///
  /// Errors    data_error if the messages are of different steps or not of neighbouring ranks.
  static message_header merged_header(message_header const& lower, message_header const& upper);

  /// Copies a message and replaces its header's step, ranks, examples, weight, kind and flags with those of
  /// `header`.
  std::span<std::byte const> copy_with_header(message_header header, std::span<std::byte const> message);
};

}  // namespace cohort
