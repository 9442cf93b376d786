// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/types.h>

#include <array>
#include <cohort/tcp/detail/socket.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cohort::detail {

/// Pre-shared key (PSK) of a job, derived from its secret.
using job_key = std::array<std::byte, 32>;

/// Throws setting_error unless the file belongs to this user or root, and only its owner can access it. If
/// root owns the file, its group may read it, too, because Kubernetes mounts secrets in this way with
/// fsGroup. `what`: the file's purpose for the message, such as "the secret of the job".
void require_private(std::string const& path, char const* what);

/// Reads the secret of a job from a file, and derives the job's key. Line ends at the end of the file are not
/// part of the secret.
///
/// Errors    file_error; as require_private; setting_error for a secret of fewer than 16 or more than 4096
///           bytes.
job_key key_from_file(std::string const& path, std::string_view job);

/// Authentication and encryption of connections: TLS 1.3 with a pre-shared key, TLS 1.3 with certificates, or
/// no TLS.
///
/// Source    RFC 8446; external pre-shared keys with an ephemeral Diffie-Hellman exchange (psk_dhe_ke), which
///           provides forward secrecy.
class tls_identity {
 public:
  /// Connections without TLS.
  tls_identity() = default;
  /// A pre-shared key. `job`: the PSK identity that a client sends, and that a server requires.
  tls_identity(job_key const& key, std::string job);
  /// Certificates. Each side requires that the peer's certificate is signed by one of `authorities`.
  ///
  /// Errors    setting_error with OpenSSL's message for files that OpenSSL cannot use or an encrypted key;
  ///           as require_private for the key.
  tls_identity(std::string const& certificate, std::string const& key, std::string const& authorities);

  bool encrypts() const { return context_ != nullptr; }
  /// Returns whether both sides must use the pre-shared key.
  bool requires_key() const { return requires_key_; }
  SSL_CTX* context() const { return context_.get(); }

  /// Number of TLS records (at most 16 KiB each) after which the sender updates its traffic key.
  ///
  /// Source    RFC 8446, 5.5: at most 2^24.5 records for AES-GCM.
  std::uint64_t records_per_key = std::uint64_t{1} << 23;

 private:
  std::shared_ptr<SSL_CTX> context_;
  bool requires_key_ = false;
};

/// A connection that sends and receives bytes, encrypted or not.
///
/// Order     call advance until it returns ready, whenever the socket is readable or writable.
class secure_stream {
 public:
  enum class role { client, server };
  enum class progress { waits, ready, failed };
  /// Cause of a failure. network: the connection, or one of the two processes. identity: the keys or
  /// certificates of both sides do not match. job: the peer does not know the job's name, or uses
  /// certificates instead of a key. encryption: one side uses TLS and the other does not. protocol: the peer
  /// is another program.
  enum class cause { network, identity, job, encryption, protocol };

  secure_stream() = default;
  secure_stream(tcp_socket over, role as, tls_identity const& identity);

  /// Continues the connection attempt and the TLS handshake.
  progress advance();
  /// Returns the reason of the failure; "" if there is none, or if the peer has closed the connection.
  std::string const& failure() const { return failure_; }
  cause failure_cause() const { return cause_; }
  bool is_connected() const { return connected_; }
  /// Returns whether further attempts would fail, too: no process listens at the address, or the listening
  /// process belongs to another job or program.
  bool is_refused() const { return refused_; }
  /// Returns the cause of an OpenSSL error code.
  static cause cause_of(unsigned long error);

  /// Like tcp_socket::send and receive. After nullopt, failure() is the reason; "" if the peer has closed the
  /// connection.
  std::optional<std::size_t> send(std::span<std::byte const> bytes);
  std::optional<std::size_t> receive(std::span<std::byte> bytes);

  tcp_socket const& socket() const { return *socket_; }
  bool is_open() const { return socket_ && socket_->is_open(); }
  /// Returns whether the TLS handshake waits until the socket is readable, not until it is writable.
  bool waits_for_bytes() const;

 private:
  std::optional<std::size_t> fail(std::string why, cause due_to = cause::network);
  std::optional<std::size_t> result_of(int code, std::size_t moved);

  std::unique_ptr<tcp_socket> socket_;  // the address is stable: TLS reads from it
  std::shared_ptr<SSL> tls_;
  role role_ = role::client;
  bool connected_ = false, ready_ = false, requires_key_ = false, refused_ = false;
  std::uint64_t records_per_key_ = 0, records_ = 0;  // records_: sent with the current key
  std::string failure_;
  cause cause_ = cause::network;
};

}  // namespace cohort::detail
