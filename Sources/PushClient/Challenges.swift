internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif
#if canImport(Security)
    internal import Security
#endif

/// How the client answers a challenge.
enum ChallengeAnswer: Hashable {
    /// The system decides: the server's certificate, and proxies, whose credentials are its own
    /// matter.
    case system
    /// The client compares the certificate's keys with the pinned ones.
    case comparePins
    /// The certificate that the app has given.
    case showCertificate
    /// No credential. The answer then arrives like any other and is checked like any other.
    ///
    /// Basic, too: the answer must pass its checks before the client shows a password, and the
    /// request that shows it has a `MyToken` of its own. NTLM, Negotiate, Digest and forms are
    /// never answered.
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
        /// Foundation on Linux declares the name, and marks it as unavailable.
        static let serverTrust = "NSURLAuthenticationMethodServerTrust"
        static let clientCertificate = "NSURLAuthenticationMethodClientCertificate"
    #else
        static let serverTrust = NSURLAuthenticationMethodServerTrust
        static let clientCertificate = NSURLAuthenticationMethodClientCertificate
    #endif
}

extension PushClient.ServerTrust {
    /// Whether this system can check the server's certificate in this way.
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
        /// Why a chain is refused; `nil` if the system trusts it, and one of its keys is pinned.
        ///
        /// One that the system does not trust is what portals have, and no other key of a
        /// server's.
        func refusal(of trust: SecTrust) -> (any Error)? {
            guard SecTrustEvaluateWithError(trust, nil) else { return URLError(.serverCertificateUntrusted) }
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
