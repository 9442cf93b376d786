// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <algorithm>
#include <cohort/detail/json_string.hpp>
#include <cohort/detail/random_number.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/membership_client.hpp>
#include <utility>

namespace cohort::detail {

inline constexpr auto time_to_resolve = std::chrono::seconds(5);

membership_client::membership_client(tcp_place where, std::string job, std::chrono::milliseconds silence,
                                     std::function<std::vector<endpoint>()> meeting,
                                     std::function<void(bool)> may_host, std::function<void()> ended)
    : where_(std::move(where)),
      job_(std::move(job)),
      silence_(silence),
      find_meeting_(std::move(meeting)),
      may_host_(std::move(may_host)),
      ended_(std::move(ended)),
      self_(random_number()),
      meeting_(where_.meeting),
      next_resolution_(clock::now() + time_to_resolve) {
  thread_ = std::thread([this] { run(); });
}

membership_client::~membership_client() {
  {
    std::lock_guard const lock(mutex_);
    stops_ = true;
  }
  thread_.join();  // bounded: by a second, see `ended`
}

std::optional<membership_client::start> membership_client::first(std::vector<endpoint> addresses,
                                                                 std::chrono::milliseconds deadline) {
  {
    std::lock_guard const lock(mutex_);
    addresses_ = std::move(addresses);
    is_first_ = has_report_ = true;
  }
  return wait(deadline);
}

membership_client::start membership_client::next(std::int64_t step, std::vector<process_id> lost,
                                                 std::vector<endpoint> addresses,
                                                 std::chrono::milliseconds deadline) {
  {
    std::lock_guard const lock(mutex_);
    addresses_ = std::move(addresses);
    begun_.reset();
    is_outside_ = false;
    refusal_.clear();
    state_.withdraw(step, std::move(lost));
    has_report_ = true;
  }
  return *wait(deadline);
}

std::optional<membership_client::start> membership_client::wait(std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  bool const has_answer =
      changed_.wait_for(lock, deadline, [&] { return begun_ || is_outside_ || !refusal_.empty(); });
  if (begun_) return *begun_;
  if (is_outside_) return std::nullopt;
  throw communicator_error(
      {.what = has_answer ? "the rendezvous has refused this process" : "no membership has begun in time",
       .where = {"rendezvous ", where_.meeting.front().text()},
       .expected = has_answer ? clause("a process of the job")
                              : clause({"enough ranks within ", deadline.count(), " ms"}),
       .got = has_answer        ? make_printable(refusal_)
              : status_.empty() ? "no answer"
                                : status_});
}

void membership_client::load() {
  std::lock_guard const lock(mutex_);
  state_.load();
  has_report_ = true;
}

void membership_client::confirm() {
  std::lock_guard const lock(mutex_);
  state_.confirm();
  has_report_ = true;
}

bool membership_client::has_ended() {
  std::lock_guard const lock(mutex_);
  return has_ended_;
}

void membership_client::accept_processes(bool accepts) {
  std::unique_lock lock(mutex_);
  state_.accepts_processes = accepts;
  has_report_ = true;
  std::uint64_t const wanted = reports_ + 1;
  if (!accepts) changed_.wait_for(lock, std::chrono::seconds(1), [&] { return received_ >= wanted; });
}

bool membership_client::leave() {
  std::unique_lock lock(mutex_);
  farewell_ = farewell::asks;
  changed_.wait_for(lock, std::chrono::seconds(5), [&] { return farewell_ != farewell::asks; });
  if (farewell_ == farewell::left) return true;
  farewell_ = farewell::none;
  return false;
}

void membership_client::quit() {
  std::unique_lock lock(mutex_);
  farewell_ = farewell::quits;
  changed_.wait_for(lock, std::chrono::seconds(1), [&] { return farewell_ == farewell::sent; });
}

void membership_client::connect() {
  heard_ = clock::now();
  next_attempt_ = heard_ + std::chrono::milliseconds(100);
  bool is_new = false;
  {
    std::lock_guard const lock(mutex_);
    is_new = !knows_job_;
  }
  if (heard_ >= next_resolution_) {
    next_resolution_ = heard_ + time_to_resolve;
    meeting_ = find_meeting_();
  }
  may_host_(is_new);
  endpoint const& address = meeting_[attempts_++ % meeting_.size()];
  stream_.emplace(
      secure_stream(tcp_socket::connecting(address), secure_stream::role::client, where_.identity),
      message_stream::most_bytes);
  std::lock_guard const lock(mutex_);
  has_report_ = !addresses_.empty();
}

void membership_client::handle(service_message message) {
  bool ends = false;
  {
    std::lock_guard const lock(mutex_);
    switch (message.is) {
      case service_message::kind::begin:
        if (state_.begin(self_, message.next)) {
          begun_ = {message.next, std::move(message.members)};
          has_ended_ = false;
        }
        is_first_ = false;
        knows_job_ = true;
        break;
      case service_message::kind::end:
        has_ended_ = ends = state_.trains;
        break;
      case service_message::kind::has_begun:
        is_outside_ = is_first_;
        is_first_ = false;
        knows_job_ = true;
        break;
      case service_message::kind::received:
        received_ = message.serial;
        status_ = make_printable(message.text);
        break;
      case service_message::kind::left:
        if (farewell_ == farewell::asks) farewell_ = farewell::left;
        break;
      case service_message::kind::stays:
        if (farewell_ == farewell::asks) farewell_ = farewell::stays;
        break;
      case service_message::kind::beat:
        break;
      case service_message::kind::refused:
        refusal_ = std::move(message.text);
        break;
    }
  }
  changed_.notify_all();
  if (ends) ended_();
}

void membership_client::send_report() {
  member_message message;
  {
    std::lock_guard const lock(mutex_);
    if (!std::exchange(has_report_, false) || is_outside_) return;
    message = {.is = member_message::kind::report,
               .job = job_,
               .host = where_.host,
               .process = self_,
               .is_first = is_first_,
               .serial = ++reports_,
               .state = state_,
               .addresses = addresses_};
  }
  stream_->send(message.encoded());
}

void membership_client::run() noexcept {
  bool has_asked = false;
  while (true) {
    farewell wanted{};
    {
      std::lock_guard const lock(mutex_);
      if (stops_ || farewell_ == farewell::left) return;  // a further report would announce this process
      wanted = farewell_;
    }
    try {
      if (!stream_ && clock::now() >= next_attempt_) connect();
      if (stream_) {
        send_report();
        if (auto const time = clock::now(); time >= next_beat_) {
          next_beat_ = time + silence_ / 8;
          stream_->send(member_message{.is = member_message::kind::beat}.encoded());
        }
        bool const asks = wanted == farewell::asks || wanted == farewell::quits;
        if (asks && !std::exchange(has_asked, true))
          stream_->send(member_message{.is = wanted == farewell::asks ? member_message::kind::leave
                                                                      : member_message::kind::quit}
                            .encoded());
        if (!asks) has_asked = false;
        while (std::optional<std::vector<std::byte>> const message = stream_->advance()) {
          heard_ = clock::now();
          next_resolution_ = heard_ + time_to_resolve;
          handle(service_message::decoded(*message));
        }
        if (wanted == farewell::quits && stream_->is_flushed()) {
          std::lock_guard const lock(mutex_);
          farewell_ = farewell::sent;
          changed_.notify_all();
          return;
        }
        bool const is_silent = clock::now() > heard_ + 2 * silence_;
        if (is_silent || !stream_->failure().empty()) {
          stream_.reset();
          has_asked = false;
        }
      }
    } catch (std::exception const& problem) {
      std::lock_guard const lock(mutex_);
      status_ = problem.what();
      stream_.reset();
    }
    changed_.notify_all();
    pollfd answer{stream_ ? stream_->descriptor() : -1, POLLIN, 0};
    ::poll(&answer, 1, 5);  // bounded: 5 ms
  }
}

}  // namespace cohort::detail
