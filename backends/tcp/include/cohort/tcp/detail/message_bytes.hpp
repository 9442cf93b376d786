// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/tcp/detail/endpoint.hpp>
#include <cohort/tcp/detail/frame.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::detail {

/// Serialises numbers, texts and addresses, or deserialises them in the same order.
///
/// Errors    communicator_error for bytes that no process of this version sends.
class message_bytes {
 public:
  message_bytes() = default;
  explicit message_bytes(std::span<std::byte const> from) : from_(from) {}

  template <class Number>
  void put(Number number) {
    std::byte bytes[sizeof number];
    put_number(bytes, number);
    written.insert(written.end(), bytes, bytes + sizeof number);
  }
  void put(std::span<std::byte const> bytes) {
    put(static_cast<std::uint32_t>(bytes.size()));
    written.insert(written.end(), bytes.begin(), bytes.end());
  }
  void put(std::string const& text) { put(std::as_bytes(std::span(text))); }
  void put(std::vector<endpoint> const& addresses) {
    put(static_cast<std::uint32_t>(addresses.size()));
    for (endpoint const& address : addresses) put(std::span<std::byte const>(address.encoded()));
  }

  template <class Number>
  Number number() {
    return number_at<Number>(take(sizeof(Number)).data());
  }
  std::span<std::byte const> bytes() { return take(number<std::uint32_t>()); }
  std::string text() {
    std::span<std::byte const> const found = bytes();
    return {reinterpret_cast<char const*>(found.data()), found.size()};
  }
  std::vector<endpoint> addresses() {
    std::vector<endpoint> found;
    for (std::uint32_t left = count(sizeof(std::uint32_t) + endpoint::encoded_bytes); left > 0; --left)
      found.push_back(endpoint::decoded(bytes()));
    return found;
  }
  /// Reads an element count, and refuses one that cannot fit: each element has at least `least` bytes.
  std::uint32_t count(std::size_t least) {
    auto const found = number<std::uint32_t>();
    if (found > from_.size() / least) refuse();
    return found;
  }
  void end() const {
    if (!from_.empty()) refuse();
  }

  std::vector<std::byte> written;

 private:
  std::span<std::byte const> take(std::size_t count) {
    if (count > from_.size()) refuse();
    std::span<std::byte const> const taken = from_.first(count);
    from_ = from_.subspan(count);
    return taken;
  }
  [[noreturn]] static void refuse() {
    throw communicator_error({.what = "a message of the rendezvous is damaged",
                              .expected = "a message of this version",
                              .got = "other bytes"});
  }

  std::span<std::byte const> from_;
};

}  // namespace cohort::detail
