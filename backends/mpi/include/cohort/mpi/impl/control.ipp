// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/communicator/detail/stall_report.hpp>
#include <cohort/detail/config.hpp>
#include <cohort/mpi/detail/control.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

COHORT_MPI_INLINE mpi_control::mpi_control(MPI_Comm original, std::chrono::milliseconds heartbeat,
                                           std::chrono::milliseconds patience)
    : channel_(original, patience),
      heartbeat_(heartbeat),
      last_round_(clock::now()),
      next_beat_(last_round_) {
  int size = 0;
  mpi_call(MPI_Comm_rank(channel_.get(), &rank_), "MPI_Comm_rank");
  mpi_call(MPI_Comm_size(channel_.get(), &size), "MPI_Comm_size");
  last_beat_to_ = rank_;
  peers_.resize(static_cast<std::size_t>(size));
  auto const longest = std::max(longest_text, peers_.size() * sizeof(rank_entry));
  for (int r = 0; r < size; ++r) {
    if (r == rank_) continue;
    at(r).buffer.resize(longest);
    post_receive(r);
  }
}

COHORT_MPI_INLINE mpi_control::~mpi_control() {
  // MPI may still access the buffers.
  if (!finished()) leak();
}

COHORT_MPI_INLINE void mpi_control::note(rank_progress here) noexcept {
  std::lock_guard const hold(mutex_);
  here_ = here;
  ++note_count_;
}

COHORT_MPI_INLINE void mpi_control::note_wait(int waits_for) noexcept {
  waits_for_ = waits_for;
  ++note_count_;
}

COHORT_MPI_INLINE void mpi_control::announce(std::string const& why) noexcept {
  std::lock_guard const hold(mutex_);
  if (announcement_) return;
  announcement_ = why.substr(0, longest_text);
  if (!trouble_) trouble_ = announcement_;
  delivered_ = false;
}

COHORT_MPI_INLINE std::optional<std::string> mpi_control::trouble() const {
  std::lock_guard const hold(mutex_);
  return trouble_;
}

COHORT_MPI_INLINE void mpi_control::wait_for_delivery() const {
  auto const end = clock::now() + longest_delivery;
  while (!delivered() && !stopped_ && clock::now() < end) sleep_between_polls();
}

COHORT_MPI_INLINE void mpi_control::make_progress() {
  if (clock::now() - last_round_ >= poll_interval) poll_once();
}

COHORT_MPI_INLINE std::vector<rank_status> mpi_control::query_ranks(std::chrono::milliseconds patience) {
  auto const end = clock::now() + patience;
  poll_once();
  for (int r = 0; r < size(); ++r) at(r).answers = r == rank_ || patience.count() == 0;
  if (patience.count() > 0) guard([this] { send_to_all(tag::question, progress_table()); });
  auto const answered = [](peer const& one) { return one.answers || one.left; };
  while (!std::all_of(peers_.begin(), peers_.end(), answered) && clock::now() < end) {
    sleep_between_polls();
    poll_once();
  }
  std::vector<rank_status> all;
  for (auto const& one : peers_) all.push_back({one.answers, one.left, one.where, one.waits_for});
  return all;
}

COHORT_MPI_INLINE void mpi_control::leave() noexcept {
  guard([this] { send_to_all(tag::farewell, progress_table()); });
  at(rank_).left = true;
}

COHORT_MPI_INLINE bool mpi_control::wait_for_farewells(std::chrono::milliseconds limit) {
  auto const end = clock::now() + limit;
  for (; !finished(); sleep_between_polls(poll_interval)) {
    if (clock::now() >= end || trouble()) stop();
    if (stopped_) return false;
    make_progress();
  }
  return true;
}

COHORT_MPI_INLINE void mpi_control::leak() {
  struct kept {
    std::vector<peer> peers;
    std::vector<message> sent;
  };
  static std::mutex mutex;
  static auto& all = *new std::vector<kept>;
  std::lock_guard const lock(mutex);
  all.push_back({std::move(peers_), std::move(sent_)});
}

COHORT_MPI_INLINE bool mpi_control::finished() const {
  return sent_.empty() && std::all_of(peers_.begin(), peers_.end(), [](peer const& one) { return one.left; });
}

COHORT_MPI_INLINE void mpi_control::poll_once() noexcept {
  if (!stopped_) guard([this] { exchange(); });
}

COHORT_MPI_INLINE void mpi_control::exchange() {
  auto const now = clock::now();
  listened_ += std::min<clock::duration>(now - last_round_, heartbeat_ / 4);
  last_round_ = now;
  for (int r = 0; r < size(); ++r) guard([&] { receive(r); });
  guard([&] { free_completed_sends(); });
  announce_failure();
  if (!at(rank_).left) beat(now);
  detect_lost_ranks();
}

COHORT_MPI_INLINE void mpi_control::beat(clock::time_point now) {
  auto const others = size() - 1;
  for (int k = 0; k < others && now >= next_beat_; ++k) {
    next_beat_ += std::min<clock::duration>(longest_beat_interval, heartbeat_ / (4 * others));
    last_beat_to_ = (last_beat_to_ + 1) % size();
    if (last_beat_to_ == rank_) last_beat_to_ = (last_beat_to_ + 1) % size();
    send_once(last_beat_to_, tag::beat, progress_table());
  }
  next_beat_ = std::max(next_beat_, now);
}

COHORT_MPI_INLINE void mpi_control::post_receive(int r) {
  auto& one = at(r);
  mpi_call(MPI_Irecv(one.buffer.data(), static_cast<int>(one.buffer.size()), MPI_BYTE, r, MPI_ANY_TAG,
                     channel_.get(), &one.request),
           "MPI_Irecv");
}

COHORT_MPI_INLINE void mpi_control::receive(int r) {
  while (expects_messages(r)) {
    int done = 0;
    MPI_Status status;
    mpi_call(MPI_Test(&at(r).request, &done, &status), "MPI_Test");
    if (!done) break;
    int bytes = 0;
    mpi_call(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    handle_message(r, static_cast<tag>(status.MPI_TAG), static_cast<std::size_t>(bytes));
    if (expects_messages(r)) post_receive(r);
  }
}

COHORT_MPI_INLINE void mpi_control::handle_message(int r, tag what, std::size_t bytes) {
  auto& one = at(r);
  one.last_heard = listened_;
  one.answers = true;
  switch (what) {
    case tag::failure:
      one.announced = another_rank_failed_ = true;
      set_trouble(std::string(reinterpret_cast<char const*>(one.buffer.data()), bytes));
      break;
    case tag::farewell:
    case tag::question:
    case tag::beat:
      for (std::size_t i = 0; i < std::min(peers_.size(), bytes / sizeof(rank_entry)); ++i) {
        rank_entry there{};
        std::memcpy(&there, one.buffer.data() + i * sizeof(rank_entry), sizeof(rank_entry));
        if (there.note_count <= peers_[i].note_count) continue;
        peers_[i].note_count = there.note_count;
        peers_[i].where = there.where;
        peers_[i].waits_for = static_cast<int>(there.waits_for);
      }
      one.left = what == tag::farewell;
      if (what == tag::question && !at(rank_).left) send(r, tag::beat, progress_table());
  }
}

COHORT_MPI_INLINE std::vector<char> mpi_control::progress_table() {
  {
    std::lock_guard const hold(mutex_);
    at(rank_).where = here_;
    at(rank_).note_count = note_count_;
    at(rank_).waits_for = waits_for_;
  }
  std::vector<char> bytes(peers_.size() * sizeof(rank_entry));
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    rank_entry const there{peers_[i].note_count, peers_[i].where, peers_[i].waits_for};
    std::memcpy(bytes.data() + i * sizeof(rank_entry), &there, sizeof(rank_entry));
  }
  return bytes;
}

COHORT_MPI_INLINE void mpi_control::send_to_all(tag what, std::vector<char> const& bytes) {
  for (int r = 0; r < size(); ++r)
    if (r != rank_) send_once(r, what, bytes);
}

COHORT_MPI_INLINE void mpi_control::send_once(int to, tag what, std::vector<char> const& bytes) {
  if (std::none_of(sent_.begin(), sent_.end(),
                   [&](message const& one) { return one.to == to && one.what == what; }))
    send(to, what, bytes);
}

COHORT_MPI_INLINE void mpi_control::send(int to, tag what, std::vector<char> const& bytes) {
  sent_.push_back({to, what, bytes, MPI_REQUEST_NULL});
  auto& one = sent_.back();
  bool const lasting = what == tag::failure || what == tag::farewell;
  guard([&] {
    mpi_call(
        (lasting ? MPI_Issend : MPI_Isend)(one.bytes.data(), static_cast<int>(one.bytes.size()), MPI_BYTE, to,
                                           static_cast<int>(what), channel_.get(), &one.request),
        lasting ? "MPI_Issend" : "MPI_Isend");
  });
}

COHORT_MPI_INLINE void mpi_control::free_completed_sends() {
  int worst = MPI_SUCCESS;
  std::erase_if(sent_, [&](message& one) {  // must not throw, since a partial erase would duplicate a request
    int done = 0;
    int const code = MPI_Test(&one.request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) worst = code;
    return done != 0 || code != MPI_SUCCESS;
  });
  mpi_call(worst, "MPI_Test");
}

COHORT_MPI_INLINE void mpi_control::announce_failure() {
  if (delivered_) return;
  if (!announced_) {
    announced_ = true;
    std::string why;
    {
      std::lock_guard const hold(mutex_);
      why = *announcement_;
    }
    send_to_all(tag::failure, {why.begin(), why.end()});
  }
  delivered_ = std::none_of(sent_.begin(), sent_.end(), [&](message const& one) {
    return one.what == tag::failure && !at(one.to).announced && !at(one.to).lost;
  });
}

COHORT_MPI_INLINE void mpi_control::set_trouble(std::string why) {
  std::lock_guard const hold(mutex_);
  if (!trouble_) trouble_ = std::move(why);
}

COHORT_MPI_INLINE void mpi_control::detect_lost_ranks() {
  std::vector<int> silent;
  std::vector<rank_status> all(peers_.size());
  auto longest = clock::duration::zero(), shortest = clock::duration::max();
  for (int r = 0; r < size(); ++r) {
    auto const silence = listened_ - at(r).last_heard;
    if (!expects_messages(r) || at(r).lost || silence <= heartbeat_ * 3 / 4) continue;
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
