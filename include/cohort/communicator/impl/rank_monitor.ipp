// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/detail/rank_monitor.hpp>
#include <cohort/communicator/detail/stall_report.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

/// Time between two polls of a thread that waits.
inline constexpr std::chrono::microseconds time_between_polls{200};

rank_monitor::rank_monitor(int rank, int size, std::chrono::milliseconds heartbeat, time_source& time)
    : time_(time),
      heartbeat_(heartbeat),
      rank_(rank),
      peers_(static_cast<std::size_t>(size)),
      last_round_(time_.now()),
      next_beat_(last_round_),
      last_beat_to_(rank) {}

std::size_t rank_monitor::longest_message() const {
  return std::max(failure_report::longest, peers_.size() * sizeof(rank_entry));
}

void rank_monitor::note(rank_progress here) noexcept {
  std::lock_guard const hold(mutex_);
  here_ = here;
  ++note_count_;
}

void rank_monitor::note_wait(int waits_for) noexcept {
  waits_for_ = waits_for;
  ++note_count_;
}

void rank_monitor::announce(failure_report report) noexcept {
  std::lock_guard const hold(mutex_);
  if (trouble_) return;  // later failures are consequences of the first one
  report.text.resize(std::min(report.text.size(), failure_report::longest_text));
  trouble_ = report;
  announcement_ = std::move(report);
  delivered_ = false;
}

void rank_monitor::accept(failure_report report) {
  std::lock_guard const hold(mutex_);
  if (trouble_) return;
  if (report.lost == std::vector{rank_}) {  // the other ranks no longer wait for this rank
    trouble_ = failure_report{text_of({"rank ", rank_, " was reported lost by other ranks: ", report.text})};
    return;
  }
  trouble_ = report;
  if (!shows_end()) return;
  announcement_ = std::move(report);
  forwards_ = true;
  delivered_ = false;
}

std::optional<failure_report> rank_monitor::trouble() const {
  std::lock_guard const hold(mutex_);
  return trouble_;
}

void rank_monitor::wait_for_delivery() const {
  auto const end = time_.now() + longest_delivery;
  while (!delivered() && !stopped_ && time_.now() < end) time_.let_pass(time_between_polls);
}

void rank_monitor::make_progress() {
  if (time_.now() - last_round_ >= poll_interval) poll_once();
}

std::vector<rank_status> rank_monitor::query_ranks(std::chrono::milliseconds patience) {
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

void rank_monitor::leave() noexcept {
  std::vector<std::byte> const table = progress_table();
  for (int r = 0; r < size(); ++r)
    if (r != rank_ && is_linked(r)) send_once(r, control_message::farewell, table);
  at(rank_).left = true;
}

bool rank_monitor::wait_for_farewells(std::chrono::milliseconds limit) {
  auto end = time_.now() + limit;
  for (bool fails = false; !finished(); time_.let_pass(poll_interval)) {
    if (!fails && trouble()) {
      fails = true;
      end = std::min<clock::time_point>(end, time_.now() + longest_delivery);
    }
    if (time_.now() >= end || (fails && delivered_)) stop();
    if (stopped_) return false;
    make_progress();
  }
  return true;
}

bool rank_monitor::finished() const {
  bool waits = is_sending() || !at(rank_).left;
  for (int r = 0; r < size(); ++r) waits = waits || expects_messages(r);
  return !waits;
}

void rank_monitor::report_lost(int r, std::string const& how) {
  if (at(r).ended_at) return;
  at(r).ended_at = listened_;
  at(r).ended_how = how;
}

void rank_monitor::announce_ended_ranks() {
  auto const grace = std::min<clock::duration>(longest_grace, heartbeat_ / 8);
  for (int r = 0; r < size(); ++r) {
    peer& one = at(r);
    if (!one.ended_at || listened_ - *one.ended_at < grace || one.left || one.announced
        || std::exchange(one.lost, true))
      continue;
    announce(
        {.text = text_of({"rank ", r, " ", one.ended_how, "; it was last ", describe_progress(one.where)}),
         .lost = {r}});
  }
}

void rank_monitor::poll_once() noexcept {
  if (!stopped_) guard([this] { exchange(); });
}

void rank_monitor::exchange() {
  auto const now = time_.now();
  listened_ += std::min<clock::duration>(now - last_round_, heartbeat_ / 4);
  last_round_ = now;
  // The silence of a rank counts from the last change of its link to this rank.
  for (int r = 0; r < size(); ++r)
    if (bool const linked = is_linked(r); linked != std::exchange(at(r).linked, linked))
      at(r).last_heard = listened_;
  for (int r = 0; r < size(); ++r) guard([&] { receive(r); });
  guard([&] { complete_sends(); });
  announce_ended_ranks();
  announce_failure();
  if (!at(rank_).left) beat(now);
  ask_silent_ranks();
  detect_lost_ranks();
}

void rank_monitor::beat(clock::time_point now) {
  auto const others = size() - 1;
  for (int k = 0; k < others && now >= next_beat_; ++k) {
    next_beat_ += beat_interval();
    last_beat_to_ = (last_beat_to_ + 1) % size();
    if (last_beat_to_ == rank_) last_beat_to_ = (last_beat_to_ + 1) % size();
    if (is_linked(last_beat_to_)) send_once(last_beat_to_, control_message::beat, progress_table());
  }
  next_beat_ = std::max(next_beat_, now);
}

void rank_monitor::handle(int from, control_message what, std::span<std::byte const> bytes) {
  peer& one = at(from);
  one.last_heard = listened_;
  one.last_message = listened_;
  one.answers = true;
  if (what == control_message::failure) {
    one.announced = another_rank_failed_ = true;
    return accept(failure_report::decoded(bytes));
  }
  for (std::size_t i = 0; i < std::min(peers_.size(), bytes.size() / sizeof(rank_entry)); ++i) {
    rank_entry there{};
    std::memcpy(&there, bytes.data() + i * sizeof(rank_entry), sizeof(rank_entry));
    bool const is_valid = there.where.doing <= rank_progress::activity::loading
                          && there.waits_for >= rank_status::nobody && there.waits_for < size();
    auto const r = static_cast<int>(i);
    if (is_valid && there.silence_ms >= 0 && r != rank_ && r != from) {
      clock::duration const ago = std::chrono::milliseconds(there.silence_ms);
      if (!peers_[i].heard_elsewhere || *peers_[i].heard_elsewhere < listened_ - ago)
        peers_[i].heard_elsewhere = listened_ - ago;
      if (ago > heartbeat_ / 4) peers_[i].asked_until = listened_ + heartbeat_ / 2;
    }
    if (!is_valid || there.note_count <= peers_[i].note_count) continue;
    peers_[i].note_count = there.note_count;
    peers_[i].where = there.where;
    peers_[i].waits_for = there.waits_for;
  }
  one.left = one.left || what == control_message::farewell;
  if (what == control_message::question && !at(rank_).left)
    send(from, control_message::beat, progress_table());
}

std::vector<std::byte> rank_monitor::progress_table() {
  {
    std::lock_guard const hold(mutex_);
    at(rank_).where = here_;
    at(rank_).note_count = note_count_;
    at(rank_).waits_for = waits_for_;
  }
  std::vector<std::byte> bytes(peers_.size() * sizeof(rank_entry));
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    auto const r = static_cast<int>(i);
    bool const is_awaited = expects_messages(r) && peers_[i].linked;
    clock::duration const silent = is_awaited               ? silence(r)
                                   : peers_[i].last_message ? listened_ - *peers_[i].last_message
                                                            : clock::duration(-1);
    auto const ms = std::chrono::floor<std::chrono::milliseconds>(silent).count();
    rank_entry const there{peers_[i].note_count, peers_[i].where, peers_[i].waits_for,
                           static_cast<std::int32_t>(std::min<std::int64_t>(ms, 1 << 30))};
    std::memcpy(bytes.data() + i * sizeof(rank_entry), &there, sizeof(rank_entry));
  }
  return bytes;
}

void rank_monitor::send_to_all(control_message what, std::span<std::byte const> bytes) {
  for (int r = 0; r < size(); ++r)
    if (r != rank_) send_once(r, what, bytes);
}

void rank_monitor::send_once(int to, control_message what, std::span<std::byte const> bytes) {
  if (!is_sending(to, what)) guard([&] { send(to, what, bytes); });
}

void rank_monitor::announce_failure() {
  if (delivered_) return;
  if (!std::exchange(announced_, true)) {
    std::vector<std::byte> report;
    {
      std::lock_guard const hold(mutex_);
      report = announcement_->encoded();
    }
    for (int r = 0; r < size(); ++r)
      if (r != rank_ && (!forwards_ || (is_linked(r) && !at(r).announced)))
        send_once(r, control_message::failure, report);
  }
  bool waits = false;
  for (int r = 0; r < size(); ++r)
    waits = waits || (is_sending(r, control_message::failure) && !at(r).announced && !at(r).lost);
  delivered_ = !waits;
}

void rank_monitor::asked(int from, int silent) {
  handle(from, control_message::beat, {});
  if (silent != rank_) at(silent).asked_until = listened_ + heartbeat_ / 2;
}

void rank_monitor::ask_silent_ranks() {
  int missed = -1;
  bool hears_linked = false;  // whether a linked rank, which receives this rank's beats, is not silent
  for (int r = 0; r < size(); ++r) {
    if (!expects_messages(r) || !at(r).linked) continue;
    bool const is_silent = silence(r) > heartbeat_ / 4;
    hears_linked = hears_linked || !is_silent;
    if (!is_silent) continue;
    missed = r;
    at(r).asked_until = listened_ + heartbeat_ / 4;
  }
  for (int k = 1; k < size(); ++k) {
    int const r = (rank_ + k) % size();
    if (at(r).left || at(r).ended_at) continue;
    if (listened_ < at(r).asked_until && !has_heard(r, 4))
      ask(r, r);
    else if (missed >= 0 && !hears_linked && k <= most_asked)
      ask(r, missed);
  }
}

std::string rank_monitor::describe_silence(std::span<int const> silent, clock::duration shortest) const {
  std::vector<rank_status> all(peers_.size());
  for (int const r : silent) all[static_cast<std::size_t>(r)].where = at(r).where;
  auto const tenths = shortest / std::chrono::milliseconds(100);
  std::string text;
  for (ranks_with_status const& s : group_by_status(all, silent)) {
    bool const one = s.ranks.size() == 1;
    text += text_of({text.empty() ? "" : "; ", named_ranks(s.ranks), one ? " has" : " have",
                     " sent no heartbeat for ", tenths / 10, ".", tenths % 10, " s; ",
                     one ? "it was" : "they were", " last ", describe_progress(s.what.where)});
  }
  return text;
}

void rank_monitor::detect_lost_ranks() {
  std::vector<int> silent, unreachable;  // unreachable: silent only to this rank
  auto longest = clock::duration::zero(), shortest = clock::duration::max();
  int others = 0;
  bool hears_somebody = false;
  for (int r = 0; r < size(); ++r) {
    others += r != rank_ && !at(r).left;
    hears_somebody = hears_somebody || has_heard(r, 2);
    if (!expects_messages(r) || !at(r).linked || at(r).lost || at(r).ended_at) continue;
    if (silence(r) <= heartbeat_ * 3 / 4) continue;
    bool const others_hear = at(r).heard_elsewhere && listened_ - *at(r).heard_elsewhere < heartbeat_ / 2;
    (others_hear ? unreachable : silent).push_back(r);
    longest = std::max(longest, silence(r));
    shortest = std::min(shortest, silence(r));
  }
  if (longest <= longest_silence()) return;
  failure_report report{.lost = silent};
  if (!hears_somebody && others > 1) {
    report.lost = {rank_};
    std::vector<int> missed(silent);
    missed.insert(missed.end(), unreachable.begin(), unreachable.end());
    std::ranges::sort(missed);
    auto const tenths = shortest / std::chrono::milliseconds(100);
    report.text = text_of({"rank ", rank_, " is cut off from ", named_ranks(missed),
                           ", or they are lost: no heartbeat for ", tenths / 10, ".", tenths % 10, " s"});
  } else {
    report.text = describe_silence(silent, shortest);
    for (int const r : unreachable) {
      report.lost.push_back(r);
      report.lost.push_back(rank_);
      report.text +=
          text_of({report.text.empty() ? "" : "; ", "ranks ", std::min(r, rank_), " and ", std::max(r, rank_),
                   " cannot exchange messages, but other ranks can reach both"});
    }
  }
  for (std::vector<int> const& all : {silent, unreachable})
    for (int const r : all) at(r).lost = true;
  announce(std::move(report));
}

}  // namespace cohort::detail
