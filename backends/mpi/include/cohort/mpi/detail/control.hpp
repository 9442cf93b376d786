// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cohort/communicator/detail/stall_report.hpp>
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/mpi/detail/call.hpp>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// What ranks tell each other beside their data: that they live, how far everybody is, why they give up, that they leave.
///
/// A *beat* carries the sender's table of where everybody is; of each rank the latest place counts. A *question* is a beat
/// that is answered by one. A *failure* is a text. A *farewell* is a rank's last message. Failures and farewells are sent
/// synchronously: they have arrived when they are done.
///
/// Order     one thread at a time calls what moves messages; note, announce, trouble and delivered may be called by any.
/// Units     silence counts only time in which this rank has listened: one that was stopped itself accuses nobody.
class mpi_control {
 public:
  using clock = std::chrono::steady_clock;

  /// `patience`: how long the other ranks are waited for.
  mpi_control(MPI_Comm original, std::chrono::milliseconds heartbeat, std::chrono::milliseconds patience)
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
  ~mpi_control() {
    // What MPI may still read or write stays where it is.
    if (!finished()) keep_for_ever();
  }

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }

  void note(rank_progress here) noexcept {
    std::lock_guard const hold(mutex_);
    here_ = here;
    ++notes_;
  }
  void announce(std::string const& why) noexcept {
    std::lock_guard const hold(mutex_);
    if (announcement_) return;
    announcement_ = why.substr(0, longest_text);
    if (!trouble_) trouble_ = announcement_;
    delivered_ = false;
  }
  std::optional<std::string> trouble() const {
    std::lock_guard const hold(mutex_);
    return trouble_;
  }
  /// Whether all who must hear what was announced have heard it.
  bool delivered() const { return delivered_; }
  /// Waits until then, a second at most.
  /// Before    another thread calls move().
  void wait_for_delivery() const {
    auto const end = clock::now() + longest_delivery;
    while (!delivered() && !muted_ && clock::now() < end) nap();
  }
  /// Whether another rank has announced a failure.
  bool was_told() const { return was_told_; }
  /// From now on nothing is moved, and MPI not called.
  void mute() noexcept { muted_ = true; }

  /// At most one round a millisecond.
  void move() {
    if (clock::now() - last_round_ >= round_every) round();
  }

  std::vector<standing> ask(std::chrono::milliseconds patience) {
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

  void leave() noexcept {
    guard([this] { tell_all(tag::farewell, table()); });
    at(rank_).left = true;
  }
  /// Waits until all ranks have left, or one that has not is lost or fails, or that long.
  /// Before    leave(): nobody listens to this rank any more.
  /// After     whether all have left: nothing is under way any more. Else nothing moves any more.
  bool see_off(std::chrono::milliseconds limit) {
    auto const end = clock::now() + limit;
    for (; !finished(); nap(round_every)) {
      if (clock::now() >= end || trouble()) mute();
      if (muted_) return false;
      move();
    }
    return true;
  }
  /// Before    see_off() was true.
  void free() noexcept { channel_.free(); }

  static constexpr auto longest_delivery = std::chrono::milliseconds(1000);

 private:
  static constexpr std::size_t longest_text = 4096;
  static constexpr auto round_every = std::chrono::milliseconds(1);
  static constexpr auto longest_pause = std::chrono::milliseconds(20);  // between two beats
  enum class tag : int { beat, question, failure, farewell };

  struct place {
    std::int64_t notes;  // of that rank so far
    std::int64_t step;
    std::int64_t bucket;
  };
  struct peer {
    MPI_Request request = MPI_REQUEST_NULL;  // of the message that comes next
    std::vector<std::byte> buffer{};
    rank_progress where{};
    std::int64_t notes = 0;
    clock::duration heard{};  // in listened_
    bool answers = false;
    bool left = false;
    bool told = false;  // has announced a failure
    bool lost = false;  // is silent
  };
  struct message {
    int to;
    tag what;
    std::vector<char> bytes;  // whose place stays when the message moves
    MPI_Request request;
  };
  void keep_for_ever() {
    struct kept {
      std::vector<peer> peers;
      std::vector<message> sent;
    };
    static std::mutex mutex;
    static auto& all = *new std::vector<kept>;
    std::lock_guard const lock(mutex);
    all.push_back({std::move(peers_), std::move(sent_)});
  }

  peer& at(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  bool listens(int r) { return r != rank_ && !at(r).left; }

  bool finished() const {
    return sent_.empty()
           && std::all_of(peers_.begin(), peers_.end(), [](peer const& one) { return one.left; });
  }

  void round() noexcept {
    if (!muted_) guard([this] { exchange(); });
  }
  /// What MPI refuses is trouble of all ranks, not an exception in a thread that serves others.
  void guard(auto&& action) noexcept {
    try {
      action();
    } catch (std::exception const& error) {
      announce(text_of({"rank ", rank_, ": ", error.what()}));
    }
  }
  void exchange() {
    auto const now = clock::now();
    listened_ += std::min<clock::duration>(now - last_round_, heartbeat_ / 4);
    last_round_ = now;
    for (int r = 0; r < size(); ++r) guard([&] { receive(r); });
    guard([&] { clear_sent(); });
    announce_failure();
    if (!at(rank_).left) beat(now);
    judge();
  }
  /// One rank after the other, so that each is told at least every quarter of a heartbeat, and somebody always knows.
  void beat(clock::time_point now) {
    auto const others = size() - 1;
    for (int k = 0; k < others && now >= next_beat_; ++k) {
      next_beat_ += std::min<clock::duration>(longest_pause, heartbeat_ / (4 * others));
      last_told_ = (last_told_ + 1) % size();
      if (last_told_ == rank_) last_told_ = (last_told_ + 1) % size();
      send_once(last_told_, tag::beat, table());
    }
    next_beat_ = std::max(next_beat_, now);
  }

  void listen(int r) {
    auto& one = at(r);
    mpi_call(MPI_Irecv(one.buffer.data(), static_cast<int>(one.buffer.size()), MPI_BYTE, r, MPI_ANY_TAG,
                       channel_.get(), &one.request),
             "MPI_Irecv");
  }
  void receive(int r) {
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
  void heard(int r, tag what, std::size_t bytes) {
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

  std::vector<char> table() {
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
  void tell_all(tag what, std::vector<char> const& bytes) {
    for (int r = 0; r < size(); ++r)
      if (r != rank_) send_once(r, what, bytes);
  }
  /// Not to one that has not taken the last such message yet.
  void send_once(int to, tag what, std::vector<char> const& bytes) {
    if (std::none_of(sent_.begin(), sent_.end(),
                     [&](message const& one) { return one.to == to && one.what == what; }))
      send(to, what, bytes);
  }
  void send(int to, tag what, std::vector<char> const& bytes) {
    sent_.push_back({to, what, bytes, MPI_REQUEST_NULL});
    auto& one = sent_.back();
    bool const lasting = what == tag::failure || what == tag::farewell;
    guard([&] {
      mpi_call(
          (lasting ? MPI_Issend : MPI_Isend)(one.bytes.data(), static_cast<int>(one.bytes.size()), MPI_BYTE,
                                             to, static_cast<int>(what), channel_.get(), &one.request),
          lasting ? "MPI_Issend" : "MPI_Isend");
    });
  }
  void clear_sent() {
    int worst = MPI_SUCCESS;
    std::erase_if(sent_, [&](message& one) {  // throws nothing: half erased, two would have one request
      int done = 0;
      int const code = MPI_Test(&one.request, &done, MPI_STATUS_IGNORE);
      if (code != MPI_SUCCESS) worst = code;
      return done != 0 || code != MPI_SUCCESS;
    });
    mpi_call(worst, "MPI_Test");
  }

  void announce_failure() {
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
  void give_up(std::string why) {
    std::lock_guard const hold(mutex_);
    if (!trouble_) trouble_ = std::move(why);
  }
  /// Ranks that are lost together are named together: with the first also those that are silent for nearly as long.
  void judge() {
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

  mpi_duplicate channel_;
  std::chrono::milliseconds heartbeat_;
  int rank_ = 0;
  std::vector<peer> peers_;
  std::vector<message> sent_;
  clock::duration listened_{};
  clock::time_point last_round_;
  clock::time_point next_beat_;
  int last_told_ = 0;
  bool announced_ = false;

  std::mutex mutable mutex_;
  rank_progress here_;
  std::int64_t notes_ = 0;
  std::optional<std::string> announcement_;
  std::optional<std::string> trouble_;
  std::atomic<bool> delivered_ = true;
  std::atomic<bool> was_told_ = false;
  std::atomic<bool> muted_ = false;
};

}  // namespace cohort::detail
