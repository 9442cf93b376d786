// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/detail/transport.hpp>
#include <cohort/mpi/detail/call.hpp>
#include <cohort/mpi/detail/control.hpp>
#include <memory>
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
  mpi_transport(MPI_Comm original, std::shared_ptr<mpi_control> control, mpi_patience patience);
  /// Waits for the other ranks to leave: until then their messages may arrive.
  ~mpi_transport() override;

  std::string_view name() const override { return "mpi"; }
  int rank() const override { return control_->rank(); }
  int size() const override { return control_->size(); }

  ticket send(int to, channel on, std::uint32_t tag, std::span<std::byte const> data) override;
  ticket receive(int from, channel on, std::uint32_t tag, std::span<std::byte> data) override;
  bool done(ticket one) override;
  std::optional<waiting> probe(int from, channel on, std::uint32_t tag) override;

  bool wants_a_thread() const override { return true; }
  void move() override { control_->move(); }
  void doze(std::chrono::microseconds longest) override { nap(longest); }

  void note(rank_progress here) noexcept override { control_->note(here); }
  std::vector<standing> ask(std::chrono::milliseconds patience) override { return control_->ask(patience); }
  void announce(std::string const& why) noexcept override { control_->announce(why); }
  std::optional<std::string> trouble() const override { return control_->trouble(); }
  /// Receives are cancelled. What cannot be (a message half arrived, a send to a rank that is lost) may still end, in
  /// the time in which the announcement leaves; after that this transport calls MPI no more, so that nothing moves.
  void abandon() noexcept override;
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

  ticket keep(message one);
  bool some_under_way();
  void check_size(message const& one, int code, MPI_Status const& status) const;

  std::shared_ptr<mpi_control> control_;
  mpi_patience const patience_;
  mpi_duplicate data_[2];
  std::vector<message> under_way_;
  std::vector<ticket> unused_;
};

}  // namespace cohort::detail

#ifndef COHORT_MPI_COMPILED
#include <cohort/mpi/impl/transport.ipp>
#endif
