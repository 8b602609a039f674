internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif
#if canImport(Security)
    internal import Security
#endif

/// The client's answer to a challenge.
enum ChallengeAnswer: Hashable {
    /// The system decides: for the server's certificate, and for proxies, whose credentials belong
    /// to the system.
    case system
    /// The client compares the certificate's keys with the pinned ones.
    case comparePins
    /// Presents the certificate that the app has given.
    case showCertificate
    /// Sends no credential. The answer then arrives and is checked like any other.
    ///
    /// The client declines a Basic challenge, too, because the response must pass its checks
    /// first. The client then sends the password in a new request with a new `MyToken`. It never
    /// answers challenges of NTLM, Negotiate, Digest and forms.
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
        /// Foundation on Linux declares the name, but marks it as unavailable.
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
        /// The reason why a certificate chain is refused; `nil` if the system trusts it and one of
        /// its keys is pinned.
        ///
        /// A chain that the system does not trust is typical of a captive portal, not of a changed
        /// server key.
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
