// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/mpi/detail/control.hpp>
#include <mutex>
#include <utility>

namespace cohort::detail {

int rank_in(MPI_Comm original) {
  int rank = 0;
  mpi_call(MPI_Comm_rank(original, &rank), "MPI_Comm_rank");
  return rank;
}
int size_of(MPI_Comm original) {
  int size = 0;
  mpi_call(MPI_Comm_size(original, &size), "MPI_Comm_size");
  return size;
}

mpi_control::mpi_control(MPI_Comm original, std::chrono::milliseconds heartbeat,
                         std::chrono::milliseconds patience)
    : rank_monitor(rank_in(original), size_of(original), heartbeat),
      channel_(original, patience),
      received_(static_cast<std::size_t>(size())) {
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    next_from(r).buffer.resize(longest_message());
    post_receive(r);
  }
}

mpi_control::~mpi_control() {
  // MPI may still access the buffers.
  if (!finished()) leak();
}

void mpi_control::leak() {
  struct kept {
    std::vector<incoming> received;
    std::vector<message> sent;
  };
  static std::mutex mutex;
  static auto& all = *new std::vector<kept>;
  std::lock_guard const lock(mutex);
  all.push_back({std::move(received_), std::move(sent_)});
}

void mpi_control::post_receive(int from) {
  incoming& one = next_from(from);
  mpi_call(MPI_Irecv(one.buffer.data(), static_cast<int>(one.buffer.size()), MPI_BYTE, from, MPI_ANY_TAG,
                     channel_.get(), &one.request),
           "MPI_Irecv");
}

void mpi_control::receive(int from) {
  while (expects_messages(from)) {
    incoming& one = next_from(from);
    int done = 0;
    MPI_Status status;
    mpi_call(MPI_Test(&one.request, &done, &status), "MPI_Test");
    if (!done) break;
    int bytes = 0;
    mpi_call(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    handle(from, static_cast<control_message>(status.MPI_TAG),
           std::span<std::byte const>(one.buffer).first(static_cast<std::size_t>(bytes)));
    if (expects_messages(from)) post_receive(from);
  }
}

void mpi_control::send(int to, control_message what, std::span<std::byte const> bytes) {
  sent_.push_back({to, what, {bytes.begin(), bytes.end()}, MPI_REQUEST_NULL});
  message& one = sent_.back();
  bool const lasting = what == control_message::failure || what == control_message::farewell;
  mpi_call((lasting ? MPI_Issend : MPI_Isend)(one.bytes.data(), static_cast<int>(one.bytes.size()), MPI_BYTE,
                                              to, static_cast<int>(what), channel_.get(), &one.request),
           lasting ? "MPI_Issend" : "MPI_Isend");
}

void mpi_control::complete_sends() {
  int worst = MPI_SUCCESS;
  std::erase_if(sent_, [&](message& one) {  // must not throw, since a partial erase would duplicate a request
    int done = 0;
    int const code = MPI_Test(&one.request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) worst = code;
    return done != 0 || code != MPI_SUCCESS;
  });
  mpi_call(worst, "MPI_Test");
}

bool mpi_control::is_sending(int to, control_message what) const {
  return std::any_of(sent_.begin(), sent_.end(),
                     [&](message const& one) { return one.to == to && one.what == what; });
}

}  // namespace cohort::detail
