// SPDX-License-Identifier: Apache-2.0
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/tcp/detail/secure_stream.hpp>
#include <cstring>
#include <utility>

namespace cohort::detail {

std::string tls_reason() {
  char text[256] = "";
  unsigned long const code = ::ERR_get_error();
  if (code == 0) return "no reason";
  ::ERR_error_string_n(code, text, sizeof text);
  ::ERR_clear_error();
  return text;
}

void require_private(std::string const& path, char const* what) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw file_error(
        {.what = {"cannot read the mode of ", what}, .where = path, .got = std::strerror(errno)});
  bool const is_ours = status.st_uid == ::geteuid() || status.st_uid == 0;
  mode_t const others = S_IRWXO | (status.st_uid == 0 ? S_IWGRP | S_IXGRP : S_IRWXG);
  if (is_ours && (status.st_mode & others) == 0) return;
  auto const digit = [&](int bits) { return static_cast<int>((status.st_mode >> bits) & 7); };
  throw setting_error(
      {.what = {"other users may read ", what},
       .where = path,
       .expected = "a file of this user that only its owner may read: chmod 600",
       .got = {"the mode ", digit(6), digit(3), digit(0), is_ours ? "" : " of another user"}});
}

job_key key_from_file(std::string const& path, std::string_view job) {
  constexpr std::size_t shortest = 16, longest = 4096;
  std::string secret = io::read_text(path, longest + 2);
  require_private(path, "the secret of the job");
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (secret.size() < shortest || secret.size() > longest)
    throw setting_error(
        {.what = "the secret of the job has an invalid length",
         .where = path,
         .expected = {shortest, " to ", longest, " bytes, such as those of: openssl rand -hex 32"},
         .got = {secret.size()}});
  std::string const purpose = "cohort job key 1 " + std::string(job);
  job_key made{};
  unsigned bytes = 0;
  bool const derived = ::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                              reinterpret_cast<unsigned char const*>(purpose.data()), purpose.size(),
                              reinterpret_cast<unsigned char*>(made.data()), &bytes)
                       != nullptr;
  ::OPENSSL_cleanse(secret.data(), secret.size());
  if (!derived || bytes != made.size())
    throw communicator_error(
        {.what = "cannot derive the key of the job", .where = path, .got = tls_reason()});
  return made;
}

/// Pre-shared key (PSK) and its identity, attached to a TLS context. OpenSSL expects the key as a TLS
/// session.
struct shared_key {
  job_key key;
  std::string job;

  static int index() {
    static int const number = ::SSL_CTX_get_ex_new_index(
        0, nullptr, nullptr, nullptr,
        [](void*, void* ours, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<shared_key*>(ours); });
    return number;
  }
  static shared_key const& of(SSL* tls) {
    return *static_cast<shared_key const*>(::SSL_CTX_get_ex_data(::SSL_get_SSL_CTX(tls), index()));
  }

  /// Returns a new session with this key, which the caller owns; null on failure.
  SSL_SESSION* session(SSL* tls) const {
    SSL_SESSION* const made = ::SSL_SESSION_new();
    unsigned char const aes_128_gcm_sha256[]{0x13, 0x01};
    SSL_CIPHER const* const cipher = ::SSL_CIPHER_find(tls, aes_128_gcm_sha256);
    if (made && cipher && ::SSL_SESSION_set_cipher(made, cipher) == 1
        && ::SSL_SESSION_set1_master_key(made, reinterpret_cast<unsigned char const*>(key.data()), key.size())
               == 1
        && ::SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION) == 1)
      return made;
    ::SSL_SESSION_free(made);
    return nullptr;
  }
};

std::shared_ptr<SSL_CTX> new_context() {
  std::shared_ptr<SSL_CTX> made(::SSL_CTX_new(::TLS_method()), ::SSL_CTX_free);
  if (!made) throw communicator_error({.what = "cannot initialise TLS", .got = tls_reason()});
  ::SSL_CTX_set_min_proto_version(made.get(), TLS1_3_VERSION);
  ::SSL_CTX_set_max_proto_version(made.get(), TLS1_3_VERSION);
  ::SSL_CTX_set_mode(made.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                                     | SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_options(made.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  ::SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_num_tickets(made.get(), 0);  // no resumption, and no early data, which could be replayed
  constexpr long longest_chain = 32 << 10;
  ::SSL_CTX_set_max_cert_list(made.get(), longest_chain);
  return made;
}

tls_identity::tls_identity(job_key const& key, std::string job)
    : context_(new_context()), requires_key_(true) {
  ::SSL_CTX_set_ciphersuites(context_.get(), "TLS_AES_128_GCM_SHA256");
  ::SSL_CTX_set_ex_data(context_.get(), shared_key::index(), new shared_key{key, std::move(job)});
  ::SSL_CTX_set_psk_use_session_callback(context_.get(), [](SSL* tls, EVP_MD const*, unsigned char const** id,
                                                            std::size_t* bytes, SSL_SESSION** session) {
    shared_key const& ours = shared_key::of(tls);
    *id = reinterpret_cast<unsigned char const*>(ours.job.data());
    *bytes = ours.job.size();
    *session = ours.session(tls);
    return *session ? 1 : 0;
  });
  ::SSL_CTX_set_psk_find_session_callback(
      context_.get(), [](SSL* tls, unsigned char const* id, std::size_t bytes, SSL_SESSION** session) {
        shared_key const& ours = shared_key::of(tls);
        bool const same = std::string_view(reinterpret_cast<char const*>(id), bytes) == ours.job;
        *session = same ? ours.session(tls) : nullptr;
        return 1;  // if there is no certificate either, the handshake fails
      });
}

tls_identity::tls_identity(std::string const& certificate, std::string const& key,
                           std::string const& authorities)
    : context_(new_context()) {
  auto const require = [&](int code, std::string const& path, char const* expected) {
    if (code != 1)
      throw setting_error(
          {.what = "cannot use a file for TLS", .where = path, .expected = expected, .got = tls_reason()});
  };
  require_private(key, "the key of the certificate");
  // Without this, OpenSSL asks for the password of an encrypted key on the terminal.
  ::SSL_CTX_set_default_passwd_cb(context_.get(), [](char*, int, int, void*) { return 0; });
  ::ERR_clear_error();
  require(::SSL_CTX_use_certificate_chain_file(context_.get(), certificate.c_str()), certificate,
          "a certificate chain in PEM form");
  require(::SSL_CTX_use_PrivateKey_file(context_.get(), key.c_str(), SSL_FILETYPE_PEM), key,
          "the private key of the certificate in PEM form, not encrypted");
  require(::SSL_CTX_load_verify_locations(context_.get(), authorities.c_str(), nullptr), authorities,
          "certificates of authorities in PEM form");
  ::SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
}

/// A BIO over a tcp_socket. OpenSSL's own socket BIO raises SIGPIPE.
struct socket_bio {
  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* const one = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "cohort socket");
      ::BIO_meth_set_write(one, [](BIO* bio, char const* bytes, int count) {
        return moved(bio, of(bio).send(std::as_bytes(std::span(bytes, static_cast<std::size_t>(count)))),
                     true);
      });
      ::BIO_meth_set_read(one, [](BIO* bio, char* bytes, int count) {
        return moved(
            bio, of(bio).receive(std::as_writable_bytes(std::span(bytes, static_cast<std::size_t>(count)))),
            false);
      });
      ::BIO_meth_set_ctrl(one,
                          [](BIO*, int what, long, void*) -> long { return what == BIO_CTRL_FLUSH ? 1 : 0; });
      return one;
    }();
    return made;
  }
  static tcp_socket& of(BIO* bio) { return *static_cast<tcp_socket*>(::BIO_get_data(bio)); }
  static int moved(BIO* bio, std::optional<std::size_t> bytes, bool writes) {
    BIO_clear_retry_flags(bio);
    if (!bytes) return errno == 0 ? 0 : -1;
    if (*bytes > 0) return static_cast<int>(*bytes);
    writes ? BIO_set_retry_write(bio) : BIO_set_retry_read(bio);
    return -1;
  }
};

secure_stream::secure_stream(tcp_socket over, role as, tls_identity const& identity)
    : socket_(std::make_unique<tcp_socket>(std::move(over))),
      role_(as),
      connected_(as == role::server),
      requires_key_(identity.requires_key()),
      records_per_key_(identity.records_per_key) {
  if (!identity.encrypts()) return;
  tls_.reset(::SSL_new(identity.context()), ::SSL_free);
  BIO* const bio = ::BIO_new(socket_bio::method());
  if (!tls_ || !bio) throw communicator_error({.what = "cannot begin TLS", .got = tls_reason()});
  ::BIO_set_data(bio, socket_.get());
  ::BIO_set_init(bio, 1);
  ::SSL_set_bio(tls_.get(), bio, bio);
  // A server may answer with a certificate instead of the pre-shared key. Without authorities, verification
  // refuses any certificate.
  if (as == role::client && requires_key_) ::SSL_set_verify(tls_.get(), SSL_VERIFY_PEER, nullptr);
  as == role::client ? ::SSL_set_connect_state(tls_.get()) : ::SSL_set_accept_state(tls_.get());
}

std::optional<std::size_t> secure_stream::fail(std::string why, cause due_to) {
  if (failure_.empty()) {
    failure_ = std::move(why);
    cause_ = due_to;
    refused_ = refused_ || due_to != cause::network;
  }
  return std::nullopt;
}

secure_stream::cause secure_stream::cause_of(unsigned long error) {
  int const reason = ERR_GET_REASON(error);
  // Errors outside libssl, and reasons common to all libraries, such as a lack of memory.
  if (ERR_GET_LIB(error) != ERR_LIB_SSL || (reason & ERR_RFLAG_COMMON) != 0) return cause::network;
  switch (reason) {
    case SSL_R_BINDER_DOES_NOT_VERIFY:
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return cause::identity;
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:  // the PSK identity is unknown, and there is no certificate
      return cause::job;
    default:
      break;
  }
  if (reason < SSL_AD_REASON_OFFSET) return cause::protocol;
  switch (reason - SSL_AD_REASON_OFFSET) {  // an alert: the reason comes from the peer
    case SSL_AD_INTERNAL_ERROR:
    case SSL_AD_USER_CANCELLED:
      return cause::network;
    case SSL_AD_UNEXPECTED_MESSAGE:
    case SSL_AD_RECORD_OVERFLOW:
    case SSL_AD_DECODE_ERROR:
    case SSL_AD_PROTOCOL_VERSION:
      return cause::protocol;
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_UNKNOWN_PSK_IDENTITY:
      return cause::job;
    case SSL_AD_INSUFFICIENT_SECURITY:  // sent by a rendezvous without TLS
      return cause::encryption;
    default:
      return cause::identity;
  }
}

secure_stream::progress secure_stream::advance() {
  if (ready_) return progress::ready;
  if (!connected_) {
    if (int const reason = socket_->failure(); reason != 0) {
      refused_ = reason == ECONNREFUSED;
      fail(std::strerror(reason));
      return progress::failed;
    }
    if (socket_->remote().family() == 0) return progress::waits;  // not connected yet
    connected_ = true;
  }
  if (!tls_) {
    ready_ = true;
    return progress::ready;
  }
  ::ERR_clear_error();
  int const code = ::SSL_do_handshake(tls_.get());
  if (code == 1) {
    // A server may ignore the pre-shared key that a client offers. Without tickets, SSL_session_reused
    // returns 1 only if the key was used.
    if (requires_key_ && ::SSL_session_reused(tls_.get()) != 1) {
      fail("the peer does not know the secret of the job", cause::identity);
      return progress::failed;
    }
    ready_ = true;
    return progress::ready;
  }
  if (result_of(code, 0)) return progress::waits;
  if (failure_.empty()) failure_ = "the peer has closed the connection during the TLS handshake";
  return progress::failed;
}

std::optional<std::size_t> secure_stream::result_of(int code, std::size_t moved) {
  int const reason = errno;
  switch (::SSL_get_error(tls_.get(), code)) {
    case SSL_ERROR_NONE:
      return moved;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return 0;
    case SSL_ERROR_ZERO_RETURN:
      return std::nullopt;
    case SSL_ERROR_SYSCALL:
      return reason == 0 ? std::nullopt : fail(std::strerror(reason));
    default: {
      cause const due_to = cause_of(::ERR_peek_error());
      return fail("TLS: " + tls_reason(), due_to);
    }
  }
}

std::optional<std::size_t> secure_stream::send(std::span<std::byte const> bytes) {
  if (!tls_) {
    std::optional<std::size_t> const moved = socket_->send(bytes);
    return moved ? moved : fail(std::strerror(errno));
  }
  if (bytes.empty()) return 0;
  std::size_t moved = 0;
  ::ERR_clear_error();
  errno = 0;
  int const code = ::SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &moved);
  if (code == 1) {
    records_ += (moved + SSL3_RT_MAX_PLAIN_LENGTH - 1) / SSL3_RT_MAX_PLAIN_LENGTH;
    if (records_ >= records_per_key_ && ::SSL_key_update(tls_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1)
      records_ = 0;
  }
  return result_of(code, moved);
}

bool secure_stream::waits_for_bytes() const {
  return tls_ && connected_ && !ready_ && SSL_want_read(tls_.get());
}

std::optional<std::size_t> secure_stream::receive(std::span<std::byte> bytes) {
  if (!tls_) {
    std::optional<std::size_t> const moved = socket_->receive(bytes);
    return moved || errno == 0 ? moved : fail(std::strerror(errno));
  }
  if (bytes.empty()) return 0;
  std::size_t moved = 0;
  ::ERR_clear_error();
  errno = 0;
  int const code = ::SSL_read_ex(tls_.get(), bytes.data(), bytes.size(), &moved);
  return result_of(code, moved);
}

}  // namespace cohort::detail
