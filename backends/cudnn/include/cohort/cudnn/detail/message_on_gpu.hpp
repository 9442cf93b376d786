// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/codec/message.hpp>
#include <cohort/cudnn/detail/gpu_list.hpp>
#include <cohort/cudnn/detail/threshold_table_on_gpu.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace cohort::detail {

/// The elements of a sparse message on a GPU, looked at before any of them is used.
///
/// Order     read; then add and merged, with the message that was read, as often as wanted.
/// Moves     to the GPU the message's codes and 40 bytes a block; its list there takes 4 bytes an element sent.
/// Exact     add: the sums of add_blocks.
class message_on_gpu {
 public:
  explicit message_on_gpu(std::shared_ptr<compute_stream> on)
      : on_(std::move(on)),
        thresholds_(on_),
        blocks_(on_),
        codes_(on_),
        list_(on_),
        wrong_(on_),
        values_(on_),
        added_(on_),
        multiples_(on_) {}

  /// False: its codes are not what the tables say.
  bool read(message_view const& message) {
    std::size_t const count = message.header.blocks;
    std::uint64_t start = 0;
    of_blocks_.resize(count);
    for (std::size_t b = 0; b < count; ++b) {
      block_entry const entry = message.block(b);
      of_blocks_[b] = {.bit = entry.bit(),
                       .end = message.end_of_block(b),
                       .start = start,
                       .count = entry.count(),
                       .length = static_cast<unsigned>(message.length(b)),
                       .bitmap = entry.bitmap() ? 1U : 0U,
                       .slack = b + 1 == count ? 7U : 0U};
      start += entry.count();
    }
    blocks_.bring(of_blocks_);
    list_.resize(static_cast<std::size_t>(start));
    std::span<std::byte const> const codes = message.codes();
    words_.assign(codes.size() / sizeof(unsigned) + 3, 0);
    if (!codes.empty()) std::memcpy(words_.data(), codes.data(), codes.size());
    codes_.bring(words_);
    wrong_.resize(1);
    wrong_.clear();
    on_->launch(kernels::read_codes{blocks_.data(), codes_.data(), list_.data(), wrong_.data()}, count);
    unsigned wrong = 0;
    wrong_.fetch({&wrong, 1});
    return wrong == 0;
  }

  /// to += scale · what it brings.
  void add(message_view const& message, std::span<std::uint64_t const> ends, float scale, float* to) {
    bool const ternary = message.header.coding == message_coding::ternary;
    kernels::listed_message from{blocks_.data(), list_.data(), {}};
    if (ternary) {
      from.thresholds =
          thresholds_.bring(ends, [&](std::size_t k) { return message.threshold(k).value() * scale; });
    } else {
      numbers_.resize(list_.size());
      for (std::size_t k = 0; k < numbers_.size(); ++k) numbers_[k] = message.value(k) * scale;
      values_.bring(numbers_);
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
    added_.bring(sums_);
    on_->launch(kernels::add_values{added_.data(), to}, sums_.size());
  }

  /// It, to be merged with another.
  kernels::merged_message merged(message_view const& message, std::span<std::uint64_t const> ends) {
    auto const count = static_cast<std::size_t>(message.header.multiples);
    far_.resize(count);
    for (std::size_t m = 0; m < count; ++m) {
      sent_multiple const one = message.multiple(m);
      far_[m] = {one.index, one.multiple};
    }
    multiples_.bring(far_);
    auto const t = thresholds_.bring(ends, [&](std::size_t k) { return message.threshold(k).value(); });
    return {{blocks_.data(), list_.data(), t}, multiples_.data(), count};
  }

 private:
  std::shared_ptr<compute_stream> on_;
  threshold_table_on_gpu thresholds_;
  gpu_list<kernels::coded_block> blocks_;
  gpu_list<unsigned> codes_;
  gpu_list<unsigned> list_;
  gpu_list<unsigned> wrong_;
  gpu_list<float> values_;
  gpu_list<kernels::element_value> added_;
  gpu_list<kernels::element_multiple> multiples_;

  std::vector<kernels::coded_block> of_blocks_;  // and below: what goes to the GPU
  std::vector<unsigned> words_;
  std::vector<float> numbers_;
  std::vector<kernels::element_value> sums_;
  std::vector<kernels::element_multiple> far_;
};

}  // namespace cohort::detail
