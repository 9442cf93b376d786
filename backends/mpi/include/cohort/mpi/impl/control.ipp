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
  last_told_ = rank_;
  peers_.resize(static_cast<std::size_t>(size));
  auto const longest = std::max(longest_text, peers_.size() * sizeof(place));
  for (int r = 0; r < size; ++r) {
    if (r == rank_) continue;
    at(r).buffer.resize(longest);
    listen(r);
  }
}

COHORT_MPI_INLINE mpi_control::~mpi_control() {
  // What MPI may still read or write stays where it is.
  if (!finished()) keep_for_ever();
}

COHORT_MPI_INLINE void mpi_control::note(rank_progress here) noexcept {
  std::lock_guard const hold(mutex_);
  here_ = here;
  ++notes_;
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
  while (!delivered() && !muted_ && clock::now() < end) nap();
}

COHORT_MPI_INLINE void mpi_control::move() {
  if (clock::now() - last_round_ >= round_every) round();
}

COHORT_MPI_INLINE std::vector<standing> mpi_control::ask(std::chrono::milliseconds patience) {
  auto const end = clock::now() + patience;
  round();
  for (int r = 0; r < size(); ++r) at(r).answers = r == rank_ || patience.count() == 0;
  if (patience.count() > 0) guard([this] { tell_all(tag::question, table()); });
  auto const answered = [](peer const& one) { return one.answers || one.left; };
  while (!std::all_of(peers_.begin(), peers_.end(), answered) && clock::now() < end) {
    nap();
    round();
  }
  std::vector<standing> all;
  for (auto const& one : peers_) all.push_back({one.answers, one.left, one.where});
  return all;
}

COHORT_MPI_INLINE void mpi_control::leave() noexcept {
  guard([this] { tell_all(tag::farewell, table()); });
  at(rank_).left = true;
}

COHORT_MPI_INLINE bool mpi_control::see_off(std::chrono::milliseconds limit) {
  auto const end = clock::now() + limit;
  for (; !finished(); nap(round_every)) {
    if (clock::now() >= end || trouble()) mute();
    if (muted_) return false;
    move();
  }
  return true;
}

COHORT_MPI_INLINE void mpi_control::keep_for_ever() {
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

COHORT_MPI_INLINE void mpi_control::round() noexcept {
  if (!muted_) guard([this] { exchange(); });
}

COHORT_MPI_INLINE void mpi_control::exchange() {
  auto const now = clock::now();
  listened_ += std::min<clock::duration>(now - last_round_, heartbeat_ / 4);
  last_round_ = now;
  for (int r = 0; r < size(); ++r) guard([&] { receive(r); });
  guard([&] { clear_sent(); });
  announce_failure();
  if (!at(rank_).left) beat(now);
  judge();
}

COHORT_MPI_INLINE void mpi_control::beat(clock::time_point now) {
  auto const others = size() - 1;
  for (int k = 0; k < others && now >= next_beat_; ++k) {
    next_beat_ += std::min<clock::duration>(longest_pause, heartbeat_ / (4 * others));
    last_told_ = (last_told_ + 1) % size();
    if (last_told_ == rank_) last_told_ = (last_told_ + 1) % size();
    send_once(last_told_, tag::beat, table());
  }
  next_beat_ = std::max(next_beat_, now);
}

COHORT_MPI_INLINE void mpi_control::listen(int r) {
  auto& one = at(r);
  mpi_call(MPI_Irecv(one.buffer.data(), static_cast<int>(one.buffer.size()), MPI_BYTE, r, MPI_ANY_TAG,
                     channel_.get(), &one.request),
           "MPI_Irecv");
}

COHORT_MPI_INLINE void mpi_control::receive(int r) {
  while (listens(r)) {
    int done = 0;
    MPI_Status status;
    mpi_call(MPI_Test(&at(r).request, &done, &status), "MPI_Test");
    if (!done) break;
    int bytes = 0;
    mpi_call(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    heard(r, static_cast<tag>(status.MPI_TAG), static_cast<std::size_t>(bytes));
    if (listens(r)) listen(r);
  }
}

COHORT_MPI_INLINE void mpi_control::heard(int r, tag what, std::size_t bytes) {
  auto& one = at(r);
  one.heard = listened_;
  one.answers = true;
  switch (what) {
    case tag::failure:
      one.told = was_told_ = true;
      give_up(std::string(reinterpret_cast<char const*>(one.buffer.data()), bytes));
      break;
    case tag::farewell:
    case tag::question:
    case tag::beat:
      for (std::size_t i = 0; i < std::min(peers_.size(), bytes / sizeof(place)); ++i) {
        place there{};
        std::memcpy(&there, one.buffer.data() + i * sizeof(place), sizeof(place));
        if (there.notes <= peers_[i].notes) continue;
        peers_[i].notes = there.notes;
        peers_[i].where = {there.step, static_cast<int>(there.bucket)};
      }
      one.left = what == tag::farewell;
      if (what == tag::question && !at(rank_).left) send(r, tag::beat, table());
  }
}

COHORT_MPI_INLINE std::vector<char> mpi_control::table() {
  {
    std::lock_guard const hold(mutex_);
    at(rank_).where = here_;
    at(rank_).notes = notes_;
  }
  std::vector<char> bytes(peers_.size() * sizeof(place));
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    place const there{peers_[i].notes, peers_[i].where.step, peers_[i].where.bucket};
    std::memcpy(bytes.data() + i * sizeof(place), &there, sizeof(place));
  }
  return bytes;
}

COHORT_MPI_INLINE void mpi_control::tell_all(tag what, std::vector<char> const& bytes) {
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

COHORT_MPI_INLINE void mpi_control::clear_sent() {
  int worst = MPI_SUCCESS;
  std::erase_if(sent_, [&](message& one) {  // throws nothing: half erased, two would have one request
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
    tell_all(tag::failure, {why.begin(), why.end()});
  }
  delivered_ = std::none_of(sent_.begin(), sent_.end(), [&](message const& one) {
    return one.what == tag::failure && !at(one.to).told && !at(one.to).lost;
  });
}

COHORT_MPI_INLINE void mpi_control::give_up(std::string why) {
  std::lock_guard const hold(mutex_);
  if (!trouble_) trouble_ = std::move(why);
}

COHORT_MPI_INLINE void mpi_control::judge() {
  std::vector<int> silent;
  std::vector<standing> all(peers_.size());
  auto longest = clock::duration::zero(), shortest = clock::duration::max();
  for (int r = 0; r < size(); ++r) {
    auto const silence = listened_ - at(r).heard;
    if (!listens(r) || at(r).lost || silence <= heartbeat_ * 3 / 4) continue;
    silent.push_back(r);
    all[static_cast<std::size_t>(r)].where = at(r).where;
    longest = std::max(longest, silence);
    shortest = std::min(shortest, silence);
  }
  if (longest <= heartbeat_) return;
  auto const tenths = shortest / std::chrono::milliseconds(100);
  std::string text;
  for (stand const& s : stands_of(all, silent)) {
    bool const one = s.ranks.size() == 1;
    text += text_of({text.empty() ? "" : "; ", one ? "rank " : "ranks ", list_of(s.ranks),
                     one ? " has" : " have", " shown no sign of life for ", tenths / 10, ".", tenths % 10,
                     " s; ", one ? "it was" : "they were", " last heard of ", place_of(s.what.where)});
  }
  for (int const r : silent) at(r).lost = true;
  announce(text);
}

}  // namespace cohort::detail
