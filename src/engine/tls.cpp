// SPDX-License-Identifier: Apache-2.0
#include "engine/tls.hpp"

#include "engine/tls_failure.hpp"
#include "util/text.hpp"
#include "util/time.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <climits>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sandbox::engine {
namespace {

using Clock = std::chrono::steady_clock;
using Session = std::unique_ptr<SSL, decltype(&SSL_free)>;

bool is_address(const std::string& host) {
    in6_addr bytes;
    return ::inet_pton(AF_INET, host.c_str(), &bytes) == 1 || ::inet_pton(AF_INET6, host.c_str(), &bytes) == 1;
}

Error bad_file(const std::string& path, std::string_view why) {
    return Error(ErrorCode::usage, "TLS: " + printable(path) + ": " + std::string(why))
        .hint("ca.pem, cert.pem and key.pem are read there; DOCKER_CERT_PATH names the directory, a docker context has its own");
}

// A pass phrase is never asked for: not on a terminal that belongs to the command, and not in a pipe.
int no_pass_phrase(char*, int, int, void*) { return 0; }

void check_readable(const std::string& path) {
    if (::access(path.c_str(), R_OK) != 0) throw bad_file(path, std::strerror(errno));
}

// OpenSSL writes with write(2), so a peer that went away would end the whole program. send(2) has a flag against it, a BIO
// has none: its write method is replaced.
int send_quietly(BIO* bio, const char* bytes, int length) {
    int fd = -1;
    BIO_get_fd(bio, &fd);
    BIO_clear_retry_flags(bio);
    const ssize_t count = ::send(fd, bytes, static_cast<std::size_t>(length), MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return static_cast<int>(count);
}

BIO_METHOD* quiet_socket_method() {
    static BIO_METHOD* const method = [] {
        const BIO_METHOD* plain = BIO_s_socket();
        BIO_METHOD* quiet = BIO_meth_new(BIO_TYPE_SOCKET, "socket without SIGPIPE");
        BIO_meth_set_read(quiet, BIO_meth_get_read(plain));
        BIO_meth_set_write(quiet, send_quietly);
        BIO_meth_set_ctrl(quiet, BIO_meth_get_ctrl(plain));
        BIO_meth_set_create(quiet, BIO_meth_get_create(plain));
        BIO_meth_set_destroy(quiet, BIO_meth_get_destroy(plain));
        return quiet;
    }();
    return method;
}

class TlsSocket final : public Socket {
  public:
    TlsSocket(Fd socket, SSL_CTX* context, const Endpoint& endpoint)
        : m_socket(std::move(socket)), m_endpoint(endpoint), m_ssl(SSL_new(context), SSL_free) {
        set_nonblocking(m_socket.get(), true);
        BIO* bio = BIO_new(quiet_socket_method());
        if (!m_ssl || bio == nullptr) throw Error(ErrorCode::internal, "OpenSSL: " + openssl_reason());
        BIO_set_fd(bio, m_socket.get(), BIO_NOCLOSE);
        SSL_set_bio(m_ssl.get(), bio, bio);
        expect_name();
    }

    void handshake(std::chrono::milliseconds timeout);
    ssize_t receive(std::span<char> buffer) override;
    ssize_t send(std::string_view bytes) override;
    // The alert close_notify is the half-close of TLS; the other side may go on sending.
    void shutdown_write() override {
        ERR_clear_error();
        if (SSL_shutdown(m_ssl.get()) < 0) ERR_clear_error();
    }
    int fd() const override { return m_socket.get(); }
    short wanted(short) const override { return m_wanted; }
    bool has_pending() const override { return SSL_pending(m_ssl.get()) > 0; }
    bool is_quiet() override;

  private:
    void expect_name();
    // -1 with errno for what OpenSSL said, 0 for a declared end.
    ssize_t outcome(int result, short direction);

    Fd m_socket;
    Endpoint m_endpoint;
    Session m_ssl;
    short m_wanted = POLLIN;
};

// RFC 6066 forbids an address as the server name; the certificate is checked for either.
void TlsSocket::expect_name() {
    const std::string& host = m_endpoint.host;
    X509_VERIFY_PARAM* rules = SSL_get0_param(m_ssl.get());
    int done = 0;
    if (is_address(host)) {
        done = X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str());
    } else {
        X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        done = X509_VERIFY_PARAM_set1_host(rules, host.c_str(), host.size());
        // SSL_set_tlsext_host_name without its C cast.
        std::string name = host;
        if (done == 1) done = static_cast<int>(SSL_ctrl(m_ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()));
    }
    if (done != 1) throw Error(ErrorCode::internal, "OpenSSL takes no name to check: " + openssl_reason());
}

void TlsSocket::handshake(std::chrono::milliseconds timeout) {
    const auto until = Clock::now() + timeout;
    for (;;) {
        ERR_clear_error();
        const int result = SSL_connect(m_ssl.get());
        if (result == 1) return;
        const int failure = SSL_get_error(m_ssl.get(), result);
        if (failure != SSL_ERROR_WANT_READ && failure != SSL_ERROR_WANT_WRITE) {
            if (failure == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_error()) != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
                throw tls_failure(m_ssl.get(), m_endpoint);
            }
            ERR_clear_error();
            throw Error(ErrorCode::engine_unreachable, "the engine at " + m_endpoint.address() + ": it closed the connection during the TLS handshake")
                .hint("check the port (2376 is docker's for TLS)");
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
        pollfd entry{m_socket.get(), static_cast<short>(failure == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
        const int ready = left <= 0 ? 0 : ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left, INT_MAX)));
        if (ready == 0) {
            throw Error(ErrorCode::engine_unreachable, "the engine at " + m_endpoint.address() + ": no TLS handshake within " + format_duration(timeout))
                .hint("the engine may be overloaded or stuck, or that port speaks something else: try again, check the address");
        }
    }
}

ssize_t TlsSocket::outcome(int result, short direction) {
    const int cause = errno;
    switch (SSL_get_error(m_ssl.get(), result)) {
    case SSL_ERROR_WANT_READ: m_wanted = POLLIN; break;
    case SSL_ERROR_WANT_WRITE: m_wanted = POLLOUT; break;
    case SSL_ERROR_ZERO_RETURN: return 0;
    case SSL_ERROR_SYSCALL:
        ERR_clear_error();
        errno = cause == 0 ? ECONNRESET : cause;
        return -1;
    default:
        // An end without close_notify can be anybody's doing: it is a cut connection, never the end of what was sent.
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING || direction == POLLOUT) {
            ERR_clear_error();
            errno = ECONNRESET;
            return -1;
        }
        // With TLS 1.3 the engine's verdict on our certificate comes only now.
        throw tls_failure(m_ssl.get(), m_endpoint);
    }
    errno = EAGAIN;
    return -1;
}

ssize_t TlsSocket::receive(std::span<char> buffer) {
    ERR_clear_error();
    errno = 0;
    const int result = SSL_read(m_ssl.get(), buffer.data(), static_cast<int>(std::min<std::size_t>(buffer.size(), INT_MAX)));
    return result > 0 ? result : outcome(result, POLLIN);
}

ssize_t TlsSocket::send(std::string_view bytes) {
    ERR_clear_error();
    errno = 0;
    const int result = SSL_write(m_ssl.get(), bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX)));
    if (result > 0) return result;
    const ssize_t outcome_of_send = outcome(result, POLLOUT);
    if (outcome_of_send == 0) errno = EPIPE;
    return -1;
}

// Session tickets come unasked after the handshake, so that a readable descriptor alone says nothing.
bool TlsSocket::is_quiet() {
    char byte = 0;
    ERR_clear_error();
    const int result = SSL_peek(m_ssl.get(), &byte, 1);
    const bool quiet = result <= 0 && SSL_get_error(m_ssl.get(), result) == SSL_ERROR_WANT_READ;
    ERR_clear_error();
    return quiet;
}

} // namespace

struct TlsClient::Context {
    Endpoint endpoint;
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> value{nullptr, SSL_CTX_free};
};

TlsClient::TlsClient(const Endpoint& endpoint) : m_context(std::make_unique<Context>(Context{endpoint})) {
    // The system's openssl.cnf may name modules to load, which a static program cannot.
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
    m_context->value.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX* context = m_context->value.get();
    if (context == nullptr) throw Error(ErrorCode::internal, "OpenSSL: " + openssl_reason());
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    // Partial writes, like send(2); a retry may come from another buffer.
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_default_passwd_cb(context, no_pass_phrase);

    const std::string authority = endpoint.certificates + "/ca.pem";
    const std::string certificate = endpoint.certificates + "/cert.pem";
    const std::string key = endpoint.certificates + "/key.pem";
    check_readable(authority);
    if (SSL_CTX_load_verify_locations(context, authority.c_str(), nullptr) != 1) throw bad_file(authority, openssl_reason());
    // An engine may ask for no certificate; half a pair is a mistake.
    if (::access(certificate.c_str(), F_OK) != 0 && ::access(key.c_str(), F_OK) != 0) return;
    check_readable(certificate);
    check_readable(key);
    if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) throw bad_file(certificate, openssl_reason());
    if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) throw bad_file(key, openssl_reason());
}

TlsClient::~TlsClient() = default;

std::unique_ptr<Socket> TlsClient::handshake(Fd socket, std::chrono::milliseconds timeout) const {
    auto tls = std::make_unique<TlsSocket>(std::move(socket), m_context->value.get(), m_context->endpoint);
    tls->handshake(timeout);
    return tls;
}

} // namespace sandbox::engine
