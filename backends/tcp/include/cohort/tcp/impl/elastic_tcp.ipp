// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/communicator/message_communicator.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/elastic_tcp.hpp>
#include <cohort/tcp/detail/tcp_transport.hpp>
#include <exception>

namespace cohort::detail {

elastic_tcp::elastic_tcp(tcp_settings from, communicator_settings limits)
    : from_(std::move(from)),
      how_(std::move(limits)),
      place_(place_of(from_, std::chrono::steady_clock::now() + how_.deadline)) {
  client_ = std::make_unique<membership_client>(
      place_, from_.job, how_.heartbeat, [this] { return meeting(); },
      [this](bool is_new) { host_service(is_new); }, [this] { end_membership(); });
  std::vector<endpoint> addresses;
  std::vector<tcp_socket> listening = listen(addresses);
  if (std::optional<membership_client::start> begun = client_->first(addresses, how_.deadline)) {
    connect(std::move(listening), addresses, *std::move(begun));
    confirm();  // all ranks begin with the same state
  } else {
    ranks_ = make_self(how_);
    waits_to_join_ = true;
  }
}

elastic_tcp::~elastic_tcp() {
  if (ranks_ && !waits_to_join_ && std::uncaught_exceptions() == 0) try {
      ranks_->barrier();  // the others need this rank until all have ended
    } catch (std::exception const&) {
    }
  if (client_) client_->quit();
  client_.reset();
  try {
    disconnect();
  } catch (std::exception const&) {
  }
}

communicator& elastic_tcp::ranks() const {
  if (ranks_) return *ranks_;
  if (has_left_) throw rank_has_left({.what = "this rank has left the job"});
  throw communicator_error(
      {.what = "this rank is in no membership", .expected = "a call of regroup that succeeds"});
}

std::vector<endpoint> elastic_tcp::meeting() {
  place_.meeting = current_meeting(from_, place_);
  return place_.meeting;
}

void elastic_tcp::host_service(bool is_new) {
  if (service_) return;
  std::optional<tcp_socket> listening = listen_at_meeting(place_.meeting);
  if (!listening) return;
  constexpr auto time_to_join = std::chrono::seconds(10);
  service_.emplace(*std::move(listening), place_.identity, from_.job,
                   elastic_settings{.rules = {.ranks = from_.ranks,
                                              .least = from_.min_ranks,
                                              .most = std::max(from_.ranks, from_.max_ranks),
                                              .silence = how_.heartbeat,
                                              .time_to_join = time_to_join,
                                              .may_be_first = is_new},
                                    .claims = from_.shared_directory},
                   how_.log);
}

void elastic_tcp::end_membership() noexcept {
  std::lock_guard const lock(mutex_);  // held for at most a second
  if (ranks_) ranks_->abort("the membership of the job changes", communicator_exit_status);
}

void elastic_tcp::disconnect() {
  std::unique_ptr<communicator> ranks;
  {
    std::lock_guard const lock(mutex_);
    ranks = std::move(ranks_);
  }
  if (!ranks) return;
  former_ += ranks->sent();
  if (ranks->size() > 1) ranks->abort("the membership of the job changes", communicator_exit_status);
  ranks.reset();
  lost_.clear();
  if (last_failure_ && *last_failure_)
    for (int const rank : (*last_failure_)->lost)
      if (rank < std::ssize(now_.members)) lost_.push_back(now_.members[static_cast<std::size_t>(rank)]);
}

std::vector<tcp_socket> elastic_tcp::listen(std::vector<endpoint>& addresses) const {
  std::vector<tcp_socket> listening = listen_on(place_.own, port_range::parse(from_.ports),
                                                std::chrono::steady_clock::now() + how_.deadline, how_.log);
  addresses.clear();
  for (tcp_socket const& socket : listening) addresses.push_back(socket.local());
  return listening;
}

void elastic_tcp::connect(std::vector<tcp_socket> listening, std::vector<endpoint> const& addresses,
                          membership_client::start begun) {
  for (std::vector<endpoint>& others : begun.ranks.ranks) {
    others = reached_from(addresses, others);
    require_encryption(from_, place_.identity, others);
  }
  now_ = std::move(begun.current);
  last_failure_ = std::make_shared<std::optional<failure_report>>();
  std::unique_ptr<communicator> next = make_communicator(
      std::make_unique<tcp_transport>(acceptor(std::move(listening), place_.identity, how_.log),
                                      std::move(begun.ranks), place_.identity, how_, last_failure_),
      how_);
  {
    std::lock_guard const lock(mutex_);
    ranks_ = std::move(next);
  }
  if (client_->has_ended()) end_membership();
}

void elastic_tcp::regroup(std::int64_t step) {
  auto const limit = std::chrono::steady_clock::now() + how_.deadline;
  while (true) {
    disconnect();
    auto const remaining =
        std::chrono::duration_cast<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now());
    std::vector<endpoint> addresses;
    std::vector<tcp_socket> listening = listen(addresses);
    membership_client::start begun = client_->next(step, lost_, addresses, remaining);
    try {
      connect(std::move(listening), addresses, std::move(begun));
      waits_to_join_ = false;
      return;
    } catch (communicator_error const& lost) {
      if (lost.exit_status() != communicator_exit_status || std::chrono::steady_clock::now() >= limit) throw;
    }
  }
}

void elastic_tcp::confirm() {
  client_->load();
  ranks().barrier();
  client_->confirm();
}

void elastic_tcp::accept_processes(bool accepts) { client_->accept_processes(accepts); }

bool elastic_tcp::leave() {
  if (!client_->leave()) return false;
  has_left_ = true;
  client_.reset();
  disconnect();
  if (service_) service_->wait_for_successor(now_.number, std::chrono::seconds(2));
  return true;
}

int elastic_tcp::abort(std::string const& why, int exit_status) noexcept {
  return ranks_ ? ranks_->abort(why, exit_status) : exit_status;
}

traffic elastic_tcp::sent() const {
  traffic all = former_;
  if (ranks_) all += ranks_->sent();
  return all;
}

}  // namespace cohort::detail
