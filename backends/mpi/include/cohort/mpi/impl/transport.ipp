// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/mpi/detail/extent.hpp>
#include <cohort/mpi/detail/transport.hpp>
#include <utility>

namespace cohort::detail {

mpi_transport::mpi_transport(MPI_Comm original, std::shared_ptr<mpi_control> control, mpi_timeouts patience)
    : control_(std::move(control)),
      timeouts_(patience),
      comms_{{original, patience.to_begin}, {original, patience.to_begin}} {}

mpi_transport::~mpi_transport() {
  if (has_pending() || !control_->wait_for_farewells(timeouts_.to_end)) return;
  for (auto& one : comms_) one.free();
  control_->free();
}

mpi_transport::ticket mpi_transport::send(int to, channel on, std::uint32_t tag,
                                          std::span<std::byte const> data) {
  mpi_extent const whole(data.size());
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_call(MPI_Isend(data.data(), whole.count, whole.type, to, static_cast<int>(tag), comm(on), &request),
           "MPI_Isend");
  return store({request, -1, tag, 0});
}

mpi_transport::ticket mpi_transport::receive(int from, channel on, std::uint32_t tag,
                                             std::span<std::byte> data) {
  mpi_extent const whole(data.size());
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_call(MPI_Irecv(data.data(), whole.count, whole.type, from, static_cast<int>(tag), comm(on), &request),
           "MPI_Irecv");
  return store({request, from, tag, data.size()});
}

bool mpi_transport::done(ticket one) {
  if (one == 0) return true;
  auto& place = pending_[one - 1];
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

std::optional<mpi_transport::waiting> mpi_transport::probe(int from, channel on, std::uint32_t tag) {
  int there = 0;
  MPI_Status status;
  mpi_call(MPI_Iprobe(from < 0 ? MPI_ANY_SOURCE : from, static_cast<int>(tag), comm(on), &there, &status),
           "MPI_Iprobe");
  if (!there) return std::nullopt;
  return waiting{status.MPI_SOURCE, mpi_bytes(status)};
}

void mpi_transport::abandon() noexcept {
  for (auto& one : pending_)
    if (one.from >= 0 && one.request != MPI_REQUEST_NULL) MPI_Cancel(&one.request);
  auto const begin = mpi_control::clock::now();
  for (auto waited = begin - begin;; waited = mpi_control::clock::now() - begin) {
    bool const some = has_pending();
    bool const heard = control_->delivered();
    if (heard && !some) return;
    if (waited >= longest_abandon || (waited >= shortest_abandon && heard)) {
      if (some) control_->stop();
      return;
    }
    sleep_between_polls();
    control_->make_progress();
  }
}

mpi_transport::ticket mpi_transport::store(message one) {
  if (unused_.empty()) {
    pending_.push_back(one);
    return pending_.size();
  }
  auto const place = unused_.back();
  unused_.pop_back();
  pending_[place - 1] = one;
  return place;
}

bool mpi_transport::has_pending() {
  bool some = false;
  for (auto& one : pending_) {
    int ended = 1;
    if (one.request != MPI_REQUEST_NULL) MPI_Test(&one.request, &ended, MPI_STATUS_IGNORE);
    some = some || !ended;
  }
  return some;
}

void mpi_transport::check_size(message const& one, int code, MPI_Status const& status) const {
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  bool const cut = kind == MPI_ERR_TRUNCATE;
  if (code != MPI_SUCCESS && !cut) return;
  auto const got = mpi_bytes(status);
  if (got == one.expected && !cut) return;
  throw communicator_error({.what = {"a message from rank ", one.from, " has the wrong size"},
                            .where = {"tag ", one.tag},
                            .expected = {one.expected, " bytes"},
                            .got = got > one.expected || !cut ? clause{got, " bytes"} : clause("more bytes")},
                           own_error_status);
}

}  // namespace cohort::detail
