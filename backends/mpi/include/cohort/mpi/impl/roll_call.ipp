// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cohort/communicator/detail/stall_report.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/mpi/detail/roll_call.hpp>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

namespace cohort::detail {

/// Returns the value of the first of these environment variables that is set; "" if none is.
std::string first_variable(std::initializer_list<char const*> names) {
  for (char const* const name : names)
    if (char const* const value = std::getenv(name)) return value;
  return {};
}

struct socket_name {
  sockaddr_un address{};
  socklen_t bytes = 0;

  explicit socket_name(std::string_view name) {
    address.sun_family = AF_UNIX;  // sun_path[0] == 0: an abstract name
    std::size_t const length = std::min(name.size(), sizeof(address.sun_path) - 1);
    std::copy_n(name.begin(), length, address.sun_path + 1);
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  sockaddr const* get() const { return reinterpret_cast<sockaddr const*>(&address); }
};

roll_call::roll_call() {
  std::string const rank = first_variable({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}),
                    size = first_variable({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"});
  job_ = first_variable({"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID"});
  int const ranks = std::atoi(size.c_str());
  constexpr int most_ranks = 1 << 16, waiting_connections = 16;
  if (rank.empty() || job_.empty() || ranks < 2 || ranks > most_ranks) return;
  rank_ = std::atoi(rank.c_str());
  job_ = text_of({"cohort/", job_, "/"});
  local_size_ = std::atoi(first_variable({"OMPI_COMM_WORLD_LOCAL_SIZE"}).c_str());
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  socket_name const mine(job_ + rank);
  if (socket_ < 0 || ::bind(socket_, mine.get(), mine.bytes) != 0
      || ::listen(socket_, waiting_connections) != 0)
    return;
  seen_.resize(static_cast<std::size_t>(ranks));
  processes_.resize(seen_.size());
}

roll_call::~roll_call() {
  if (socket_ >= 0) ::close(socket_);
}

std::vector<int> roll_call::ended_ranks() {
  std::vector<int> ended;
  for (std::size_t rank = 0; rank < seen_.size(); ++rank) {
    bool const alive = is_alive(static_cast<int>(rank));
    if (seen_[rank] && !alive) ended.push_back(static_cast<int>(rank));
    seen_[rank] |= alive;
  }
  return ended;
}

/// Returns whether a signal (SIGSTOP, SIGTSTP) or a debugger has stopped a process.
bool is_stopped(int process) {
  std::string stat;
  std::getline(std::ifstream(text_of({"/proc/", process, "/stat"})), stat);
  std::size_t const name_end = stat.rfind(')');  // "123 (name) T …"
  if (process <= 0 || name_end == stat.npos || name_end + 2 >= stat.size()) return false;
  return stat[name_end + 2] == 'T' || stat[name_end + 2] == 't';
}

std::string roll_call::describe() const {
  std::vector<int> started, stopped;
  for (std::size_t rank = 0; rank < seen_.size(); ++rank) {
    if (!seen_[rank]) continue;
    started.push_back(static_cast<int>(rank));
    if (is_stopped(processes_[rank])) stopped.push_back(static_cast<int>(rank));
  }
  if (started.empty()) return {};
  int const missing = local_size_ - static_cast<int>(started.size());
  std::string made = text_of(
      {"on this host ", named_ranks(started), started.size() == 1 ? " has started" : " have started"});
  if (missing > 0) made += text_of({", and ", missing, missing == 1 ? " rank has not" : " ranks have not"});
  if (!stopped.empty())
    made += text_of({"; ", named_ranks(stopped), stopped.size() == 1 ? " is stopped" : " are stopped"});
  return made;
}

/// If the socket's backlog is full, connect fails with EAGAIN; the process is then alive.
bool roll_call::is_alive(int rank) {
  int const probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return true;
  socket_name const its(text_of({job_, rank}));
  bool const connects = ::connect(probe, its.get(), its.bytes) == 0,
             alive = connects || errno != ECONNREFUSED;
  ucred its_process{};
  socklen_t bytes = sizeof its_process;
  if (connects && ::getsockopt(probe, SOL_SOCKET, SO_PEERCRED, &its_process, &bytes) == 0)
    processes_[static_cast<std::size_t>(rank)] = its_process.pid;
  ::close(probe);
  return alive;
}

}  // namespace cohort::detail
