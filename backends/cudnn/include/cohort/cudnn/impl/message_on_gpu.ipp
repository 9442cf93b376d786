// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/cudnn/detail/message_on_gpu.hpp>
#include <cstddef>
#include <cstring>

namespace cohort::detail {

message_on_gpu::message_on_gpu(std::shared_ptr<compute_stream> on)
    : on_(std::move(on)),
      thresholds_(on_),
      blocks_(on_),
      codes_(on_),
      list_(on_),
      wrong_(on_),
      values_(on_),
      added_(on_),
      multiples_(on_) {}

bool message_on_gpu::read(message_view const& message) {
  std::size_t const count = message.header.blocks;
  std::uint64_t start = 0;
  host_blocks_.resize(count);
  for (std::size_t b = 0; b < count; ++b) {
    block_entry const entry = message.block(b);
    host_blocks_[b] = {.bit = entry.bit(),
                       .end = message.end_of_block(b),
                       .start = start,
                       .count = entry.count(),
                       .length = static_cast<unsigned>(message.length(b)),
                       .bitmap = entry.bitmap() ? 1U : 0U,
                       .slack = b + 1 == count ? 7U : 0U};
    start += entry.count();
  }
  blocks_.upload(host_blocks_);
  list_.resize(static_cast<std::size_t>(start));
  std::span<std::byte const> const codes = message.codes();
  words_.assign(codes.size() / sizeof(unsigned) + 3, 0);
  if (!codes.empty()) std::memcpy(words_.data(), codes.data(), codes.size());
  codes_.upload(words_);
  wrong_.resize(1);
  wrong_.clear();
  on_->launch(kernels::read_codes{blocks_.data(), codes_.data(), list_.data(), wrong_.data()}, count);
  unsigned wrong = 0;
  wrong_.download({&wrong, 1});
  return wrong == 0;
}

void message_on_gpu::add(message_view const& message, std::span<std::uint64_t const> ends, float scale,
                         float* to) {
  bool const ternary = message.header.coding == message_coding::ternary;
  kernels::listed_message from{blocks_.data(), list_.data(), {}};
  if (ternary) {
    from.thresholds =
        thresholds_.upload(ends, [&](std::size_t k) { return message.threshold(k).value() * scale; });
  } else {
    numbers_.resize(list_.size());
    for (std::size_t k = 0; k < numbers_.size(); ++k) numbers_[k] = message.value(k) * scale;
    values_.upload(numbers_);
  }
  on_->launch(kernels::add_message{from, ternary ? nullptr : values_.data(), to}, 64 * blocks_.size());
  if (message.header.multiples == 0) return;
  sums_.resize(static_cast<std::size_t>(message.header.multiples));
  for (std::size_t m = 0; m < sums_.size(); ++m) {
    sent_multiple const one = message.multiple(m);
    auto const k = std::upper_bound(ends.begin(), ends.end(), one.index) - ends.begin();
    float const t = message.threshold(static_cast<std::size_t>(k)).value();
    sums_[m] = {one.index, static_cast<float>(one.multiple * double{t}) * scale};
  }
  added_.upload(sums_);
  on_->launch(kernels::add_values{added_.data(), to}, sums_.size());
}

kernels::merged_message message_on_gpu::merged(message_view const& message,
                                               std::span<std::uint64_t const> ends) {
  auto const count = static_cast<std::size_t>(message.header.multiples);
  host_multiples_.resize(count);
  for (std::size_t m = 0; m < count; ++m) {
    sent_multiple const one = message.multiple(m);
    host_multiples_[m] = {one.index, one.multiple};
  }
  multiples_.upload(host_multiples_);
  auto const t = thresholds_.upload(ends, [&](std::size_t k) { return message.threshold(k).value(); });
  return {{blocks_.data(), list_.data(), t}, multiples_.data(), count};
}

}  // namespace cohort::detail
