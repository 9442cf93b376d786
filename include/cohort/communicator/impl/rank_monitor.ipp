// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/rank_monitor.hpp>
#include <cohort/communicator/detail/stall_report.hpp>
#include <cohort/detail/config.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

/// Time between two polls of a thread that waits.
inline constexpr std::chrono::microseconds time_between_polls{200};

COHORT_CORE_INLINE rank_monitor::rank_monitor(int rank, int size, std::chrono::milliseconds heartbeat,
                                              time_source& time)
    : time_(time),
      heartbeat_(heartbeat),
      rank_(rank),
      peers_(static_cast<std::size_t>(size)),
      last_round_(time_.now()),
      next_beat_(last_round_),
      last_beat_to_(rank) {}

COHORT_CORE_INLINE std::size_t rank_monitor::longest_message() const {
  return std::max(1 + longest_text, peers_.size() * sizeof(rank_entry));
}

COHORT_CORE_INLINE void rank_monitor::note(rank_progress here) noexcept {
  std::lock_guard const hold(mutex_);
  here_ = here;
  ++note_count_;
}

COHORT_CORE_INLINE void rank_monitor::note_wait(int waits_for) noexcept {
  waits_for_ = waits_for;
  ++note_count_;
}

COHORT_CORE_INLINE void rank_monitor::announce(failure_report const& why) noexcept {
  std::lock_guard const hold(mutex_);
  if (announcement_) return;
  announcement_.emplace(why.substr(0, longest_text), why.exit_status);
  if (!trouble_) trouble_ = announcement_;
  delivered_ = false;
}

COHORT_CORE_INLINE std::optional<failure_report> rank_monitor::trouble() const {
  std::lock_guard const hold(mutex_);
  return trouble_;
}

COHORT_CORE_INLINE void rank_monitor::wait_for_delivery() const {
  auto const end = time_.now() + longest_delivery;
  while (!delivered() && !stopped_ && time_.now() < end) time_.let_pass(time_between_polls);
}

COHORT_CORE_INLINE void rank_monitor::make_progress() {
  if (time_.now() - last_round_ >= poll_interval) poll_once();
}

COHORT_CORE_INLINE std::vector<rank_status> rank_monitor::query_ranks(std::chrono::milliseconds patience) {
  auto const end = time_.now() + patience;
  poll_once();
  for (int r = 0; r < size(); ++r) at(r).answers = r == rank_ || patience.count() == 0;
  if (patience.count() > 0) guard([this] { send_to_all(control_message::question, progress_table()); });
  auto const answered = [](peer const& one) { return one.answers || one.left; };
  while (!std::all_of(peers_.begin(), peers_.end(), answered) && time_.now() < end) {
    time_.let_pass(time_between_polls);
    poll_once();
  }
  std::vector<rank_status> all;
  for (auto const& one : peers_) all.push_back({one.answers, one.left, one.where, one.waits_for});
  return all;
}

COHORT_CORE_INLINE void rank_monitor::leave() noexcept {
  std::vector<std::byte> const table = progress_table();
  for (int r = 0; r < size(); ++r)
    if (r != rank_ && is_linked(r)) send_once(r, control_message::farewell, table);
  at(rank_).left = true;
}

COHORT_CORE_INLINE bool rank_monitor::wait_for_farewells(std::chrono::milliseconds limit) {
  auto const end = time_.now() + limit;
  for (; !finished(); time_.let_pass(poll_interval)) {
    if (time_.now() >= end || trouble()) stop();
    if (stopped_) return false;
    make_progress();
  }
  return true;
}

COHORT_CORE_INLINE bool rank_monitor::finished() const {
  bool waits = is_sending() || !at(rank_).left;
  for (int r = 0; r < size(); ++r) waits = waits || expects_messages(r);
  return !waits;
}

COHORT_CORE_INLINE void rank_monitor::report_lost(int r, std::string const& how) {
  if (at(r).left || at(r).announced || std::exchange(at(r).lost, true)) return;
  announce(text_of({"rank ", r, " ", how, "; it was last ", describe_progress(at(r).where)}));
}

COHORT_CORE_INLINE void rank_monitor::poll_once() noexcept {
  if (!stopped_) guard([this] { exchange(); });
}

COHORT_CORE_INLINE void rank_monitor::exchange() {
  auto const now = time_.now();
  listened_ += std::min<clock::duration>(now - last_round_, heartbeat_ / 4);
  last_round_ = now;
  // A rank is silent since the time when it began to exchange messages with this one.
  for (int r = 0; r < size(); ++r)
    if (bool const linked = is_linked(r); linked != std::exchange(at(r).linked, linked))
      at(r).last_heard = listened_;
  for (int r = 0; r < size(); ++r) guard([&] { receive(r); });
  guard([&] { complete_sends(); });
  announce_failure();
  if (!at(rank_).left) beat(now);
  detect_lost_ranks();
}

COHORT_CORE_INLINE void rank_monitor::beat(clock::time_point now) {
  auto const others = size() - 1;
  for (int k = 0; k < others && now >= next_beat_; ++k) {
    next_beat_ += std::min<clock::duration>(longest_beat_interval, heartbeat_ / (4 * others));
    last_beat_to_ = (last_beat_to_ + 1) % size();
    if (last_beat_to_ == rank_) last_beat_to_ = (last_beat_to_ + 1) % size();
    if (is_linked(last_beat_to_)) send_once(last_beat_to_, control_message::beat, progress_table());
  }
  next_beat_ = std::max(next_beat_, now);
}

COHORT_CORE_INLINE void rank_monitor::handle(int from, control_message what,
                                             std::span<std::byte const> bytes) {
  peer& one = at(from);
  one.last_heard = listened_;
  one.answers = true;
  if (what == control_message::failure) {
    one.announced = another_rank_failed_ = true;
    if (bytes.empty())
      return set_trouble({text_of({"rank ", from, " has sent an empty report of a failure"})});
    std::span const text = bytes.subspan(1);
    return set_trouble({std::string(reinterpret_cast<char const*>(text.data()), text.size()),
                        std::to_integer<int>(bytes[0])});
  }
  for (std::size_t i = 0; i < std::min(peers_.size(), bytes.size() / sizeof(rank_entry)); ++i) {
    rank_entry there{};
    std::memcpy(&there, bytes.data() + i * sizeof(rank_entry), sizeof(rank_entry));
    bool const is_valid = there.where.doing <= rank_progress::activity::loading
                          && there.waits_for >= rank_status::nobody && there.waits_for < size();
    if (!is_valid || there.note_count <= peers_[i].note_count) continue;
    peers_[i].note_count = there.note_count;
    peers_[i].where = there.where;
    peers_[i].waits_for = static_cast<int>(there.waits_for);
  }
  one.left = what == control_message::farewell;
  if (what == control_message::question && !at(rank_).left)
    send(from, control_message::beat, progress_table());
}

COHORT_CORE_INLINE std::vector<std::byte> rank_monitor::progress_table() {
  {
    std::lock_guard const hold(mutex_);
    at(rank_).where = here_;
    at(rank_).note_count = note_count_;
    at(rank_).waits_for = waits_for_;
  }
  std::vector<std::byte> bytes(peers_.size() * sizeof(rank_entry));
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    rank_entry const there{peers_[i].note_count, peers_[i].where, peers_[i].waits_for};
    std::memcpy(bytes.data() + i * sizeof(rank_entry), &there, sizeof(rank_entry));
  }
  return bytes;
}

COHORT_CORE_INLINE void rank_monitor::send_to_all(control_message what, std::span<std::byte const> bytes) {
  for (int r = 0; r < size(); ++r)
    if (r != rank_) send_once(r, what, bytes);
}

COHORT_CORE_INLINE void rank_monitor::send_once(int to, control_message what,
                                                std::span<std::byte const> bytes) {
  if (!is_sending(to, what)) guard([&] { send(to, what, bytes); });
}

COHORT_CORE_INLINE void rank_monitor::announce_failure() {
  if (delivered_) return;
  if (!announced_) {
    announced_ = true;
    std::string why;
    {
      std::lock_guard const hold(mutex_);
      why = static_cast<char>(announcement_->exit_status) + *announcement_;
    }
    send_to_all(control_message::failure, std::as_bytes(std::span(why)));
  }
  bool waits = false;
  for (int r = 0; r < size(); ++r)
    waits = waits || (is_sending(r, control_message::failure) && !at(r).announced && !at(r).lost);
  delivered_ = !waits;
}

COHORT_CORE_INLINE void rank_monitor::set_trouble(failure_report why) {
  std::lock_guard const hold(mutex_);
  if (!trouble_) trouble_ = std::move(why);
}

COHORT_CORE_INLINE void rank_monitor::detect_lost_ranks() {
  std::vector<int> silent;
  std::vector<rank_status> all(peers_.size());
  auto longest = clock::duration::zero(), shortest = clock::duration::max();
  for (int r = 0; r < size(); ++r) {
    auto const silence = listened_ - at(r).last_heard;
    if (!expects_messages(r) || !at(r).linked || at(r).lost || silence <= heartbeat_ * 3 / 4) continue;
    silent.push_back(r);
    all[static_cast<std::size_t>(r)].where = at(r).where;
    longest = std::max(longest, silence);
    shortest = std::min(shortest, silence);
  }
  if (longest <= heartbeat_) return;
  auto const tenths = shortest / std::chrono::milliseconds(100);
  std::string text;
  for (ranks_with_status const& s : group_by_status(all, silent)) {
    bool const one = s.ranks.size() == 1;
    text += text_of({text.empty() ? "" : "; ", named_ranks(s.ranks), one ? " has" : " have",
                     " sent no heartbeat for ", tenths / 10, ".", tenths % 10, " s; ",
                     one ? "it was" : "they were", " last ", describe_progress(s.what.where)});
  }
  for (int const r : silent) at(r).lost = true;
  announce(text);
}

}  // namespace cohort::detail
