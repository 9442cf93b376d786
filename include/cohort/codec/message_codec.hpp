// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cohort/codec/detail/message_reader.hpp>
#include <cohort/codec/detail/message_writer.hpp>
#include <cohort/codec/message.hpp>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/codec/tensor_table.hpp>
#include <cohort/codec/threshold_device.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/execution/isa.hpp>
#include <cohort/execution/team.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
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

  double density() const {
    return elements == 0 ? 0 : static_cast<double>(sent) / static_cast<double>(elements);
  }
  double entropy_bytes() const {
    double const d = density();
    double const h = d == 0 || d == 1 ? 0 : -d * std::log2(d) - (1 - d) * std::log2(1 - d);
    return (h + d) * static_cast<double>(elements) / 8;
  }
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
                         std::shared_ptr<threshold_device> device_passes = nullptr)
      : table_(std::move(table)), workers_(workers), isa_(which), device_passes_(std::move(device_passes)) {}

  tensor_table const& table() const { return table_; }
  /// Who works on the arrays, and where they lie; null: the processor.
  threshold_device* device_passes() const { return device_passes_.get(); }

  /// The message that these bytes are; it shows them.
  message_view parse(std::span<std::byte const> message, expected_messages const& expected) const {
    return message_view::parse(isa_, message, table_, expected);
  }
  /// dense += scale·s, where the message brings s. Messages that bring no gradient change nothing: see the header.
  void decode_add(message_view const& message, float scale, std::span<float> dense) {
    require_shape("dense sum", dense.size());
    read(message, reader_);
    add(message, reader_, scale, dense.data());
  }
  message_header decode_add(std::span<std::byte const> message, expected_messages const& expected,
                            float scale, std::span<float> dense) {
    message_view const view = parse(message, expected);
    decode_add(view, scale, dense);
    return view.header;
  }

  /// A rank's gradient that is not finite, whose residual stays.
  std::span<std::byte const> not_finite(message_stamp const& stamp) {
    return plain(header_of(stamp, message_kind::not_finite));
  }
  /// Of a rank without examples.
  std::span<std::byte const> nothing(message_stamp const& stamp) {
    return plain(header_of(stamp, message_kind::nothing));
  }
  message_report const& report() const { return report_; }

 protected:
  message_header header_of(message_stamp const& stamp, message_kind kind) const {
    message_header header;
    header.kind = kind;
    header.run = stamp.run;
    header.table = table_.hash();
    header.step = stamp.step;
    header.elements = table_.elements();
    header.examples = stamp.examples;
    header.weight = stamp.weight;
    header.rank = stamp.rank;
    header.flags = stamp.flags;
    return header;
  }

  /// A header alone.
  std::span<std::byte const> plain(message_header header) {
    header.coding = message_coding::ternary;
    header.thresholds = header.blocks = 0;
    header.multiples = header.payload_bytes = 0;
    auto const bytes = writer_.write_plain(isa_, header, 0, [](std::byte*) {});
    report_ = {.elements = header.elements, .bytes = bytes.size()};
    return bytes;
  }

  /// Looks at all of a message, and adds it.
  void read(message_view const& message, detail::message_reader& elements) const {
    if (message.header.kind != message_kind::sparse) return;
    if (device_passes_ && device_passes_->read(side_of(elements), message)) return;
    elements.read(message, workers_);  // elsewhere: it says what is wrong
    if (device_passes_) detail::refuse_message("codes", "what the tables say", "others");
  }
  void add(message_view const& message, detail::message_reader const& elements, float scale,
           float* dense) const {
    if (message.header.kind != message_kind::sparse) return;
    if (!device_passes_) return detail::add_blocks(message, elements, table_, scale, dense, workers_);
    std::uint64_t const all[]{table_.elements()};
    device_passes_->add(side_of(elements), message,
                        message.header.thresholds == 1 ? std::span<std::uint64_t const>(all) : table_.ends(),
                        scale, dense);
  }

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

  void require_shape(char const* what, std::size_t got) const {
    if (got != table_.elements())
      throw shape_error({.what = "an array does not fit the table of tensors",
                         .where = what,
                         .expected = {table_.elements(), " elements"},
                         .got = {got}});
  }

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
  threshold_device::side side_of(detail::message_reader const& elements) const {
    return &elements == &reader_ ? threshold_device::side::lower : threshold_device::side::upper;
  }

  /// The header of two messages' sum.
  static message_header merged_header(message_header const& lower, message_header const& upper) {
    if (lower.step != upper.step)
      throw data_error({.what = "cannot merge messages of different steps",
                        .expected = {"step ", lower.step},
                        .got = {upper.step}});
    if (std::uint64_t{lower.rank} + lower.ranks != upper.rank)
      throw data_error({.what = "cannot merge messages of ranks that are not neighbours",
                        .expected = {"rank ", std::uint64_t{lower.rank} + lower.ranks},
                        .got = {upper.rank}});
    message_header header = lower;
    header.ranks += upper.ranks;
    header.examples += upper.examples;
    header.weight += upper.weight;
    header.flags |= upper.flags;
    header.kind = message_kind::nothing;
    for (message_kind const kind : {message_kind::sparse, message_kind::not_finite})
      if (lower.kind == kind || upper.kind == kind) header.kind = kind;
    return header;
  }

  /// The same content under another header.
  std::span<std::byte const> again(message_header header, std::span<std::byte const> message) {
    message_header theirs;
    std::memcpy(static_cast<void*>(&theirs), message.data(), sizeof theirs);
    header.coding = theirs.coding;
    header.payload_bytes = theirs.payload_bytes;
    header.multiples = theirs.multiples;
    header.thresholds = theirs.thresholds;
    header.blocks = theirs.blocks;
    std::span<std::byte const> const behind = message.subspan(sizeof theirs);
    auto const bytes = writer_.write_plain(
        isa_, header, behind.size(), [&](std::byte* to) { std::memcpy(to, behind.data(), behind.size()); });
    report_ = {.elements = header.elements, .bytes = bytes.size()};
    return bytes;
  }
};

}  // namespace cohort
