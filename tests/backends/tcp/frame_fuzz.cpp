// SPDX-License-Identifier: Apache-2.0
// needs: tcp
// Malformed bytes from the network: they are refused by a communicator_error, or they are messages within the
// bounds of their receives. The first byte selects frames of a rank (0), a registration (1), an answer of the
// rendezvous (2), a greeting (3), or a message of a process (4) or of the service (5) of an elastic job.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/backends_tcp_frame_fuzz some/folder tests/backends/tcp/frame_fuzz
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/membership_service.hpp>
#include <cohort/tcp/detail/rendezvous.hpp>
#include <cohort/tcp/detail/tcp_receiver.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace {

using namespace cohort;
using detail::channel;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Receives the events of a receiver, and counts the receives that have ended.
struct counted final : detail::tcp_receiver::events {
  void received(std::uint64_t one, std::uint64_t) override {
    require(one >= 1 && one <= begun);
    ++ended;
  }
  void control(detail::control_message, std::span<std::byte const> bytes) override { require_small(bytes); }
  void acknowledged(detail::control_message) override {}
  void other(detail::frame_header::kind what, std::span<std::byte const> bytes) override {
    require(what == detail::frame_header::kind::ring || what == detail::frame_header::kind::maps_ring
            || what >= detail::frame_header::kind::wake);
    require_small(bytes);
  }
  static void require_small(std::span<std::byte const> bytes) {
    require(bytes.size() <= detail::frame_header::most_in_frame);
  }

  std::uint64_t begun = 0, ended = 0;
};

void use_frames(std::span<std::byte const> bytes) {
  if (bytes.empty()) return;
  std::size_t const piece = std::to_integer<std::size_t>(bytes[0]) + 1;
  bytes = bytes.subspan(1);
  counted events;
  detail::tcp_receiver from;
  std::vector<std::uint8_t> small(8), large(20'000);
  std::vector<float> sums(5'000);
  from.receive(++events.begun, channel::collective, 1, std::span(small), std::nullopt, events);
  from.receive(++events.begun, channel::peer, 2, std::span(large), std::nullopt, events);
  from.receive(++events.begun, channel::collective, 5, std::span(sums), reduction::sum, events);
  try {
    while (!bytes.empty()) {
      std::size_t const now = std::min(piece, bytes.size());
      from.use(bytes.first(now), events);
      bytes = bytes.subspan(now);
    }
  } catch (communicator_error const&) {
  }
  from.receive(++events.begun, channel::peer, 3, std::span(small), std::nullopt, events);
  if (auto const waiting = from.waiting(channel::peer, 4); waiting && *waiting < 1 << 20) {
    std::vector<std::uint8_t> rest(*waiting);
    from.receive(++events.begun, channel::peer, 4, std::span(rest), std::nullopt, events);
    from.abandon();
  }
  from.abandon();
  require(events.ended <= events.begun);
}

template <class Message>
void decode(std::span<std::byte const> bytes) {
  Message const made = Message::decoded(bytes);
  Message const again = Message::decoded(made.encoded());
  require(again.encoded() == made.encoded());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  // A copy of exactly this size, so that the address sanitizer detects reads past the end.
  auto const* const first = reinterpret_cast<std::byte const*>(data);
  std::vector<std::byte> const bytes(first + 1, first + size);
  try {
    switch (data[0] % 6) {
      case 0:
        use_frames(bytes);
        break;
      case 1:
        decode<detail::registration>(bytes);
        break;
      case 2:
        decode<detail::rendezvous_answer>(bytes);
        break;
      case 4:
        decode<detail::member_message>(bytes);
        break;
      case 5:
        decode<detail::service_message>(bytes);
        break;
      default: {
        std::array<std::byte, detail::greeting::bytes> got{};
        std::copy_n(bytes.begin(), std::min(bytes.size(), got.size()), got.begin());
        int from = -1;
        std::string const why = detail::greeting::refusal(got, {.to = 1, .size = 4}, from);
        require(why.empty() == (from >= 0) && from < 4 && from != 1);
      }
    }
  } catch (communicator_error const&) {
  }
  return 0;
}
