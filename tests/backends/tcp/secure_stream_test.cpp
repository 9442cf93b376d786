// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/stat.h>

#include <atomic>
#include <cohort/tcp/detail/rendezvous.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "../../data/refused.hpp"
#include "tcp_ranks.hpp"

namespace secure_stream_test {

using namespace tcp_test;
using detail::secure_stream;
using detail::tls_identity;
using progress = secure_stream::progress;

/// A key and a certificate, which is signed by a certificate authority (CA) or self-signed.
class certificate {
 public:
  explicit certificate(certificate const* authority = nullptr)
      : key_(::EVP_EC_gen("P-256"), ::EVP_PKEY_free), own_(::X509_new(), ::X509_free) {
    ::ASN1_INTEGER_set(::X509_get_serialNumber(own_.get()), authority ? 2 : 1);
    ::X509_gmtime_adj(::X509_getm_notBefore(own_.get()), -60);
    ::X509_gmtime_adj(::X509_getm_notAfter(own_.get()), 3600);
    ::X509_set_version(own_.get(), 2);
    ::X509_set_pubkey(own_.get(), key_.get());
    X509_NAME* const name = ::X509_get_subject_name(own_.get());
    ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                 reinterpret_cast<unsigned char const*>(authority ? "rank" : "authority"), -1,
                                 -1, 0);
    certificate const& by = authority ? *authority : *this;
    ::X509_set_issuer_name(own_.get(), ::X509_get_subject_name(by.own_.get()));
    if (!authority) {
      X509_EXTENSION* const is_authority =
          ::X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
      ::X509_add_ext(own_.get(), is_authority, -1);
      ::X509_EXTENSION_free(is_authority);
    }
    ::X509_sign(own_.get(), by.key_.get(), ::EVP_sha256());
  }

  std::string certificate_file() const {
    return written([&](std::FILE* to) { ::PEM_write_X509(to, own_.get()); });
  }
  std::string key_file(char const* password = nullptr) const {
    return written([&](std::FILE* to) {
      ::PEM_write_PrivateKey(to, key_.get(), password ? ::EVP_aes_256_cbc() : nullptr,
                             reinterpret_cast<unsigned char const*>(password),
                             password ? static_cast<int>(std::string(password).size()) : 0, nullptr, nullptr);
    });
  }
  EVP_PKEY* key() const { return key_.get(); }
  X509* own() const { return own_.get(); }

 private:
  template <class Write>
  static std::string written(Write write) {
    std::string path = fresh_path("pem" + std::to_string(++files_));
    std::FILE* const to = std::fopen(path.c_str(), "w");
    ::chmod(path.c_str(), 0600);
    write(to);
    std::fclose(to);
    return path;
  }

  inline static int files_ = 0;
  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> own_;
};

/// Both ends of a connection.
struct connected {
  connected(tls_identity const& of_client, tls_identity const& of_server)
      : listening(detail::tcp_socket::listening(loopback(), {})),
        client(detail::tcp_socket::connecting(listening.local()), secure_stream::role::client, of_client) {
    std::optional<detail::tcp_socket> made;
    while (!(made = listening.accept())) ::poll(nullptr, 0, 1);
    server = secure_stream(*std::move(made), secure_stream::role::server, of_server);
  }
  /// Continues both handshakes until both have ended.
  bool is_ready() {
    progress a = progress::waits, b = progress::waits;
    for (int k = 0; k < 5000 && (a == progress::waits || b == progress::waits); ++k) {
      if (a == progress::waits) a = client.advance();
      if (b == progress::waits) b = server.advance();
      if (a == progress::failed || b == progress::failed) break;
      ::poll(nullptr, 0, 1);
    }
    return a == progress::ready && b == progress::ready;
  }
  /// Sends bytes from the client to the server. Returns the bytes that have arrived.
  std::vector<std::byte> pass(std::span<std::byte const> bytes) {
    std::vector<std::byte> got, piece(50'000);
    std::size_t const wanted = bytes.size();
    for (int idle = 0; got.size() < wanted && idle < 5000;) {
      std::optional<std::size_t> const out = client.send(bytes), in = server.receive(std::span(piece));
      if (!out || !in) break;
      bytes = bytes.subspan(*out);
      got.insert(got.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(*in));
      idle = *out + *in > 0 ? 0 : idle + 1;
      if (idle > 0) ::poll(nullptr, 0, 1);
    }
    return got;
  }

  detail::tcp_socket listening;
  secure_stream client, server;
};

std::vector<std::byte> many_bytes() {
  std::vector<std::byte> made(300'000);
  for (std::size_t k = 0; k < made.size(); ++k) made[k] = std::byte(k * 31 >> 3);
  return made;
}

TEST(secure_stream, transfers_bytes_with_a_shared_key) {
  connected both(shared_key(), shared_key());
  ASSERT_TRUE(both.is_ready()) << both.client.failure() << both.server.failure();
  EXPECT_EQ(both.pass(many_bytes()), many_bytes());
}

TEST(secure_stream, updates_the_key_after_a_number_of_records) {
  tls_identity identity = shared_key();
  identity.records_per_key = 3;
  static std::atomic<int> changes = 0;
  changes = 0;
  ::SSL_CTX_set_msg_callback(identity.context(),
                             [](int sent, int, int type, void const* bytes, std::size_t, SSL*, void*) {
                               if (sent == 1 && type == SSL3_RT_HANDSHAKE
                                   && *static_cast<unsigned char const*>(bytes) == SSL3_MT_KEY_UPDATE)
                                 ++changes;
                             });
  connected both(identity, shared_key());
  ASSERT_TRUE(both.is_ready());
  EXPECT_EQ(both.pass(many_bytes()), many_bytes());
  EXPECT_GE(changes, 5);
}

/// A server that has a certificate, and ignores the keys that clients offer.
class rogue_server {
 public:
  rogue_server()
      : listening_(detail::tcp_socket::listening(loopback(), {})),
        context_(::SSL_CTX_new(::TLS_server_method()), ::SSL_CTX_free) {
    ::SSL_CTX_use_certificate(context_.get(), own_.own());
    ::SSL_CTX_use_PrivateKey(context_.get(), own_.key());
    thread_ = std::thread([this] { run(); });
  }
  ~rogue_server() {
    ends_ = true;
    thread_.join();
  }
  detail::endpoint address() const { return listening_.local(); }
  /// Bytes that clients have sent after the handshake.
  std::int64_t received() const { return received_; }
  bool has_met_a_client() const { return met_; }

 private:
  void run() {
    while (!ends_) {
      pollfd one{listening_.descriptor(), POLLIN, 0};
      ::poll(&one, 1, 5);
      std::optional<detail::tcp_socket> const made = listening_.accept();
      if (!made) continue;
      met_ = true;
      std::shared_ptr<SSL> const tls(::SSL_new(context_.get()), ::SSL_free);
      ::SSL_set_fd(tls.get(), made->descriptor());
      ::SSL_set_accept_state(tls.get());
      for (int k = 0; k < 300 && !ends_; ++k) {
        char bytes[256];
        int const count = ::SSL_read(tls.get(), bytes, sizeof bytes);
        if (count > 0) received_ += count;
        int const why = ::SSL_get_error(tls.get(), count);
        if (count <= 0 && why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) break;
        ::poll(nullptr, 0, 1);
      }
    }
  }

  detail::tcp_socket listening_;
  std::shared_ptr<SSL_CTX> context_;
  certificate own_;
  std::atomic<bool> ends_ = false, met_ = false;
  std::atomic<std::int64_t> received_ = 0;
  std::thread thread_;
};

TEST(secure_stream, distinguishes_wrong_keys_from_network_errors_and_other_programs) {
  using cause = detail::secure_stream::cause;
  auto const of = [](int library, int reason) {
    return detail::secure_stream::cause_of(ERR_PACK(library, 0, reason));
  };
  auto const alert = [&](int number) { return of(ERR_LIB_SSL, SSL_AD_REASON_OFFSET + number); };
  EXPECT_EQ(of(ERR_LIB_SSL, SSL_R_BINDER_DOES_NOT_VERIFY), cause::identity);
  EXPECT_EQ(of(ERR_LIB_SSL, SSL_R_CERTIFICATE_VERIFY_FAILED), cause::identity);
  EXPECT_EQ(of(ERR_LIB_SSL, SSL_R_NO_SHARED_CIPHER), cause::job);
  EXPECT_EQ(alert(SSL_AD_HANDSHAKE_FAILURE), cause::job);
  EXPECT_EQ(alert(SSL_AD_UNKNOWN_PSK_IDENTITY), cause::job);
  EXPECT_EQ(alert(SSL_AD_ILLEGAL_PARAMETER), cause::identity);
  EXPECT_EQ(alert(SSL_AD_INSUFFICIENT_SECURITY), cause::encryption);
  EXPECT_EQ(of(ERR_LIB_SSL, SSL_R_WRONG_VERSION_NUMBER), cause::protocol);
  EXPECT_EQ(alert(SSL_AD_PROTOCOL_VERSION), cause::protocol);
  EXPECT_EQ(alert(SSL_AD_INTERNAL_ERROR), cause::network);
  EXPECT_EQ(of(ERR_LIB_SSL, ERR_R_MALLOC_FAILURE), cause::network);
  EXPECT_EQ(of(ERR_LIB_X509, 1), cause::network);
  EXPECT_EQ(detail::secure_stream::cause_of(0), cause::network);
}

TEST(secure_stream, a_server_that_does_not_know_the_secret_receives_nothing) {
  rogue_server rogue;
  refused<setting_error>([&] {
    detail::join_rendezvous({"127.0.0.1", rogue.address().port()}, shared_key(),
                            {.job = "job", .host = "h", .ranks = 2, .addresses = {loopback()}}, 500ms);
  });
  EXPECT_TRUE(rogue.has_met_a_client());
  EXPECT_EQ(rogue.received(), 0);
  detail::tcp_sender to({rogue.address()}, {}, shared_key(), 500ms);
  std::vector<std::byte> const message(100);
  to.send(1, detail::channel::collective, 1, message);
  for (int k = 0; k < 2000 && to.failure().empty(); ++k) {
    to.advance([](detail::transport::ticket) { ADD_FAILURE() << "it was sent"; });
    ::poll(nullptr, 0, 1);
  }
  EXPECT_NE(to.failure(), "");
  EXPECT_EQ(rogue.received(), 0);
}

TEST(secure_stream, requires_certificates_of_the_ca_on_both_sides) {
  certificate const authority, rank(&authority), other_authority, stranger(&other_authority);
  tls_identity const right(rank.certificate_file(), rank.key_file(), authority.certificate_file());
  tls_identity const wrong(stranger.certificate_file(), stranger.key_file(), authority.certificate_file());
  {
    connected both(right, right);
    ASSERT_TRUE(both.is_ready()) << both.client.failure() << both.server.failure();
    EXPECT_EQ(both.pass(many_bytes()), many_bytes());
  }
  for (tls_identity const& bad : {wrong, shared_key(), tls_identity()}) {
    // The refusing side may detect the error after the other side's handshake has ended.
    connected to_server(bad, right);
    EXPECT_FALSE(to_server.is_ready() && to_server.pass(many_bytes()) == many_bytes());
    connected to_client(right, bad);
    EXPECT_FALSE(to_client.is_ready() && to_client.pass(many_bytes()) == many_bytes());
  }
  on_tcp_ranks(
      3,
      [](communicator& world) {
        std::vector<float> all(1000, 1.0F);
        world.allreduce(std::span(all));
        EXPECT_EQ(all[999], 3.0F);
      },
      right);
}

TEST(secure_stream, refuses_unusable_private_keys) {
  certificate const authority, rank(&authority);
  std::string const chain = rank.certificate_file(), of = authority.certificate_file();
  expect_parts(refused<setting_error>([&] { tls_identity(chain, rank.key_file("password"), of); }),
               {"cannot use a file for TLS", "not encrypted"});
  std::string const open = rank.key_file();
  ::chmod(open.c_str(), 0644);
  expect_parts(refused<setting_error>([&] { tls_identity(chain, open, of); }),
               {"other users may read the key of the certificate", "chmod 600", "644"});
  certificate const other(&authority);
  expect_parts(refused<setting_error>([&] { tls_identity(chain, other.key_file(), of); }),
               {"cannot use a file"});
}

}  // namespace secure_stream_test
