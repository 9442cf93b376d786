// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cxxabi.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <ucontext.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cohort/communicator/detail/virtual_time.hpp>
#include <cohort/tcp/detail/socket_api.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace tcp_simulation {

using namespace cohort;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// A coroutine with a separate stack: a scheduler resumes the function, and the function yields to the
/// scheduler.
class fiber {
 public:
  explicit fiber(std::function<void()> body) : body_(std::move(body)), memory_(stack_bytes) {
    own_.begin = memory_.data();
    own_.bytes = memory_.size();
    ::getcontext(&own_.context);
    own_.context.uc_stack.ss_sp = memory_.data();
    own_.context.uc_stack.ss_size = memory_.size();
    own_.context.uc_link = nullptr;
    auto const address = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&own_.context, reinterpret_cast<void (*)()>(&start), 2,
                  static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  }
  fiber(fiber const&) = delete;

  /// Runs until the function yields or ends.
  void resume() {
    announce(scheduler_, own_);
    exchange(scheduler_.context, own_.context);
    arrive(scheduler_, own_);
  }
  /// Returns to the scheduler. Only the function may call it.
  void yield() {
    announce(own_, scheduler_);
    exchange(own_.context, scheduler_.context);
    arrive(own_, scheduler_);
  }
  bool has_ended() const { return has_ended_; }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

  struct stack {
    ucontext_t context{};
    void const* begin = nullptr;
    std::size_t bytes = 0;
    void* of_sanitizer = nullptr;
  };

  /// Notify the address sanitizer before a switch to another stack, and after it.
  void announce([[maybe_unused]] stack& from, [[maybe_unused]] stack const& to) {
#ifdef __SANITIZE_ADDRESS__
    ::__sanitizer_start_switch_fiber(has_ended_ ? nullptr : &from.of_sanitizer, to.begin, to.bytes);
#endif
  }
  static void arrive([[maybe_unused]] stack const& to, [[maybe_unused]] stack& from) {
#ifdef __SANITIZE_ADDRESS__
    ::__sanitizer_finish_switch_fiber(to.of_sanitizer, &from.begin, &from.bytes);
#endif
  }

  /// The C++ library stores the state of exceptions per thread; here each stack has a separate state.
  static void exchange(ucontext_t& from, ucontext_t& to) {
    std::array<std::byte, 16> exceptions;
    std::memcpy(exceptions.data(), abi::__cxa_get_globals(), exceptions.size());
    ::swapcontext(&from, &to);
    std::memcpy(abi::__cxa_get_globals(), exceptions.data(), exceptions.size());
  }
  static void start(unsigned high, unsigned low) {
    auto* const one = reinterpret_cast<fiber*>(static_cast<std::uintptr_t>(high) << 32 | low);
    std::memset(abi::__cxa_get_globals(), 0, 16);
    arrive(one->own_, one->scheduler_);
    one->body_();
    one->has_ended_ = true;
    one->yield();
  }

  std::function<void()> body_;
  std::vector<std::byte> memory_;
  stack own_{}, scheduler_{};
  bool has_ended_ = false;
};

class simulated_host;

/// Hosts, the links between them, and their TCP. One thread runs everything, in virtual time.
///
/// TCP       go-back-N with cumulative acknowledgements and windows. A lost segment is sent again after the
///           retransmission timeout, which doubles each time until an acknowledgement arrives; then one
///           segment is in flight at first. SYNs are sent again in the same way. A connection is reset if a
///           socket is closed with unread bytes, or if bytes arrive for a process that has ended.
///           Simplifications: no fast retransmission (links lose bytes only while they are cut), no
///           congestion window.
///           An attempt to connect over a cut link fails after three times the first timeout of a SYN.
/// Exact     the result depends only on the seed and on the programs of the hosts.
class simulated_network {
 public:
  /// `retransmission`: first retransmission timeout of data. `connecting`: first retransmission timeout of a
  /// SYN.
  simulated_network(std::uint64_t seed, clock::duration retransmission, clock::duration connecting)
      : random(seed), first_timeout(retransmission), first_connecting_timeout(connecting) {}

  struct link {
    clock::duration latency = 100us;
    bool is_cut = false;
    clock::time_point last_arrival[2]{};  // per direction: a link keeps the order
  };

  simulated_host& add_host();
  simulated_host& host(int number) { return *hosts_[static_cast<std::size_t>(number)]; }
  int hosts() const { return static_cast<int>(hosts_.size()); }
  link& between(int a, int b) { return links_[{std::min(a, b), std::max(a, b)}]; }

  clock::time_point now() const { return time_.now(); }
  void at(clock::time_point when, std::function<void()> what) { time_.add(when, std::move(what)); }
  /// Delivers a packet after the latency, unless the link is cut when it is sent or when it would arrive.
  void send(int from, int to, std::function<void()> deliver) {
    link& over = between(from, to);
    if (over.is_cut && from != to) return;
    clock::time_point& last = over.last_arrival[from < to ? 0 : 1];
    last = std::max(last, now() + (from == to ? clock::duration(5us) : over.latency));
    at(last, [this, from, to, deliver = std::move(deliver)] {
      if (from == to || !between(from, to).is_cut) deliver();
    });
  }
  /// Runs until no event is pending, or until `end`. Returns whether no event is pending.
  bool run(clock::time_point end) {
    while (time_.has_events() && time_.next_time() <= end) time_.next()();
    return !time_.has_events();
  }

  std::mt19937_64 random;
  clock::duration const first_timeout, first_connecting_timeout;
  static constexpr clock::duration longest_timeout = 120s;

 private:
  detail::virtual_time<clock::time_point, std::function<void()>> time_;
  std::map<std::pair<int, int>, link> links_;
  std::vector<std::unique_ptr<simulated_host>> hosts_;  // last: their destructors use the others
};

/// A socket that listens, or one end of a connection.
class simulated_socket : public std::enable_shared_from_this<simulated_socket> {
 public:
  explicit simulated_socket(simulated_host& home) : home_(home) {}

  bool listens = false;
  std::deque<std::shared_ptr<simulated_socket>> accepted;  // not yet returned to the process
  detail::endpoint local{}, remote{};
  bool is_connected = false;
  int error = 0;

  bool is_readable() const {
    return listens ? !accepted.empty() : begin_ < in_.size() || has_end_ || error != 0;
  }
  bool is_writable() const { return !listens && ((is_connected && space() > 0) || error != 0); }

  void connect(detail::endpoint const& to);
  ssize_t write(std::span<std::byte const> bytes);
  ssize_t read(std::span<std::byte> bytes);
  /// Called when the process has closed the descriptor or has ended.
  void close();

 private:
  static constexpr std::size_t capacity = std::size_t{256} << 10, segment = std::size_t{16} << 10;

  std::size_t space() const { return capacity - (out_.size() - sent_); }
  std::uint64_t right_edge() const { return received_ + capacity - (in_.size() - begin_); }
  std::uint64_t end() const { return acknowledged_ + out_.size() - sent_; }
  simulated_network& net() const;
  int here() const;
  int there() const;
  void to_peer(std::function<void(simulated_socket&)> what);
  void ask_to_connect();
  void arrive_at_listener(int port);
  void receive(std::uint64_t from, std::vector<std::byte> const& bytes, bool is_last);
  void acknowledge();
  void acknowledged(std::uint64_t until, std::uint64_t edge);
  void push();
  void set_timer(clock::duration after);
  void timeout();
  void fail(int reason);
  void changed();

  simulated_host& home_;
  std::weak_ptr<simulated_socket> peer_;
  bool has_peer_ = false, is_closed_ = false;  // has_peer_: has had a peer. is_closed_: by the process
  // What it sends: from sent_ on, out_ has the bytes from number acknowledged_ on.
  std::vector<std::byte> out_;
  std::size_t sent_ = 0;
  std::uint64_t acknowledged_ = 0, next_ = 0, edge_ = capacity;
  bool ends_ = false, end_is_sent_ = false, end_is_acknowledged_ = false, probes_ = false;
  clock::duration timeout_{};
  std::uint64_t timer_ = 0;
  bool timer_is_set_ = false;
  // What it receives.
  std::vector<std::byte> in_;
  std::size_t begin_ = 0;
  std::uint64_t received_ = 0;
  bool has_end_ = false;
};

/// A host with one process: its sockets, its time and its state.
class simulated_host final : public detail::socket_api, public detail::time_source {
 public:
  simulated_host(simulated_network& net, int number) : net_(net), number_(number) {}
  ~simulated_host() override { kill(); }

  int number() const { return number_; }
  simulated_network& net() { return net_; }
  detail::endpoint address(std::uint16_t port = 0) const {
    sockaddr_storage made{};
    auto& v4 = reinterpret_cast<sockaddr_in&>(made);
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = htonl(0x0a00'0001U + static_cast<unsigned>(number_));
    v4.sin_port = htons(port);
    return detail::endpoint(made);
  }
  static int host_of(detail::endpoint const& one) {
    return static_cast<int>(std::to_integer<unsigned>(one.address_bytes()[3])) - 1;
  }

  /// Starts the process.
  void start(std::function<void()> body) {
    process_ = std::make_unique<fiber>(std::move(body));
    resume_at(net_.now());
  }
  bool has_ended() const { return !process_ || process_->has_ended(); }
  /// Stops the process, as SIGSTOP does: the host still answers. Continues it after `time`.
  void stop(clock::duration time) {
    if (++stops_ == 1) is_stopped_ = true;
    net_.at(net_.now() + time, [this] {
      if (--stops_ > 0) return;
      is_stopped_ = false;
      if (std::exchange(is_due_, false)) resume();
    });
  }
  /// Ends the process, as SIGKILL does. To free its memory, its function runs to its end: all further calls
  /// fail, and time passes only for this process.
  void kill() {
    exit();
    if (process_ && !process_->has_ended()) process_->resume();
  }
  /// Like kill, but called by the process.
  void exit() {
    if (std::exchange(is_dead_, true)) return;
    time_after_death_ = net_.now();
    auto const open = std::move(descriptors_);
    for (auto const& [descriptor, socket] : open) socket->close();
  }
  bool is_dead() const { return is_dead_; }

  std::shared_ptr<simulated_socket> listener(std::uint16_t port) const {
    auto const found = listeners_.find(port);
    return found == listeners_.end() ? nullptr : found->second.lock();
  }
  /// A socket of this host may have an event.
  void notify(simulated_socket const& one);

  // The process's calls.
  detail::time_source& time() override { return *this; }
  clock::time_point now() override { return is_dead_ ? time_after_death_ : net_.now(); }
  bool is_virtual() const override { return true; }
  void let_pass(clock::duration time) override { yield_until(now() + std::max<clock::duration>(time, 1us)); }

  std::unique_ptr<detail::socket_events> events() override { return std::make_unique<watched>(*this); }
  int open(int) override {
    if (is_dead_) return failed(EMFILE);
    int descriptor = 0;
    while (descriptors_.contains(descriptor)) ++descriptor;
    descriptors_[descriptor] = std::make_shared<simulated_socket>(*this);
    return descriptor;
  }
  void close(int descriptor) noexcept override {
    auto const found = descriptors_.find(descriptor);
    if (found == descriptors_.end()) return;
    auto const socket = std::move(found->second);
    descriptors_.erase(found);
    socket->close();
  }
  int listen(int descriptor, detail::endpoint const& at) override {
    if (is_dead_) return EBADF;
    std::uint16_t const port = at.port() > 0 ? at.port() : next_port_++;
    if (listener(port)) return EADDRINUSE;
    auto const& one = descriptors_.at(descriptor);
    one->listens = true;
    one->local = address(port);
    listeners_[port] = one;
    return 0;
  }
  int connect(int descriptor, detail::endpoint const& to) override {
    if (is_dead_) return EBADF;
    auto const& one = descriptors_.at(descriptor);
    one->local = address(next_port_++);
    one->connect(to);
    return 0;
  }
  int accept(int descriptor, detail::endpoint& from) override {
    if (is_dead_) return failed(EAGAIN);
    simulated_socket& one = *descriptors_.at(descriptor);
    if (one.accepted.empty()) return failed(EAGAIN);
    int const made = open(AF_INET);
    descriptors_[made] = std::move(one.accepted.front());
    one.accepted.pop_front();
    from = descriptors_[made]->remote;
    return made;
  }
  ssize_t send(int descriptor, std::span<std::byte const> bytes) noexcept override {
    return is_dead_ ? failed(EPIPE) : descriptors_.at(descriptor)->write(bytes);
  }
  ssize_t receive(int descriptor, std::span<std::byte> bytes) noexcept override {
    return is_dead_ ? failed(ECONNRESET) : descriptors_.at(descriptor)->read(bytes);
  }
  bool has_bytes(int descriptor) noexcept override {
    return !is_dead_ && descriptors_.at(descriptor)->is_readable();
  }
  int failure(int descriptor) override {
    return is_dead_ ? EBADF : std::exchange(descriptors_.at(descriptor)->error, 0);
  }
  detail::endpoint local(int descriptor) override {
    return is_dead_ ? address() : descriptors_.at(descriptor)->local;
  }
  detail::endpoint remote(int descriptor) override {
    if (is_dead_) return {};
    simulated_socket const& one = *descriptors_.at(descriptor);
    return one.is_connected ? one.remote : detail::endpoint();
  }

 private:
  class watched final : public detail::socket_events {
   public:
    explicit watched(simulated_host& home) : home_(home) {}
    void watch(int descriptor, std::uint64_t id, interest in) override {
      if (home_.is_dead_) return;
      all_[descriptor] = {home_.descriptors_.at(descriptor), id, in};
    }
    void ignore(int descriptor) noexcept override { all_.erase(descriptor); }
    void watch(detail::socket_events& others, std::uint64_t id) override {
      nested_[static_cast<watched*>(&others)] = id;
    }
    void ignore(detail::socket_events& others) noexcept override {
      nested_.erase(static_cast<watched*>(&others));
    }
    std::span<std::uint64_t const> ready(std::span<std::uint64_t> ids) override {
      std::size_t count = 0;
      for (auto one = all_.begin(); one != all_.end() && count < ids.size();) {
        auto const socket = one->second.socket.lock();
        if (!socket || home_.is_dead_) {
          one = all_.erase(one);
          continue;
        }
        if (has_event(*socket, one->second.in)) ids[count++] = one->second.id;
        ++one;
      }
      for (auto const& [others, id] : nested_)
        if (std::uint64_t any[1]; count < ids.size() && !others->ready(any).empty()) ids[count++] = id;
      return ids.first(count);
    }
    void wait(std::chrono::milliseconds limit) override {
      std::uint64_t any[1];
      if (!ready(any).empty()) return home_.let_pass(1us);
      home_.waits_ = this;
      home_.yield_until(home_.now() + limit);
      home_.waits_ = nullptr;
    }
    void wake() noexcept override {}
    bool reports(simulated_socket const& which) const {
      return std::ranges::any_of(all_,
                                 [&](auto const& one) {
                                   return one.second.socket.lock().get() == &which
                                          && has_event(which, one.second.in);
                                 })
             || std::ranges::any_of(nested_, [&](auto const& one) { return one.first->reports(which); });
    }

   private:
    struct entry {
      std::weak_ptr<simulated_socket> socket;
      std::uint64_t id;
      interest in;
    };
    static bool has_event(simulated_socket const& one, interest in) {
      return in == interest::readable ? one.is_readable() : one.is_writable();
    }
    simulated_host& home_;
    std::map<int, entry> all_;
    std::map<watched*, std::uint64_t> nested_;
  };

  static int failed(int reason) {
    errno = reason;
    return -1;
  }
  void resume_at(clock::time_point when) {
    net_.at(when, [this, turn = ++turn_] {
      if (turn == turn_) resume();
    });
  }
  void resume() {
    if (is_dead_ || has_ended()) return;
    is_due_ = is_stopped_;
    if (!is_stopped_) process_->resume();
  }
  void yield_until(clock::time_point when) {
    if (is_dead_) {
      time_after_death_ = std::max(time_after_death_, when);
      return;
    }
    resume_at(when);
    process_->yield();
  }

  simulated_network& net_;
  int number_;
  std::unique_ptr<fiber> process_;
  std::map<int, std::shared_ptr<simulated_socket>> descriptors_;
  std::map<std::uint16_t, std::weak_ptr<simulated_socket>> listeners_;
  std::uint16_t next_port_ = 20'000;
  watched* waits_ = nullptr;  // the events that the process awaits
  bool is_dead_ = false, is_stopped_ = false, is_due_ = false;
  int stops_ = 0;
  std::uint64_t turn_ = 0;
  clock::time_point time_after_death_{};
};

inline simulated_host& simulated_network::add_host() {
  hosts_.push_back(std::make_unique<simulated_host>(*this, hosts()));
  return *hosts_.back();
}

inline void simulated_host::notify(simulated_socket const& one) {
  if (!waits_ || !waits_->reports(one)) return;
  waits_ = nullptr;
  std::uniform_int_distribution<int> delay(1, 20);  // µs until the system runs the process
  resume_at(net_.now() + std::chrono::microseconds(delay(net_.random)));
}

inline simulated_network& simulated_socket::net() const { return home_.net(); }
inline int simulated_socket::here() const { return home_.number(); }
inline int simulated_socket::there() const { return simulated_host::host_of(remote); }
inline void simulated_socket::changed() {
  if (!is_closed_) home_.notify(*this);
}

/// Sends a packet to the other end. If the other end no longer exists, its host resets the connection.
inline void simulated_socket::to_peer(std::function<void(simulated_socket&)> what) {
  net().send(
      here(), there(),
      [to = peer_, what = std::move(what), from = weak_from_this(), n = &net(), h = here(), t = there()] {
        if (auto const peer = to.lock()) return what(*peer);
        n->send(t, h, [from] {
          if (auto const one = from.lock()) one->fail(ECONNRESET);
        });
      });
}

inline void simulated_socket::connect(detail::endpoint const& to) {
  remote = to;
  timeout_ = net().first_connecting_timeout;
  ask_to_connect();
  // A host that does not answer to its address (ARP) is unreachable.
  net().at(net().now() + 3 * timeout_, [from = weak_from_this()] {
    auto const one = from.lock();
    if (one && !one->is_connected && one->net().between(one->here(), one->there()).is_cut)
      one->fail(EHOSTUNREACH);
  });
}

inline void simulated_socket::ask_to_connect() {
  net().send(here(), there(), [from = weak_from_this(), port = remote.port()] {
    if (auto const one = from.lock()) one->arrive_at_listener(port);
  });
  set_timer(timeout_);
}

/// A SYN of this socket has arrived at the other host.
inline void simulated_socket::arrive_at_listener(int port) {
  constexpr std::size_t longest_queue = 4096;
  if (is_connected) return;
  auto const answer = [this](std::function<void(simulated_socket&)> what) {
    net().send(there(), here(), [to = weak_from_this(), what = std::move(what)] {
      if (auto const one = to.lock()) what(*one);
    });
  };
  auto const accepts = [](simulated_socket& one) {
    if (one.is_connected || one.error != 0) return;
    if (one.is_closed_) return one.to_peer([](simulated_socket& peer) { peer.fail(ECONNRESET); });
    one.is_connected = true;
    one.timer_is_set_ = false;
    one.timeout_ = one.net().first_timeout;
    one.changed();
  };
  if (has_peer_) return answer(accepts);  // a repeated SYN: the answer was lost
  auto const listener = net().host(there()).listener(static_cast<std::uint16_t>(port));
  if (!listener) return answer([](simulated_socket& one) { one.fail(ECONNREFUSED); });
  if (listener->accepted.size() >= longest_queue) return;
  auto const made = std::make_shared<simulated_socket>(net().host(there()));
  made->local = remote;
  made->remote = local;
  made->is_connected = made->has_peer_ = has_peer_ = true;
  made->timeout_ = net().first_timeout;
  made->peer_ = weak_from_this();
  peer_ = made;
  listener->accepted.push_back(made);
  listener->changed();
  answer(accepts);
}

inline ssize_t simulated_socket::write(std::span<std::byte const> bytes) {
  if (error != 0) {
    errno = error;
    return -1;
  }
  std::size_t const count = is_connected ? std::min(bytes.size(), space()) : 0;
  if (count == 0) {
    errno = EAGAIN;
    return -1;
  }
  out_.insert(out_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
  push();
  return static_cast<ssize_t>(count);
}

inline ssize_t simulated_socket::read(std::span<std::byte> bytes) {
  std::size_t const count = std::min(bytes.size(), in_.size() - begin_);
  if (count == 0) {
    if (error == 0 && has_end_) return 0;
    errno = error != 0 ? error : EAGAIN;
    return -1;
  }
  bool const was_full = in_.size() - begin_ > capacity - segment;
  std::copy_n(in_.begin() + static_cast<std::ptrdiff_t>(begin_), count, bytes.begin());
  begin_ += count;
  if (begin_ == in_.size()) {
    in_.clear();
    begin_ = 0;
  }
  if (was_full && error == 0) acknowledge();
  return static_cast<ssize_t>(count);
}

inline void simulated_socket::close() {
  is_closed_ = true;
  for (auto const& one : accepted) one->close();
  accepted.clear();
  listens = false;
  if (error != 0 || !is_connected) return;
  if (begin_ < in_.size()) {  // unread bytes
    to_peer([](simulated_socket& peer) { peer.fail(ECONNRESET); });
    error = EBADF;
    return;
  }
  ends_ = true;
  push();
}

inline void simulated_socket::fail(int reason) {
  if (error != 0) return;
  error = reason;
  out_.clear();
  sent_ = 0;
  ++timer_;
  changed();
}

inline void simulated_socket::push() {
  if (error != 0 || !is_connected) return;
  std::size_t const most = probes_ ? segment : capacity;
  while (next_ < end() && next_ < edge_ && next_ - acknowledged_ < most) {
    std::size_t const count = std::min<std::uint64_t>({segment, end() - next_, edge_ - next_});
    auto const first = out_.begin() + static_cast<std::ptrdiff_t>(sent_ + next_ - acknowledged_);
    to_peer([from = next_, bytes = std::vector<std::byte>(first, first + static_cast<std::ptrdiff_t>(count))](
                simulated_socket& peer) { peer.receive(from, bytes, false); });
    next_ += count;
  }
  if (ends_ && next_ == end() && !std::exchange(end_is_sent_, true))
    to_peer([from = next_](simulated_socket& peer) { peer.receive(from, {}, true); });
  bool const waits = next_ > acknowledged_ || next_ < end() || (end_is_sent_ && !end_is_acknowledged_);
  if (waits && !timer_is_set_) set_timer(timeout_);
}

inline void simulated_socket::set_timer(clock::duration after) {
  timer_is_set_ = true;
  // Keeps a closed socket until its bytes are acknowledged.
  net().at(net().now() + after, [one = shared_from_this(), timer = ++timer_] {
    if (one->timer_is_set_ && timer == one->timer_) one->timeout();
  });
}

inline void simulated_socket::timeout() {
  timer_is_set_ = false;
  if (error != 0) return;
  timeout_ = std::min(2 * timeout_, simulated_network::longest_timeout);
  if (!is_connected) {
    if (!is_closed_) ask_to_connect();
    return;
  }
  next_ = acknowledged_;
  end_is_sent_ = false;
  probes_ = true;
  if (next_ < end() && next_ >= edge_)  // probes the window
    to_peer([from = next_](simulated_socket& peer) { peer.receive(from, {}, false); });
  push();
}

inline void simulated_socket::receive(std::uint64_t from, std::vector<std::byte> const& bytes, bool is_last) {
  if (error != 0) return;
  if (is_closed_ && !bytes.empty()) {
    error = EBADF;
    return to_peer([](simulated_socket& peer) { peer.fail(ECONNRESET); });
  }
  if (from <= received_) {
    std::uint64_t const known = std::min<std::uint64_t>(received_ - from, bytes.size());
    std::uint64_t const count = std::min(bytes.size() - known, right_edge() - received_);
    auto const first = bytes.begin() + static_cast<std::ptrdiff_t>(known);
    in_.insert(in_.end(), first, first + static_cast<std::ptrdiff_t>(count));
    received_ += count;
    if (is_last && from == received_ && !has_end_) has_end_ = true;
  }
  acknowledge();
  changed();
}

inline void simulated_socket::acknowledge() {
  to_peer([until = received_ + (has_end_ ? 1 : 0), edge = right_edge()](simulated_socket& peer) {
    peer.acknowledged(until, edge);
  });
}

inline void simulated_socket::acknowledged(std::uint64_t until, std::uint64_t edge) {
  if (error != 0) return;
  edge_ = std::max(edge_, edge);
  std::uint64_t const bytes = std::min(until, end());
  bool const has_new = bytes > acknowledged_ || (until > end() && !end_is_acknowledged_);
  if (until > end()) end_is_acknowledged_ = true;
  if (bytes > acknowledged_) {
    sent_ += bytes - acknowledged_;
    acknowledged_ = bytes;
    if (sent_ == out_.size() || sent_ > capacity) {
      out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent_));
      sent_ = 0;
    }
    next_ = std::max(next_, bytes);
  }
  if (has_new) {
    probes_ = false;
    timeout_ = net().first_timeout;
    timer_is_set_ = false;
  }
  push();
  if (has_new) changed();
}

}  // namespace tcp_simulation
