// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/mpi/detail/call.hpp>
#include <cohort/mpi/detail/control.hpp>
#include <cohort/mpi/detail/extent.hpp>
#include <memory>
#include <utility>
#include <vector>

namespace cohort::detail {

/// How long other ranks are waited for, to make a communicator and to end it.
struct mpi_patience {
  std::chrono::milliseconds to_begin;
  std::chrono::milliseconds to_end;
};

/// Messages by MPI, over duplicates of a communicator: one for collectives, one for messages between two ranks, one for
/// what goes on beside.
///
/// Order     made collectively, over all ranks of `original`, as `control` is. MPI is called by the constructor, the
///           destructor and whoever calls what the concept lets one thread call.
/// Errors    communicator_error with MPI's own text.
class mpi_transport final : public transport {
 public:
  mpi_transport(MPI_Comm original, std::shared_ptr<mpi_control> control, mpi_patience patience)
      : control_(std::move(control)),
        patience_(patience),
        data_{{original, patience.to_begin}, {original, patience.to_begin}} {}
  /// Waits for the other ranks to leave: until then their messages may arrive.
  ~mpi_transport() override {
    if (some_under_way() || !control_->see_off(patience_.to_end)) return;
    for (auto& one : data_) one.free();
    control_->free();
  }

  std::string_view name() const override { return "mpi"; }
  int rank() const override { return control_->rank(); }
  int size() const override { return control_->size(); }

  ticket send(int to, channel on, std::uint32_t tag, std::span<std::byte const> data) override {
    mpi_extent const whole(data.size());
    MPI_Request request = MPI_REQUEST_NULL;
    mpi_call(MPI_Isend(data.data(), whole.count, whole.type, to, static_cast<int>(tag), comm(on), &request),
             "MPI_Isend");
    return keep({request, -1, tag, 0});
  }
  ticket receive(int from, channel on, std::uint32_t tag, std::span<std::byte> data) override {
    mpi_extent const whole(data.size());
    MPI_Request request = MPI_REQUEST_NULL;
    mpi_call(MPI_Irecv(data.data(), whole.count, whole.type, from, static_cast<int>(tag), comm(on), &request),
             "MPI_Irecv");
    return keep({request, from, tag, data.size()});
  }
  bool done(ticket one) override {
    if (one == 0) return true;
    auto& place = under_way_[one - 1];
    int ended = 0;
    MPI_Status status;
    int const code = MPI_Test(&place.request, &ended, &status);
    if (code == MPI_SUCCESS && !ended) return false;
    auto const message = std::exchange(place, {});
    unused_.push_back(one);
    if (message.from >= 0) check_size(message, code, status);
    mpi_call(code, "MPI_Test");
    return true;
  }
  std::optional<waiting> probe(int from, channel on, std::uint32_t tag) override {
    int there = 0;
    MPI_Status status;
    mpi_call(MPI_Iprobe(from < 0 ? MPI_ANY_SOURCE : from, static_cast<int>(tag), comm(on), &there, &status),
             "MPI_Iprobe");
    if (!there) return std::nullopt;
    return waiting{status.MPI_SOURCE, mpi_bytes(status)};
  }

  bool wants_a_thread() const override { return true; }
  void move() override { control_->move(); }
  void doze(std::chrono::microseconds longest) override { nap(longest); }

  void note(rank_progress here) noexcept override { control_->note(here); }
  std::vector<standing> ask(std::chrono::milliseconds patience) override { return control_->ask(patience); }
  void announce(std::string const& why) noexcept override { control_->announce(why); }
  std::optional<std::string> trouble() const override { return control_->trouble(); }
  /// Receives are cancelled. What cannot be (a message half arrived, a send to a rank that is lost) may still end, in
  /// the time in which the announcement leaves; after that this transport calls MPI no more, so that nothing moves.
  void abandon() noexcept override {
    for (auto& one : under_way_)
      if (one.from >= 0 && one.request != MPI_REQUEST_NULL) MPI_Cancel(&one.request);
    auto const begin = mpi_control::clock::now();
    for (auto waited = begin - begin;; waited = mpi_control::clock::now() - begin) {
      bool const some = some_under_way();
      bool const heard = control_->delivered();
      if (heard && !some) return;
      if (waited >= longest_delivery || (waited >= shortest_delivery && heard)) {
        if (some) control_->mute();
        return;
      }
      nap();
      control_->move();
    }
  }
  void leave() noexcept override { control_->leave(); }

 private:
  static constexpr auto shortest_delivery = std::chrono::milliseconds(100);
  static constexpr auto longest_delivery = std::chrono::milliseconds(800);

  struct message {
    MPI_Request request = MPI_REQUEST_NULL;
    int from = -1;  // of a receive
    std::uint32_t tag = 0;
    std::size_t expected = 0;
  };

  MPI_Comm comm(channel on) const { return data_[on == channel::peer].get(); }

  ticket keep(message one) {
    if (unused_.empty()) {
      under_way_.push_back(one);
      return under_way_.size();
    }
    auto const place = unused_.back();
    unused_.pop_back();
    under_way_[place - 1] = one;
    return place;
  }
  bool some_under_way() {
    bool some = false;
    for (auto& one : under_way_) {
      int ended = 1;
      if (one.request != MPI_REQUEST_NULL) MPI_Test(&one.request, &ended, MPI_STATUS_IGNORE);
      some = some || !ended;
    }
    return some;
  }
  void check_size(message const& one, int code, MPI_Status const& status) const {
    int kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    bool const cut = kind == MPI_ERR_TRUNCATE;
    if (code != MPI_SUCCESS && !cut) return;
    auto const got = mpi_bytes(status);
    if (got == one.expected && !cut) return;
    throw communicator_error({.what = {"a message from rank ", one.from, " does not fit"},
                              .where = {"tag ", one.tag},
                              .expected = {one.expected, " bytes"},
                              .got = got > one.expected || !cut ? clause{got, " bytes"} : clause("more")});
  }

  std::shared_ptr<mpi_control> control_;
  mpi_patience const patience_;
  mpi_duplicate data_[2];
  std::vector<message> under_way_;
  std::vector<ticket> unused_;
};

}  // namespace cohort::detail
