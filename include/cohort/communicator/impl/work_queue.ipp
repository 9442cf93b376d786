// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/detail/work_queue.hpp>
#include <span>
#include <utility>

namespace cohort::detail {

inline constexpr int work_queue_tag = 0;

work_queue::work_queue(communicator& world, std::int64_t items)
    : world_(world.size() > 1 ? world.duplicate() : nullptr),
      items_(items),
      interval_(std::min<clock::duration>(std::chrono::seconds(1), world.settings().deadline / 4)),
      joined_(static_cast<std::size_t>(world.size()), false) {}

work_queue::~work_queue() {
  try {
    finish_sends(true);
  } catch (...) {  // a poisoned communicator no longer reads the messages
  }
}

std::optional<std::int64_t> work_queue::next() {
  if (!make_progress()) return {};
  if (is_root()) return next_item_ < items_ ? std::optional(next_item_++) : std::nullopt;
  send(0, word::request);
  while (true) {
    auto const [what, item] = receive(world_->wait_for_message(0, work_queue_tag));
    if (what == word::item) return item;
    if (what == word::none) return {};
    if (what == word::stop) {
      failed_ = true;
      return {};
    }
  }
}

bool work_queue::make_progress() {
  if (!world_) return !failed_;
  int const from = is_root() ? communicator::any_source : 0;
  while (auto const next = world_->probe(from, work_queue_tag))
    if (receive(*next).first == word::stop) failed_ = true;
  keep_alive();
  finish_sends(false);
  return !failed_;
}

bool work_queue::join(bool failed) {
  if (!world_) return !(failed_ = failed_ || failed);
  if (is_root()) {
    if (failed) fail();
    while (joined_ranks_ < world_->size() - 1) {
      receive(world_->wait_for_message(communicator::any_source, work_queue_tag));
      make_progress();
    }
    return !failed_;
  }
  send(0, failed ? word::failed : word::done);
  while (true) {
    auto const [what, any_failed] = receive(world_->wait_for_message(0, work_queue_tag));
    if (what != word::over) continue;
    finish_sends(true);
    return any_failed == 0;
  }
}

void work_queue::release() {
  if (!world_ || !is_root()) return;
  for (int rank = 1; rank < world_->size(); ++rank) send(rank, word::over, failed_ ? 1 : 0);
  finish_sends(true);
}

void work_queue::send(int to, word what, std::int64_t item) {
  message& next = sent_.emplace_back();
  next.words = {static_cast<std::int64_t>(what), item};
  next.sending = world_->start_send(std::as_bytes(std::span(next.words)), to, work_queue_tag);
  if (!is_root()) last_sign_ = clock::now();
}

std::pair<work_queue::word, std::int64_t> work_queue::receive(arrival const& from) {
  std::array<std::int64_t, 2> words{};
  world_->receive(std::as_writable_bytes(std::span(words)), from.from, work_queue_tag);
  auto const what = static_cast<word>(words[0]);
  if (is_root()) handle(from.from, what);
  return {what, words[1]};
}

void work_queue::handle(int from, word what) {
  if (what == word::request) {
    if (failed_)
      send(from, word::stop);
    else if (next_item_ < items_)
      send(from, word::item, next_item_++);
    else
      send(from, word::none);
  } else if (what == word::failed || what == word::done) {
    joined_[static_cast<std::size_t>(from)] = true;
    ++joined_ranks_;
    if (what == word::failed) fail();
  }
}

void work_queue::fail() {
  if (std::exchange(failed_, true)) return;
  for (int rank = 1; rank < world_->size(); ++rank)
    if (!joined_[static_cast<std::size_t>(rank)]) send(rank, word::stop);
}

void work_queue::keep_alive() {
  if (clock::now() - last_sign_ < interval_) return;
  last_sign_ = clock::now();
  if (!is_root()) {
    send(0, word::alive);
    return;
  }
  for (int rank = 1; rank < world_->size(); ++rank)
    if (joined_[static_cast<std::size_t>(rank)]) send(rank, word::alive);
}

void work_queue::finish_sends(bool all) {
  while (!sent_.empty()) {
    if (all)
      sent_.front().sending.wait();
    else if (!sent_.front().sending.done())
      return;
    sent_.pop_front();
  }
}

}  // namespace cohort::detail
