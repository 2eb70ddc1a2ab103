// SPDX-License-Identifier: Apache-2.0
#include "engine/tls_failure.hpp"

#include "util/text.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace sandbox::engine {
namespace {

using Names = std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)>;

// The other side chose them: a few of them are enough to see what is wrong.
constexpr std::size_t k_most_names = 200;

Error unreachable(const Endpoint& endpoint, const std::string& why, std::string hint) {
    return Error(ErrorCode::engine_unreachable, "the engine at " + endpoint.address() + ": " + why).hint(std::move(hint));
}

std::string address_text(const ASN1_OCTET_STRING* bytes) {
    const unsigned char* data = ASN1_STRING_get0_data(bytes);
    if (ASN1_STRING_length(bytes) != 4) return "an IPv6 address";
    std::string text;
    for (int i = 0; i < 4; ++i) text += (i > 0 ? "." : "") + std::to_string(data[i]);
    return text;
}

// "build.example, 10.0.0.7"
std::string names_of(SSL* ssl) {
    // The session has no peer certificate before it is accepted; the chain is kept of a refused one too.
    const STACK_OF(X509)* chain = SSL_get0_verified_chain(ssl);
    if (chain == nullptr || sk_X509_num(chain) == 0) return "another name";
    const Names names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(sk_X509_value(chain, 0), NID_subject_alt_name, nullptr, nullptr)),
                      GENERAL_NAMES_free);
    std::string text;
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
        std::string one;
        if (name->type == GEN_DNS) {
            one.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                       static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
        } else if (name->type == GEN_IPADD) {
            one = address_text(name->d.iPAddress);
        }
        if (!one.empty()) text += (text.empty() ? "" : ", ") + one;
    }
    return text.empty() ? "no name (subjectAltName is missing)" : shortened(text, k_most_names);
}

Error untrusted(SSL* ssl, const Endpoint& endpoint, long verdict) {
    const std::string authority = endpoint.certificates + "/ca.pem";
    switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return unreachable(endpoint, "its certificate is for " + names_of(ssl) + ", not for " + endpoint.host,
                           "use a name of the certificate in the address, or have it made for this one (subjectAltName)");
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return unreachable(endpoint, "its certificate, or its authority's, has expired",
                           "renew it on the engine's machine, and check this machine's clock (date)");
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return unreachable(endpoint, "its certificate, or its authority's, is not valid yet",
                           "check the clocks of both machines (date)");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        return unreachable(endpoint, "its certificate is not signed by an authority in " + printable(authority),
                           "put the authority that signed the engine's certificate there; if that never changed, it may be "
                           "another machine that answers");
    default:
        return unreachable(endpoint, std::string("its certificate does not hold: ") + X509_verify_cert_error_string(verdict),
                           "have it made again for a server (extendedKeyUsage serverAuth)");
    }
}

bool is_about_our_certificate(int reason) {
    switch (reason) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_NO_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN: return true;
    default: return false;
    }
}

} // namespace

std::string openssl_reason() {
    const unsigned long error = ERR_get_error();
    ERR_clear_error();
    const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
    return reason == nullptr ? "unknown reason" : reason;
}

Error tls_failure(SSL* ssl, const Endpoint& endpoint) {
    const int reason = ERR_GET_REASON(ERR_peek_error());
    const long verdict = SSL_get_verify_result(ssl);
    if (verdict != X509_V_OK) {
        ERR_clear_error();
        return untrusted(ssl, endpoint, verdict);
    }
    const std::string words = openssl_reason();
    if (is_about_our_certificate(reason)) {
        return unreachable(endpoint, "it refuses our certificate, " + printable(endpoint.certificates) + "/cert.pem (" + words + ")",
                           "have that made by the authority that the engine trusts (dockerd --tlscacert), for a client, and "
                           "renew it if it has expired (openssl x509 -enddate -noout -in cert.pem)");
    }
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST || reason == SSL_R_PACKET_LENGTH_TOO_LONG) {
        return unreachable(endpoint, "it does not speak TLS on that port",
                           "check the port (2376 is docker's for TLS); an engine in the clear is tcp:// without DOCKER_TLS_VERIFY");
    }
    return unreachable(endpoint, "TLS failed: " + words, "check the port, and that the engine speaks TLS 1.2 or later");
}

} // namespace sandbox::engine
