// Our server against our client over socket pairs; certificates are made here.
#define BOOST_TEST_DYN_LINK
#include "net/tls.h"
#include "net/tls_tickets.h"

#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>

using namespace loligo::net;

namespace {

struct Authority {
  std::filesystem::path directory;
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = nullptr;
  long serial = 1;

  Authority() {
    std::signal(SIGPIPE, SIG_IGN);
    char name[] = "/tmp/loligo-tls-XXXXXX";
    directory = ::mkdtemp(name);
    certificate = make("Test CA", "", key, nullptr, key, 3600);
    write("ca.pem", certificate, nullptr);
  }
  ~Authority() {
    X509_free(certificate);
    EVP_PKEY_free(key);
    std::filesystem::remove_all(directory);
  }

  X509* make(const char* common_name, const std::string& alternatives, EVP_PKEY* own, X509* issuer, EVP_PKEY* signer, long seconds) {
    X509* x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
    X509_gmtime_adj(X509_getm_notBefore(x), -86400);
    X509_gmtime_adj(X509_getm_notAfter(x), seconds);
    X509_NAME* subject = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(common_name), -1, -1, 0);
    X509_set_issuer_name(x, issuer ? X509_get_subject_name(issuer) : subject);
    X509_set_pubkey(x, own);
    auto add = [&](int nid, const std::string& value) {
      X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
      BOOST_REQUIRE(extension);
      X509_add_ext(x, extension, -1);
      X509_EXTENSION_free(extension);
    };
    if (!issuer) add(NID_basic_constraints, "critical,CA:TRUE");
    if (!alternatives.empty()) add(NID_subject_alt_name, alternatives);
    X509_sign(x, signer, EVP_sha256());
    return x;
  }
  std::string write(const std::string& name, X509* x, EVP_PKEY* own) {
    std::string path = directory / name;
    FILE* file = std::fopen(path.c_str(), "w");
    if (x) PEM_write_X509(file, x);
    if (own) PEM_write_PrivateKey(file, own, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    return path;
  }
  // Certificate and key in one file.
  std::string issue(const std::string& file, const char* common_name, const std::string& alternatives, bool rsa = false,
                    long seconds = 3600) {
    EVP_PKEY* own = rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
    X509* x = make(common_name, alternatives, own, certificate, key, seconds);
    std::string path = write(file, x, own);
    X509_free(x);
    EVP_PKEY_free(own);
    return path;
  }
  std::string ca() const { return directory / "ca.pem"; }
};

using Server = std::shared_ptr<const TlsServerContext>;
using Client = std::shared_ptr<const TlsClientContext>;

Server server(const TlsSettings& settings) {
  std::string error;
  Server context = TlsServerContext::build(settings, error);
  BOOST_REQUIRE_MESSAGE(context, error);
  return context;
}
Client client(const TlsSettings& settings) {
  std::string error;
  Client context = TlsClientContext::build(settings, error);
  BOOST_REQUIRE_MESSAGE(context, error);
  return context;
}
TlsSettings with_certificates(std::initializer_list<std::string> files) {
  TlsSettings settings;
  for (const auto& file : files) settings.certificates.push_back({file, ""});
  return settings;
}
TlsSettings trusting(const Authority& authority) {
  TlsSettings settings;
  settings.ca_file = authority.ca();
  settings.default_ca = false;
  return settings;
}

// Boost.Test's own checks are for one thread.
void ensure(bool condition) {
  if (!condition) throw std::runtime_error("the test cannot go on");
}

struct Pair {
  std::unique_ptr<TlsStream> near, far;   // client, server
  IoResult near_result{IoStatus::again}, far_result{IoStatus::again};

  Pair(const Server& s, const Client& c, std::string_view host, int buffer = 0) {
    int fds[2];
    ensure(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    for (int fd : fds)
      if (buffer) ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    near = TlsStream::connect(fds[0], c, host, 443);
    far = TlsStream::accept(fds[1], s);
    for (int i = 0; i < 2000 && (near_result.status == IoStatus::again || far_result.status == IoStatus::again); ++i) {
      if (near_result.status == IoStatus::again) near_result = near->handshake();
      if (far_result.status == IoStatus::again) far_result = far->handshake();
      if (near_result.status == IoStatus::failed && far_result.status == IoStatus::again) near.reset(), near_result = {IoStatus::closed};
    }
  }
  bool ok() const { return near_result.status == IoStatus::ok && far_result.status == IoStatus::ok; }
  // A few bytes from the server, so that the client has read the tickets.
  void exchange() {
    iovec part{const_cast<char*>("x"), 1};
    ensure(far->write(&part, 1).bytes == 1);
    char c;
    ensure(near->read(&c, 1).bytes == 1);
  }
};

// The reason why the client refuses.
std::string refusal(const Server& s, const Client& c, std::string_view host) {
  int fds[2];
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
  auto near = TlsStream::connect(fds[0], c, host, 443);
  auto far = TlsStream::accept(fds[1], s);
  IoResult result{IoStatus::again};
  for (int i = 0; i < 100 && result.status == IoStatus::again; ++i) {
    result = near->handshake();
    far->handshake();
  }
  if (result.status != IoStatus::failed) return "";
  char byte;
  BOOST_TEST((near->read(&byte, 1).status == IoStatus::failed));   // and stays refused
  iovec part{&byte, 1};
  BOOST_TEST((near->write(&part, 1).status == IoStatus::failed));
  return std::string(near->failure());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tls)

BOOST_AUTO_TEST_CASE(server_name_selects_the_certificate) {
  Authority authority;
  Server s = server(with_certificates({authority.issue("a.pem", "first", "DNS:a.example,IP:127.0.0.1"),
                                       authority.issue("b.pem", "second", "DNS:b.example,DNS:*.wild.example"),
                                       authority.issue("c.pem", "exact", "DNS:x.wild.example", true),
                                       authority.issue("d.pem", "by-name.example", "")}));
  TlsSettings settings = trusting(authority);
  Client strict = client(settings);
  settings.flags = {"DONT_VERIFY_DOMAIN"};
  Client any_name = client(settings);
  struct { const char *host, *subject, *sni; bool verifies; } const cases[] = {
      {"a.example", "CN=first", "a.example", true},
      {"B.Example.", "CN=second", "b.example", true},
      {"y.wild.example", "CN=second", "y.wild.example", true},
      {"x.wild.example", "CN=exact", "x.wild.example", true},
      {"z.y.wild.example", "CN=first", "z.y.wild.example", false},
      {"wild.example", "CN=first", "wild.example", false},
      {"by-name.example", "CN=by-name.example", "by-name.example", true},
      {"unknown.example", "CN=first", "unknown.example", false},
      {"127.0.0.1", "CN=first", "", true},
      {"127.0.0.2", "CN=first", "", false},
  };
  for (const auto& c : cases) {
    BOOST_TEST_CONTEXT(c.host) {
      Pair pair(s, any_name, c.host);
      BOOST_REQUIRE(pair.ok());
      BOOST_TEST(pair.near->peer_subject() == c.subject);
      BOOST_TEST(pair.far->sni() == c.sni);
      BOOST_TEST(pair.near->sni() == c.sni);
      BOOST_TEST(pair.near->tls_version() == "TLSv1.3");
      BOOST_TEST(!pair.near->tls_cipher().empty());
      BOOST_TEST(pair.near->is_tls());
      BOOST_TEST(Pair(s, strict, c.host).ok() == c.verifies);
    }
  }
  std::string why = refusal(s, strict, "unknown.example");
  BOOST_TEST(why == "certificate refused: hostname mismatch");
  BOOST_TEST(refusal(s, strict, "127.0.0.2") == "certificate refused: IP address mismatch");
  BOOST_TEST(!refusal(s, strict, "").empty());
}

BOOST_AUTO_TEST_CASE(who_is_trusted) {
  Authority authority, other;
  Server s = server(with_certificates({authority.issue("a.pem", "a", "DNS:a.example")}));
  Server old = server(with_certificates({authority.issue("old.pem", "a", "DNS:a.example", false, -60)}));
  TlsSettings wrong = trusting(other);
  BOOST_TEST(refusal(s, client(wrong), "a.example").starts_with("certificate refused: "));
  BOOST_TEST(refusal(old, client(trusting(authority)), "a.example") == "certificate refused: certificate has expired");
  wrong.flags = {"DONT_VERIFY_PEER"};
  Pair pair(s, client(wrong), "b.example");
  BOOST_TEST(pair.ok());
  BOOST_TEST(!pair.near->peer_verify_error().empty());

  TlsSettings renamed = trusting(authority);
  renamed.domain = "A.example";   // ssldomain=
  Pair by_domain(s, client(renamed), "10.1.2.3");
  BOOST_TEST(by_domain.ok());
  BOOST_TEST(by_domain.far->sni() == "a.example");
}

BOOST_AUTO_TEST_CASE(both_kinds_of_key_for_one_name) {
  Authority authority;
  Server s = server(with_certificates({authority.issue("x.pem", "x", "DNS:x.example"), authority.issue("rsa.pem", "rsa", "DNS:a.example", true),
                                       authority.issue("ec.pem", "ec", "DNS:a.example")}));
  for (const char* kind : {"RSA", "ECDSA"}) {
    TlsSettings settings = trusting(authority);
    settings.options = "NO_TLSv1_3";
    settings.cipher = std::string("ECDHE-") + kind + "-AES128-GCM-SHA256";
    Pair pair(s, client(settings), "a.example");
    BOOST_REQUIRE(pair.ok());
    BOOST_TEST(pair.near->peer_subject() == (kind[0] == 'R' ? "CN=rsa" : "CN=ec"));
    BOOST_TEST(pair.near->tls_cipher() == settings.cipher);
    BOOST_TEST(pair.near->tls_version() == "TLSv1.2");
  }
}

BOOST_AUTO_TEST_CASE(versions) {
  Authority authority;
  TlsSettings settings = with_certificates({authority.issue("a.pem", "a", "DNS:a.example")});
  settings.min_version = "1.3";
  Server s = server(settings);
  TlsSettings old = trusting(authority);
  old.options = "NO_TLSv1_3";
  std::string why = refusal(s, client(old), "a.example");
  BOOST_TEST(why.find("protocol version") != std::string::npos, why);
  BOOST_TEST(Pair(s, client(trusting(authority)), "a.example").ok());
  old.options = "NO_TLSv1_3,!NO_TLSv1_3";
  BOOST_TEST(Pair(s, client(old), "a.example").ok());
}

BOOST_AUTO_TEST_CASE(resumption) {
  Authority authority;
  const std::string file = authority.issue("a.pem", "a", "DNS:a.example,DNS:b.example");
  struct { const char *server_options, *client_options, *server_flag, *client_flag; bool resumes; } const cases[] = {
      {"", "", "", "", true},                                  // TLS 1.3 tickets
      {"", "NO_TLSv1_3", "", "", true},                        // TLS 1.2 tickets
      {"NO_TICKET", "", "", "", true},                         // the server's cache
      {"NO_TICKET", "NO_TLSv1_3", "", "", true},
      {"", "", "NO_SESSION_REUSE", "", false},
      {"", "NO_TLSv1_3", "NO_SESSION_REUSE", "", false},
      {"", "", "", "NO_SESSION_REUSE", false},
  };
  for (const auto& c : cases) {
    BOOST_TEST_CONTEXT(c.server_options << " " << c.client_options << " " << c.server_flag << " " << c.client_flag) {
      TlsSettings ours = with_certificates({file}), theirs = trusting(authority);
      ours.options = c.server_options;
      theirs.options = c.client_options;
      if (*c.server_flag) ours.flags = {c.server_flag};
      if (*c.client_flag) theirs.flags = {c.client_flag};
      Server s = server(ours);
      Client k = client(theirs);
      for (int i = 0; i < 4; ++i) {
        Pair pair(s, k, "a.example");
        BOOST_REQUIRE(pair.ok());
        BOOST_TEST(pair.near->resumed() == (c.resumes && i > 0), "connection " << i);
        BOOST_TEST(pair.far->resumed() == pair.near->resumed());
        BOOST_TEST(pair.far->sni() == "a.example");
        pair.exchange();
      }
      Pair other(s, k, "b.example");   // another host, so no session of the first
      BOOST_REQUIRE(other.ok());
      BOOST_TEST(!other.near->resumed());
    }
  }
}

// A ticket is read as long as it may live, and no key seals for longer than its period.
BOOST_AUTO_TEST_CASE(ticket_keys_change) {
  using Found = TicketKeys::Found;
  TicketKeys keys;
  TicketKey first, second, found;
  BOOST_REQUIRE(keys.for_sealing(1000, first));
  BOOST_REQUIRE(keys.for_sealing(1000 + TicketKeys::kPeriodSeconds - 1, second));
  BOOST_TEST(std::memcmp(&first, &second, sizeof first) == 0);
  BOOST_REQUIRE(keys.for_sealing(1000 + TicketKeys::kPeriodSeconds, second));
  BOOST_TEST(std::memcmp(first.name, second.name, sizeof first.name) != 0);
  BOOST_TEST(std::memcmp(first.cipher, second.cipher, sizeof first.cipher) != 0);
  int64_t now = 1000 + TicketKeys::kPeriodSeconds + 3600;
  BOOST_TEST((keys.find(first.name, now, found) == Found::previous));
  BOOST_TEST(std::memcmp(&first, &found, sizeof first) == 0);
  BOOST_TEST((keys.find(second.name, now, found) == Found::current));
  now += TicketKeys::kPeriodSeconds;
  BOOST_TEST((keys.find(first.name, now, found) == Found::no));
  BOOST_TEST((keys.find(second.name, now, found) == Found::previous));
  now += 2 * TicketKeys::kPeriodSeconds;   // nobody came for a day: what was the current key is older than any ticket
  BOOST_TEST((keys.find(second.name, now, found) == Found::no));
}

BOOST_AUTO_TEST_CASE(workers_share_contexts) {
  Authority authority;
  Server s = server(with_certificates({authority.issue("a.pem", "a", "DNS:a.example"), authority.issue("b.pem", "b", "DNS:b.example")}));
  Client k = client(trusting(authority));
  std::atomic<int> resumed{0};
  auto work = [&](const char* host) {
    for (int i = 0; i < 30; ++i) {
      Pair pair(s, k, host);
      pair.exchange();
      resumed += pair.near->resumed();
    }
  };
  std::thread one(work, "a.example"), two(work, "b.example"), three(work, "a.example");
  one.join();
  two.join();
  three.join();
  BOOST_TEST(resumed > 60);
}

BOOST_AUTO_TEST_CASE(a_megabyte_both_ways_through_small_buffers) {
  Authority authority;
  Server s = server(with_certificates({authority.issue("a.pem", "a", "DNS:a.example")}));
  Pair pair(s, client(trusting(authority)), "a.example", 2048);
  BOOST_REQUIRE(pair.ok());
  constexpr size_t kSize = 1 << 20;
  std::string sent[2] = {std::string(kSize, '\0'), std::string(kSize, '\0')}, received[2];
  for (size_t i = 0; i < kSize; ++i) sent[0][i] = char(i * 7 + i / 251), sent[1][i] = char(i * 13 + i / 241);
  size_t written[2] = {0, 0};
  TlsStream* streams[2] = {pair.near.get(), pair.far.get()};
  for (int round = 0; round < 200000 && (received[0].size() < kSize || received[1].size() < kSize); ++round) {
    for (int side = 0; side < 2; ++side) {
      const std::string& data = sent[side];
      if (written[side] < kSize) {
        // Moving buffers, cut into parts of odd sizes: a head, nothing, a small and a large piece.
        std::string copy = data.substr(written[side]);
        size_t a = std::min<size_t>(copy.size(), 311), b = std::min<size_t>(copy.size() - a, 5000);
        iovec parts[4] = {{copy.data(), a}, {nullptr, 0}, {copy.data() + a, b}, {copy.data() + a + b, copy.size() - a - b}};
        IoResult result = streams[side]->write(parts, 4);
        BOOST_REQUIRE((result.status == IoStatus::ok || result.status == IoStatus::again));
        written[side] += result.bytes;
        if (result.status == IoStatus::ok && result.bytes < copy.size()) {   // short: then the socket is full
          iovec rest{copy.data() + result.bytes, copy.size() - result.bytes};
          BOOST_REQUIRE((streams[side]->write(&rest, 1).status == IoStatus::again));
        }
      }
      char buffer[5000];
      IoResult result = streams[1 - side]->read(buffer, sizeof buffer);
      BOOST_REQUIRE((result.status == IoStatus::ok || result.status == IoStatus::again));
      received[1 - side].append(buffer, result.bytes);
    }
  }
  BOOST_TEST((received[1] == sent[0]));
  BOOST_TEST((received[0] == sent[1]));
}

BOOST_AUTO_TEST_CASE(ends) {
  Authority authority;
  Server s = server(with_certificates({authority.issue("a.pem", "a", "DNS:a.example")}));
  Client k = client(trusting(authority));
  char buffer[100];
  {
    Pair pair(s, k, "a.example");
    BOOST_TEST((pair.near->read(buffer, sizeof buffer).status == IoStatus::again));
    pair.near->shutdown_write();   // half close: the other direction still works
    BOOST_TEST((pair.far->read(buffer, sizeof buffer).status == IoStatus::closed));
    BOOST_TEST(!pair.far->truncated());
    pair.exchange();
    pair.far.reset();              // destruction says goodbye too
    BOOST_TEST((pair.near->read(buffer, sizeof buffer).status == IoStatus::closed));
    BOOST_TEST((pair.near->read(buffer, sizeof buffer).status == IoStatus::closed));
    BOOST_TEST(!pair.near->truncated());
  }
  {
    Pair pair(s, k, "a.example");
    pair.exchange();
    ::shutdown(pair.far->fd(), SHUT_WR);
    BOOST_TEST((pair.near->read(buffer, sizeof buffer).status == IoStatus::closed));
    BOOST_TEST(pair.near->truncated());
  }
  {
    Pair pair(s, k, "a.example");   // garbage instead of a record
    (void)!::write(pair.near->fd(), "GET / HTTP/1.1\r\n\r\n", 18);
    IoResult result = pair.far->read(buffer, sizeof buffer);
    BOOST_TEST((result.status == IoStatus::failed));
    BOOST_TEST(result.error == EPROTO);
    BOOST_TEST(!pair.far->failure().empty());
  }
  {
    int fds[2];
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    auto far = TlsStream::accept(fds[1], s);
    BOOST_TEST((far->read(buffer, sizeof buffer).status == IoStatus::again));
    (void)!::write(fds[0], "GET / HTTP/1.1\r\n\r\n", 18);
    BOOST_TEST((far->handshake().status == IoStatus::failed));
    BOOST_TEST(far->failure() == "http request");
    BOOST_TEST(far->tls_version().empty());
    ::close(fds[0]);
  }
  {
    int fds[2];
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    auto far = TlsStream::accept(fds[1], s);
    ::close(fds[0]);
    BOOST_TEST((far->handshake().status == IoStatus::failed));
    BOOST_TEST(!far->failure().empty());
  }
}

BOOST_AUTO_TEST_CASE(client_certificates) {
  Authority authority;
  TlsSettings settings = with_certificates({authority.issue("a.pem", "a", "DNS:a.example")});
  settings.client_ca_file = authority.ca();
  TlsSettings with = trusting(authority), without = trusting(authority);
  with.certificates = {{authority.issue("me.pem", "me", ""), ""}};
  without.options = with.options = "NO_TLSv1_3";   // there the client learns of the refusal within the handshake
  Pair known(server(settings), client(with), "a.example");
  BOOST_TEST(known.ok());
  BOOST_TEST(known.far->peer_subject() == "CN=me");
  BOOST_TEST(!Pair(server(settings), client(without), "a.example").ok());
  settings.flags = {"CONDITIONAL_AUTH"};
  BOOST_TEST(Pair(server(settings), client(without), "a.example").ok());
}

BOOST_AUTO_TEST_CASE(settings_that_cannot_work_are_named) {
  Authority authority;
  const std::string good = authority.issue("a.pem", "a", "DNS:a.example"), other = authority.issue("b.pem", "b", "");
  const std::string missing = authority.directory / "missing.pem";
  const std::string garbage = authority.write("garbage.pem", nullptr, nullptr);
  struct Row { TlsSettings settings; std::string part; };
  auto changed = [&](auto change) { TlsSettings t = with_certificates({good}); change(t); return t; };
  const Row rows[] = {
      {TlsSettings(), "needs a certificate"},
      {with_certificates({missing}), missing + ": No such file or directory"},
      {with_certificates({garbage}), garbage + ": no certificate: no start line"},
      {with_certificates({authority.ca()}), authority.ca() + ": no usable private key"},
      {changed([&](auto& t) { t.certificates[0].key_file = other; }), other + ": is not the key of " + good},
      {changed([&](auto& t) { t.certificates[0].key_file = missing; }), missing + ": No such file"},
      {changed([&](auto& t) { t.min_version = "1.4"; }), "'1.4'"},
      {changed([&](auto& t) { t.options = "NO_TLSv1,NO_SUCH_THING"; }), "'NO_SUCH_THING'"},
      {changed([&](auto& t) { t.options = "0xzz"; }), "'0xzz'"},
      {changed([&](auto& t) { t.cipher = "NOTHING"; }), "cipher 'NOTHING': no cipher match"},
      {changed([&](auto& t) { t.cipher = "TLS_NOTHING"; }), "cipher 'TLS_NOTHING'"},
      {changed([&](auto& t) { t.flags = {"DONT_VERIFY_PEERS"}; }), "'DONT_VERIFY_PEERS'"},
      {changed([&](auto& t) { t.client_ca_file = missing; }), missing},
      {changed([&](auto& t) { t.crl_file = missing; }), missing},
      {changed([&](auto& t) { t.dh_file = missing; }), missing},
      {changed([&](auto& t) { t.dh_file = "nocurve:"; }), "'nocurve'"},
  };
  for (const Row& row : rows) {
    std::string error;
    BOOST_TEST(!TlsServerContext::build(row.settings, error), row.part);
    BOOST_TEST(error.find(row.part) != std::string::npos, error << " instead of " << row.part);
  }
  for (auto member : {&TlsSettings::ca_file, &TlsSettings::crl_file}) {
    TlsSettings settings;
    settings.*member = missing;
    std::string error;
    BOOST_TEST(!TlsClientContext::build(settings, error));
    BOOST_TEST(error.find(missing) != std::string::npos, error);
  }
  TlsSettings fine = with_certificates({good});
  fine.options = "NO_SSLv3:NO_TLSv1,SINGLE_DH_USE,0x4000";
  fine.cipher = "ECDHE+AESGCM:TLS_AES_128_GCM_SHA256";
  fine.dh_file = "prime256v1:";
  BOOST_TEST(Pair(server(fine), client(trusting(authority)), "a.example").near->tls_cipher() == "TLS_AES_128_GCM_SHA256");
}

BOOST_AUTO_TEST_SUITE_END()
