// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/types.h>

#include <cohort/tcp/detail/socket.hpp>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cohort::detail {

/// A key that the processes of a job derive from their secret.
using job_key = std::array<std::byte, 32>;

/// Reads the secret of a job from a file, and derives its key. A line end at the end of the file is not part
/// of the secret.
///
/// Errors    file_error; setting_error if other users may read the file, or for a secret of fewer than 16 or
///           more than 4096 bytes.
job_key key_from_file(std::string const& path, std::string_view job);

/// How connections are authenticated and encrypted: by TLS 1.3 with a shared key or certificates, or not.
///
/// Source    RFC 8446; external pre-shared keys with an ephemeral Diffie-Hellman exchange (psk_dhe_ke), so
///           that a secret that becomes known later decrypts nothing.
class tls_identity {
 public:
  /// No TLS.
  tls_identity() = default;
  /// A shared key. `job`: the identity that a client sends, and that a server requires.
  tls_identity(job_key const& key, std::string job);
  /// Certificates. Each side requires a certificate of the other one that `authorities` have signed.
  ///
  /// Errors    setting_error with OpenSSL's message for files that it cannot use.
  tls_identity(std::string const& certificate, std::string const& key, std::string const& authorities);

  bool encrypts() const { return context_ != nullptr; }
  SSL_CTX* context() const { return context_.get(); }

 private:
  std::shared_ptr<SSL_CTX> context_;
};

/// A connection that sends and receives bytes, encrypted or not.
///
/// Order     call advance until it returns ready, whenever the socket is readable or writable.
class secure_stream {
 public:
  enum class role { client, server };
  enum class progress { waits, ready, failed };

  secure_stream() = default;
  secure_stream(tcp_socket over, role as, tls_identity const& identity);

  /// Continues the connection attempt and the handshake.
  progress advance();
  /// The reason of a failure.
  std::string const& failure() const { return failure_; }

  /// As tcp_socket. After nullopt, failure() is the reason; empty if the peer has closed the connection.
  std::optional<std::size_t> send(std::span<std::byte const> bytes);
  std::optional<std::size_t> receive(std::span<std::byte> bytes);

  tcp_socket const& socket() const { return *socket_; }
  bool is_open() const { return socket_ && socket_->is_open(); }

 private:
  std::optional<std::size_t> fail(std::string why);
  std::optional<std::size_t> result_of(int code, std::size_t moved);

  std::unique_ptr<tcp_socket> socket_;  // the address is stable: TLS reads from it
  std::shared_ptr<SSL> tls_;
  role role_ = role::client;
  bool connected_ = false, ready_ = false;
  std::string failure_;
};

}  // namespace cohort::detail

#ifndef COHORT_TCP_COMPILED
#include <cohort/tcp/impl/secure_stream.ipp>
#endif
