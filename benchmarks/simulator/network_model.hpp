// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <vector>

namespace benchmarks {

/// Fabric that connects the hosts of a cluster.
///
/// Units     seconds, bytes per second. `latency`: time between two hosts, including the software of both
///           sides. `message_seconds`: processor time per message, at the sender and again at the receiver;
///           `processor_bytes_per_second`: rate at which the receiver's processor copies or adds the bytes of
///           messages (0: takes no time). `burst_bytes`: bytes that an interface transfers at once after a
///           pause, as a token bucket does. `oversubscription`: total bandwidth of a rack's hosts, divided by
///           the bandwidth of the rack's uplink; 0 hosts per rack: one non-blocking switch.
struct fabric {
  double latency = 0;
  double bytes_per_second = 1;
  double message_seconds = 0;
  double processor_bytes_per_second = 0;
  double burst_bytes = 0;
  int ranks_per_host = 1;
  double local_latency = 1e-6;
  double local_bytes_per_second = 10e9;
  int hosts_per_rack = 0;
  double oversubscription = 1;
};

/// A message in flight: `head` is the time at which its first byte reaches the next link, `tail` the time of
/// its last byte.
struct transit {
  int from = 0, to = 0;
  std::size_t bytes = 0;
  int hop = 0;
  double head = 0, tail = 0;
};

/// Links of a cluster: a network interface per host and direction, an uplink per rack and direction, and the
/// memory of each host.
///
///     rank → processor → interface → [uplink → core → uplink] → interface → processor → rank
///
/// Each link transfers one message after another, in the order in which their first bytes arrive. A message
/// enters the next link as soon as its first byte arrives, so an idle path costs latency + bytes / bandwidth.
/// Simplification: flows that share a link alternate by message instead of by packet; the throughput of the
/// link is the same.
class network_model {
 public:
  network_model(int ranks, fabric const& how) : how_(how) {
    auto const require = [](bool holds, char const* where, char const* expected, double got) {
      if (!holds)
        throw cohort::setting_error({.what = "a setting of the network is not valid",
                                     .where = where,
                                     .expected = expected,
                                     .got = {got}});
    };
    require(ranks > 0, "ranks", "at least 1", ranks);
    require(how.ranks_per_host > 0, "ranks_per_host", "at least 1", how.ranks_per_host);
    require(how.hosts_per_rack >= 0, "hosts_per_rack", "at least 0", how.hosts_per_rack);
    require(how.bytes_per_second > 0, "bytes_per_second", "more than 0", how.bytes_per_second);
    require(how.local_bytes_per_second > 0, "local_bytes_per_second", "more than 0",
            how.local_bytes_per_second);
    require(how.oversubscription >= 1, "oversubscription", "at least 1", how.oversubscription);
    require(how.latency >= 0, "latency", "at least 0", how.latency);
    require(how.local_latency >= 0, "local_latency", "at least 0", how.local_latency);
    require(how.message_seconds >= 0, "message_seconds", "at least 0", how.message_seconds);
    require(how.processor_bytes_per_second >= 0, "processor_bytes_per_second", "at least 0",
            how.processor_bytes_per_second);
    require(how.burst_bytes >= 0, "burst_bytes", "at least 0", how.burst_bytes);
    auto const hosts = static_cast<std::size_t>((ranks - 1) / how.ranks_per_host + 1);
    free_at_.resize(links_per_host * hosts + 2 * hosts);
    processor_free_at_.resize(static_cast<std::size_t>(ranks));
  }

  /// Sends a message at time `now`. The message reaches its first link at the time `head` of the result.
  transit begin(double now, int from, int to, std::size_t bytes) {
    double const ready = use_processor(from, now, 0);
    return {from, to, bytes, 0, ready, ready};
  }

  /// Transfers a message over its next link, and sets head and tail to the times at which they reach the
  /// following link. Returns whether another link follows. If not, `tail` is the time at which the last byte
  /// has arrived.
  ///
  /// Order     calls in the order of `head`.
  bool advance(transit& message) {
    int const from = host_of(message.from), to = host_of(message.to);
    if (from == to) {
      cross(message, link(from, memory), {how_.local_bytes_per_second, how_.local_latency});
      return false;
    }
    int const hops = rack_of(from) == rack_of(to) ? 2 : 4;
    bool const is_last = message.hop == hops - 1;
    if (message.hop == 0)
      cross(message, link(from, outgoing), {how_.bytes_per_second, how_.latency, how_.burst_bytes});
    else if (is_last)
      cross(message, link(to, incoming), {how_.bytes_per_second, 0, how_.burst_bytes});
    else
      cross(message, message.hop == 1 ? uplink(rack_of(from), 0) : uplink(rack_of(to), 1),
            {how_.bytes_per_second * how_.hosts_per_rack / how_.oversubscription, 0});
    ++message.hop;
    return !is_last;
  }

  /// Returns the time at which the receiver has processed a message that has arrived.
  ///
  /// Order     calls in the order of `tail`, and of calls of `begin`.
  double end(transit const& message) {
    double const rate = how_.processor_bytes_per_second;
    return use_processor(message.to, message.tail, rate > 0 ? static_cast<double>(message.bytes) / rate : 0);
  }

 private:
  enum host_link { outgoing, incoming, memory };
  static constexpr std::size_t links_per_host = 3;

  int host_of(int rank) const { return rank / how_.ranks_per_host; }
  int rack_of(int host) const { return how_.hosts_per_rack > 0 ? host / how_.hosts_per_rack : 0; }
  double& link(int host, host_link which) {
    return free_at_[links_per_host * static_cast<std::size_t>(host) + which];
  }
  double& uplink(int rack, std::size_t direction) {
    std::size_t const hosts = free_at_.size() / (links_per_host + 2);
    return free_at_[links_per_host * hosts + 2 * static_cast<std::size_t>(rack) + direction];
  }
  double use_processor(int rank, double from, double seconds) {
    if (how_.message_seconds + seconds == 0) return from;
    double& free_at = processor_free_at_[static_cast<std::size_t>(rank)];
    return free_at = std::max(free_at, from) + how_.message_seconds + seconds;
  }
  struct link_speed {
    double bytes_per_second, latency;
    double burst_bytes = 0;
  };
  /// `free_at`: the time at which the link has tokens for all bytes so far; bytes may pass up to a burst
  /// earlier.
  static void cross(transit& message, double& free_at, link_speed const& speed) {
    double const burst = speed.burst_bytes / speed.bytes_per_second;
    double const begin = std::max(message.head, free_at - burst);
    free_at = std::max(message.head, free_at) + static_cast<double>(message.bytes) / speed.bytes_per_second;
    message.head = begin + speed.latency;
    message.tail = std::max({free_at - burst, begin, message.tail}) + speed.latency;
  }

  fabric how_;
  std::vector<double> free_at_;            // per link: when all messages so far are transferred
  std::vector<double> processor_free_at_;  // per rank: when its processor is free
};

}  // namespace benchmarks
