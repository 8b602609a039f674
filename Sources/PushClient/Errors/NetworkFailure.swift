internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// What a session reports of the network in other domains than that of `URLError`, as the
/// `URLError` that it means.
///
/// URLSession lets errors of the layers below through: POSIX 53 (`ECONNABORTED`) for connections
/// that the system closed while the app was in the background, and CFNetwork's 306 to 311 for
/// proxies that refuse.
enum NetworkFailure {
    /// The name of CFNetwork's domain, which Linux does not have.
    static let networkDomain = "kCFErrorDomainCFNetwork"

    /// Other errors come back as they are.
    static func urlError(_ error: any Error) -> any Error {
        if error is URLError { return error }
        let cocoa = error as NSError
        let code: URLError.Code
        switch cocoa.domain {
        case NSURLErrorDomain: code = self.code(ofURL: cocoa.code)
        case NSPOSIXErrorDomain: code = self.code(ofPOSIX: cocoa.code)
        // Its own numbers of URL errors are the same ones.
        case self.networkDomain: code = cocoa.code < 0 ? self.code(ofURL: cocoa.code) : .cannotConnectToHost
        default: return error
        }
        return URLError(code, userInfo: [NSUnderlyingErrorKey: cocoa])
    }

    /// Whether an answer ended in the middle because this device lost its network: a change from
    /// Wi-Fi to mobile, or a connection that the system closed. Then nobody has cut the answer.
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

    /// What is not named here is a lost connection: a call that may be repeated is sent once more.
    private static func code(ofPOSIX code: Int) -> URLError.Code {
        switch Int32(exactly: code).flatMap(POSIXErrorCode.init) {
        case .ENETDOWN, .ENETUNREACH, .EHOSTUNREACH, .EADDRNOTAVAIL: .notConnectedToInternet
        case .ECONNREFUSED, .EHOSTDOWN: .cannotConnectToHost
        case .ETIMEDOUT: .timedOut
        case .ECANCELED: .cancelled
        default: .networkConnectionLost
        }
    }

    /// The number of the layer below, which the session hands over in either of two forms.
    private static func posixCode(of error: NSError) -> Int32? {
        if error.domain == NSPOSIXErrorDomain { return Int32(exactly: error.code) }
        // The domain 1 is that of POSIX in CFStream's numbering.
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
