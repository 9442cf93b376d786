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

/// A key that the processes of a job derive from their secret.
using job_key = std::array<std::byte, 32>;

/// Throws setting_error unless only the file's owner may read it, who is this user or root. If root owns it,
/// its group may read it, too: an administrator, such as Kubernetes with fsGroup, has given it to the group.
/// `what`: "the secret of the job".
void require_private(std::string const& path, char const* what);

/// Reads the secret of a job from a file, and derives its key. A line end at the end of the file is not part
/// of the secret.
///
/// Errors    file_error; as require_private; setting_error for a secret of fewer than 16 or more than 4096
///           bytes.
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
  /// Errors    setting_error with OpenSSL's message for files that it cannot use, and for an encrypted key;
  ///           as require_private for the key.
  tls_identity(std::string const& certificate, std::string const& key, std::string const& authorities);

  bool encrypts() const { return context_ != nullptr; }
  /// Whether both sides must use the shared key.
  bool requires_key() const { return requires_key_; }
  SSL_CTX* context() const { return context_.get(); }

  /// Records of at most 16 KiB that one key encrypts; then the sender changes it.
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
  /// Cause of a failure. network: the connection, the peer's process or this one. identity: the keys or
  /// certificates of both sides do not match. job: the peer does not know the job's name, or uses
  /// certificates instead of a key. encryption: one side uses TLS and the other does not. protocol: the peer
  /// is another program.
  enum class cause { network, identity, job, encryption, protocol };

  secure_stream() = default;
  secure_stream(tcp_socket over, role as, tls_identity const& identity);

  /// Continues the connection attempt and the handshake.
  progress advance();
  /// The reason of a failure.
  std::string const& failure() const { return failure_; }
  cause failure_cause() const { return cause_; }
  bool is_connected() const { return connected_; }
  /// Whether another attempt would fail, too: no process listens at the address, or the process belongs to
  /// another job or program.
  bool is_refused() const { return refused_; }
  /// The cause of an error code of OpenSSL.
  static cause cause_of(unsigned long error);

  /// As tcp_socket. After nullopt, failure() is the reason; empty if the peer has closed the connection.
  std::optional<std::size_t> send(std::span<std::byte const> bytes);
  std::optional<std::size_t> receive(std::span<std::byte> bytes);

  tcp_socket const& socket() const { return *socket_; }
  bool is_open() const { return socket_ && socket_->is_open(); }
  /// Whether the handshake waits for bytes, rather than until it can send some.
  bool waits_for_bytes() const;

 private:
  std::optional<std::size_t> fail(std::string why, cause due_to = cause::network);
  std::optional<std::size_t> result_of(int code, std::size_t moved);

  std::unique_ptr<tcp_socket> socket_;  // the address is stable: TLS reads from it
  std::shared_ptr<SSL> tls_;
  role role_ = role::client;
  bool connected_ = false, ready_ = false, requires_key_ = false, refused_ = false;
  std::uint64_t records_per_key_ = 0, records_ = 0;  // records_: with the present key
  std::string failure_;
  cause cause_ = cause::network;
};

}  // namespace cohort::detail
