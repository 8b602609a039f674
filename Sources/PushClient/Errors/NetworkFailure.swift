internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// Converts network errors from other domains into the `URLError` with the same meaning.
///
/// URLSession passes on errors of lower layers: POSIX 53 (`ECONNABORTED`) for connections that the
/// system closed while the app was in the background, and CFNetwork's 306 to 311 for proxies that
/// refuse.
enum NetworkFailure {
    /// The name of CFNetwork's error domain. Linux has no constant for it.
    static let networkDomain = "kCFErrorDomainCFNetwork"

    /// Returns the `URLError` for a network error, and other errors unchanged.
    static func urlError(_ error: any Error) -> any Error {
        if error is URLError { return error }
        let cocoa = error as NSError
        let code: URLError.Code
        switch cocoa.domain {
        case NSURLErrorDomain: code = self.code(ofURL: cocoa.code)
        case NSPOSIXErrorDomain: code = self.code(ofPOSIX: cocoa.code)
        // For URL errors, CFNetwork uses the same negative numbers as `URLError`.
        case self.networkDomain: code = cocoa.code < 0 ? self.code(ofURL: cocoa.code) : .cannotConnectToHost
        default: return error
        }
        return URLError(code, userInfo: [NSUnderlyingErrorKey: cocoa])
    }

    /// Returns the client's error for a network error, `CancellationError` for a cancelled
    /// exchange, and other errors unchanged.
    static func clientError(_ error: any Error) -> any Error {
        guard let error = self.urlError(error) as? URLError else { return error }
        return error.code == .cancelled ? CancellationError() : PushClientError.offline(error.code)
    }

    /// Returns the interference for a certificate of the server that the system or the app has
    /// refused, and `nil` for other errors.
    static func refusedCertificate(_ error: any Error, path: String) -> Interference? {
        let (kind, expected, seen): (Interference.Kind, String, String)
        switch self.urlError(error) {
        case is UntrustedKey:
            (kind, expected, seen) = (.untrustedKey, "a pinned key", "another certificate")
        case URLError.serverCertificateUntrusted, URLError.serverCertificateHasUnknownRoot:
            (kind, expected, seen) = (.untrustedKey, "a trusted certificate", "another certificate")
        case URLError.serverCertificateHasBadDate, URLError.serverCertificateNotYetValid:
            (kind, expected, seen) = (.wrongClock, "a certificate of now", "an expired or future certificate")
        default: return nil
        }
        return Interference(kind: kind, expected: expected, seen: seen, status: 0, path: path)
    }

    /// Converts the code of the error with which Apple's Security framework refuses a chain.
    ///
    /// With pinned certificate keys the client evaluates the chain in place of the URL session,
    /// which would name a wrong date itself.
    static func code(ofTrust code: Int?) -> URLError.Code {
        switch code {
        // errSecCertificateExpired and errSecCertificateNotValidYet
        case -67818, -67819: .serverCertificateHasBadDate
        default: .serverCertificateUntrusted
        }
    }

    /// Whether an answer ended early because this device lost its network: a change from Wi-Fi to
    /// mobile, or a connection that the system closed. Such an end is not an interference.
    static func isOwn(_ error: URLError) -> Bool {
        let own: Set<URLError.Code> = [
            .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive, .cancelled, .timedOut,
        ]
        if own.contains(error.code) { return true }
        guard let code = self.posixCode(of: error as NSError) else { return false }
        let ended: [POSIXErrorCode] = [
            .ECONNABORTED, .ENETDOWN, .ENETUNREACH, .ENOTCONN, .EHOSTUNREACH, .EADDRNOTAVAIL, .ETIMEDOUT,
        ]
        return ended.contains { $0.rawValue == code }
    }

    // MARK: - Private

    private static func code(ofURL code: Int) -> URLError.Code {
        #if canImport(FoundationNetworking)
            URLError.Code(rawValue: code) ?? .unknown
        #else
            URLError.Code(rawValue: code)
        #endif
    }

    /// Converts a POSIX code. A code that is not listed here counts as a lost connection, so the
    /// client sends a repeatable request once more.
    private static func code(ofPOSIX code: Int) -> URLError.Code {
        switch Int32(exactly: code).flatMap(POSIXErrorCode.init) {
        case .ENETDOWN, .ENETUNREACH, .EHOSTUNREACH, .EADDRNOTAVAIL: .notConnectedToInternet
        case .ECONNREFUSED, .EHOSTDOWN: .cannotConnectToHost
        case .ETIMEDOUT: .timedOut
        case .ECANCELED: .cancelled
        default: .networkConnectionLost
        }
    }

    /// The POSIX code of the underlying error, which the session reports in one of two forms.
    private static func posixCode(of error: NSError) -> Int32? {
        if error.domain == NSPOSIXErrorDomain { return Int32(exactly: error.code) }
        // In CFStream's numbering, the domain 1 means POSIX.
        if error.userInfo["_kCFStreamErrorDomainKey"] as? Int == 1,
            let code = error.userInfo["_kCFStreamErrorCodeKey"] as? Int
        {
            return Int32(exactly: code)
        }
        guard let below = error.userInfo[NSUnderlyingErrorKey] as? NSError, below.domain == NSPOSIXErrorDomain else {
            return nil
        }
        return Int32(exactly: below.code)
    }
}
