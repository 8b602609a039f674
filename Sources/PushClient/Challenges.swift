internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif
#if canImport(Security)
    internal import Security
#endif

/// The client's answer to an authentication challenge of the URL session.
enum ChallengeAnswer: Hashable {
    /// The system decides whether it trusts the server's certificate, and with which credentials
    /// it answers a proxy.
    case system
    /// The client compares the keys of the server's certificate chain with the pinned keys.
    case comparePins
    /// The client presents the client certificate from its options.
    case showCertificate
    /// The client sends no credential. The 401 response then arrives and is checked like any
    /// other.
    ///
    /// The client declines a Basic challenge, too, because the response must pass the client's
    /// checks first. After the checks, the client sends the password in a new request with a new
    /// `MyToken`. The client never answers challenges of NTLM, Negotiate, Digest and forms.
    case decline

    init(method: String, isProxy: Bool, trust: PushClient.ServerTrust, hasCertificate: Bool = false) {
        if isProxy {
            self = .system
        } else if method == Self.serverTrust {
            self = trust == .system ? .system : .comparePins
        } else if method == Self.clientCertificate, hasCertificate {
            self = .showCertificate
        } else {
            self = .decline
        }
    }

    #if canImport(FoundationNetworking)
        /// Foundation on Linux declares this constant, but marks it as unavailable.
        static let serverTrust = "NSURLAuthenticationMethodServerTrust"
        static let clientCertificate = "NSURLAuthenticationMethodClientCertificate"
    #else
        static let serverTrust = NSURLAuthenticationMethodServerTrust
        static let clientCertificate = NSURLAuthenticationMethodClientCertificate
    #endif
}

extension PushClient.ServerTrust {
    /// Whether this system can check the server's certificate as this value requires.
    var isAvailable: Bool {
        #if canImport(Security)
            true
        #else
            self == .system
        #endif
    }
}

#if canImport(Security)
    extension PushClient.ServerTrust {
        /// The reason why a certificate chain is refused; `nil` if the system trusts the chain and
        /// one of the chain's keys is pinned.
        ///
        /// A chain that the system does not trust has an error of its own: such a chain usually
        /// comes from a captive portal, not from a server with a changed key.
        func refusal(of trust: SecTrust) -> (any Error)? {
            var error: CFError?
            guard SecTrustEvaluateWithError(trust, &error) else {
                return URLError(NetworkFailure.code(ofTrust: error.map(CFErrorGetCode)))
            }
            guard case .pinned(let pins) = self, let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate],
                chain.compactMap(SubjectPublicKeyInfo.init).contains(where: { key in pins.contains { $0.matches(key) } }
                )
            else { return UntrustedKey() }
            return nil
        }
    }

    extension SubjectPublicKeyInfo {
        fileprivate init?(_ certificate: SecCertificate) {
            guard let key = SecCertificateCopyKey(certificate), let bytes = SecKeyCopyExternalRepresentation(key, nil),
                let attributes = SecKeyCopyAttributes(key) as? [String: Any],
                let type = attributes[kSecAttrKeyType as String] as? String
            else { return nil }
            if type == kSecAttrKeyTypeRSA as String {
                self.init(.rsa, key: Array(bytes as Data))
            } else if type == kSecAttrKeyTypeECSECPrimeRandom as String {
                self.init(.ellipticCurve, key: Array(bytes as Data))
            } else {
                return nil
            }
        }
    }
#endif
