// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cohort/codec/message_codec.hpp>
#include <cohort/codec/residual_simd.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstring>
#include <utility>

namespace cohort {

double message_report::density() const {
  return elements == 0 ? 0 : static_cast<double>(sent) / static_cast<double>(elements);
}

double message_report::entropy_bytes() const {
  double const d = density();
  double const h = d == 0 || d == 1 ? 0 : -d * std::log2(d) - (1 - d) * std::log2(1 - d);
  return (h + d) * static_cast<double>(elements) / 8;
}

message_codec::message_codec(tensor_table table, team* workers, isa which,
                             std::shared_ptr<threshold_device> device_passes)
    : table_(std::move(table)), workers_(workers), isa_(which), device_passes_(std::move(device_passes)) {}

message_view message_codec::parse(std::span<std::byte const> message,
                                  expected_messages const& expected) const {
  return message_view::parse(isa_, message, table_, expected);
}

void message_codec::decode_add(message_view const& message, float scale, std::span<float> dense) {
  require_shape("dense sum", dense.size());
  read(message, reader_);
  add(message, reader_, scale, dense.data());
}

message_header message_codec::decode_add(std::span<std::byte const> message,
                                         expected_messages const& expected, float scale,
                                         std::span<float> dense) {
  message_view const view = parse(message, expected);
  decode_add(view, scale, dense);
  return view.header;
}

std::span<std::byte const> message_codec::not_finite(message_stamp const& stamp) {
  return write_header_only(header_of(stamp, message_kind::not_finite));
}

std::span<std::byte const> message_codec::nothing(message_stamp const& stamp) {
  return write_header_only(header_of(stamp, message_kind::nothing));
}

message_header message_codec::header_of(message_stamp const& stamp, message_kind kind) const {
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

std::span<std::byte const> message_codec::write_header_only(message_header header) {
  header.coding = message_coding::ternary;
  header.thresholds = header.blocks = 0;
  header.multiples = header.payload_bytes = 0;
  auto const bytes = writer_.write_plain(isa_, header, 0, [](std::byte*) {});
  report_ = {.elements = header.elements, .bytes = bytes.size()};
  return bytes;
}

void message_codec::read(message_view const& message, detail::message_reader& elements) const {
  if (message.header.kind != message_kind::sparse) return;
  if (device_passes_ && device_passes_->read(side_of(elements), message)) return;
  // Without device passes, this call reads the elements. With device passes, the device has rejected the
  // message, and this call throws the detailed error.
  elements.read(message, workers_);
  if (device_passes_)
    detail::refuse_message("codes", "codes that match the block table", "codes that do not match");
}

void message_codec::add(message_view const& message, detail::message_reader const& elements, float scale,
                        float* dense) const {
  if (message.header.kind != message_kind::sparse) return;
  if (!device_passes_) return detail::add_blocks(message, elements, table_, scale, dense, workers_);
  std::uint64_t const all[]{table_.elements()};
  device_passes_->add(side_of(elements), message,
                      message.header.thresholds == 1 ? std::span<std::uint64_t const>(all) : table_.ends(),
                      scale, dense);
}

void message_codec::require_shape(char const* what, std::size_t got) const {
  if (got != table_.elements())
    throw shape_error({.what = "an array does not match the tensor table",
                       .where = what,
                       .expected = {table_.elements(), " elements"},
                       .got = {got, " elements"}});
}

threshold_device::side message_codec::side_of(detail::message_reader const& elements) const {
  return &elements == &reader_ ? threshold_device::side::lower : threshold_device::side::upper;
}

message_header message_codec::merged_header(message_header const& lower, message_header const& upper) {
  if (lower.step != upper.step)
    throw data_error({.what = "cannot merge messages of different steps",
                      .where = {"message of rank ", upper.rank},
                      .expected = {"step ", lower.step},
                      .got = {"step ", upper.step}});
  if (std::uint64_t{lower.rank} + lower.ranks != upper.rank)
    throw data_error(
        {.what = "cannot merge messages of ranks that are not neighbours",
         .where = {"message of rank ", lower.rank},
         .expected = {"a second message that begins with rank ", std::uint64_t{lower.rank} + lower.ranks},
         .got = {"rank ", upper.rank}});
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

std::span<std::byte const> message_codec::copy_with_header(message_header header,
                                                           std::span<std::byte const> message) {
  message_header theirs;
  std::memcpy(static_cast<void*>(&theirs), message.data(), sizeof theirs);
  header.coding = theirs.coding;
  header.payload_bytes = theirs.payload_bytes;
  header.multiples = theirs.multiples;
  header.thresholds = theirs.thresholds;
  header.blocks = theirs.blocks;
  std::span<std::byte const> const body = message.subspan(sizeof theirs);
  auto const bytes = writer_.write_plain(isa_, header, body.size(),
                                         [&](std::byte* to) { std::memcpy(to, body.data(), body.size()); });
  report_ = {.elements = header.elements, .bytes = bytes.size()};
  return bytes;
}

}  // namespace cohort
