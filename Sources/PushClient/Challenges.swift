internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif
#if canImport(Security)
    internal import Security
#endif

/// How the client answers a challenge.
enum ChallengeAnswer: Hashable {
    /// The system decides: the server's certificate, and proxies, whose credentials are its own matter.
    case system
    /// The client compares the certificate's keys with the pinned ones.
    case comparePins
    /// No credential. The answer then arrives like any other and is checked like any other.
    ///
    /// Basic, too: the answer must pass its checks before the client shows a password, and the request that shows
    /// it has a `MyToken` of its own. NTLM, Negotiate, Digest, forms and client certificates are never answered.
    case decline

    init(method: String, isProxy: Bool, trust: PushClient.ServerTrust) {
        if isProxy {
            self = .system
        } else if method == Self.serverTrust {
            self = trust == .system ? .system : .comparePins
        } else {
            self = .decline
        }
    }

    #if canImport(FoundationNetworking)
        /// Foundation on Linux declares the name, and marks it as unavailable.
        static let serverTrust = "NSURLAuthenticationMethodServerTrust"
    #else
        static let serverTrust = NSURLAuthenticationMethodServerTrust
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
        /// Whether the system trusts the chain, and one of its keys is pinned.
        func accepts(_ trust: SecTrust) -> Bool {
            guard case .pinned(let pins) = self, SecTrustEvaluateWithError(trust, nil),
                let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate]
            else { return false }
            return chain.compactMap(SubjectPublicKeyInfo.init).contains { key in pins.contains { $0.matches(key) } }
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
