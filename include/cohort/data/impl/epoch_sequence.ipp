// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/epoch_sequence.hpp>
#include <cohort/data/detail/shuffle.hpp>
#include <cohort/random/stream.hpp>
#include <numeric>

namespace cohort::detail {

void epoch_sequence::start(epoch_settings const& settings) {
  settings_ = settings;
  window_ = -1;
  blocks_.clear();
  if (!settings_.shuffle) return;
  if (settings_.blocks.block == 0) {
    epoch_order(order_, settings_.seed, settings_.epoch, settings_.size, true, settings_.rank);
    if (settings_.bucket > 0)
      sort_in_buckets(order_, settings_.lengths, settings_.bucket, settings_.seed, settings_.epoch,
                      settings_.rank);
    return;
  }
  std::int64_t const block = settings_.blocks.block =
      std::clamp<std::int64_t>(settings_.blocks.block, 1, std::max<std::int64_t>(settings_.size, 1));
  blocks_.resize(static_cast<std::size_t>((settings_.size + block - 1) / block));
  std::iota(blocks_.begin(), blocks_.end(), std::int64_t{0});
  shuffle(blocks_, {settings_.seed, "blocks", static_cast<std::uint64_t>(settings_.epoch),
                    static_cast<std::uint64_t>(settings_.rank)});
  auto const last = std::find(blocks_.begin(), blocks_.end(), std::ssize(blocks_) - 1);
  short_block_place_ = last - blocks_.begin();
}

std::int64_t epoch_sequence::window_blocks() const {
  block_shuffle const& blocks = settings_.blocks;
  return blocks.window == 0 ? 64 : std::max<std::int64_t>(1, blocks.window / blocks.block);
}

std::int64_t epoch_sequence::window_begin(std::int64_t window) const {
  std::int64_t const block = settings_.blocks.block;
  std::int64_t const before = std::min(window * window_blocks(), std::ssize(blocks_));
  std::int64_t const missing = std::ssize(blocks_) * block - settings_.size;
  return before * block - (before > short_block_place_ ? missing : 0);
}

void epoch_sequence::shuffle_window(std::int64_t window) {
  order_.clear();
  std::int64_t const block = settings_.blocks.block, first = window * window_blocks();
  for (std::int64_t at = first; at < std::min(first + window_blocks(), std::ssize(blocks_)); ++at) {
    std::int64_t const begin = blocks_[static_cast<std::size_t>(at)] * block;
    for (std::int64_t i = begin; i < std::min(begin + block, settings_.size); ++i) order_.push_back(i);
  }
  auto const index = static_cast<std::uint64_t>(window) << 32 | static_cast<std::uint64_t>(settings_.rank);
  shuffle(order_, {settings_.seed, "window", static_cast<std::uint64_t>(settings_.epoch), index});
  window_ = window;
}

void epoch_sequence::copy(index_slice positions, std::vector<std::int64_t>& to) {
  to.resize(static_cast<std::size_t>(positions.count));
  if (!settings_.shuffle) return std::iota(to.begin(), to.end(), positions.first);
  if (blocks_.empty()) {
    std::copy_n(order_.begin() + positions.first, positions.count, to.begin());
    return;
  }
  std::int64_t const per_window = window_blocks() * settings_.blocks.block;
  std::int64_t at = positions.first, end = at + positions.count;
  for (auto out = to.begin(); at < end;) {
    std::int64_t window = at / per_window;
    if (at >= window_begin(window + 1)) ++window;  // the short block is in an earlier window
    if (window != window_) shuffle_window(window);
    std::int64_t const begin = window_begin(window), stop = std::min(end, window_begin(window + 1));
    out = std::copy(order_.begin() + (at - begin), order_.begin() + (stop - begin), out);
    at = stop;
  }
}

}  // namespace cohort::detail
