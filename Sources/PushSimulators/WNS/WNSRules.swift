/// Why WNS refuses a notification.
package struct WNSRefusal: Error, Hashable {
    package let status: Int
    /// The text of `X-WNS-Error-Description`.
    package let description: String

    init(_ status: Int, _ description: String) {
        self.status = status
        self.description = description
    }
}

/// The rules of WNS for a raw notification, a toast and a badge, without connection and access token.
package struct WNSRules: Sendable {
    package enum Channel: Sendable {
        case open, expired
    }

    /// The channels by path and query, which a request must repeat byte for byte.
    package var channels: [String: Channel] = [:]

    private static let bodyLimit = 5000
    /// The content type that each type of notification must have.
    private static let mediaTypes = [
        "wns/raw": "application/octet-stream", "wns/toast": "text/xml", "wns/badge": "text/xml",
    ]

    package init() {}

    /// Checks a notification; throws the refusal that WNS answers.
    package func check(_ request: SimulatedRequest, tokenIsGood: (String?) -> Bool) throws(WNSRefusal) {
        guard request.method == "POST" else { throw WNSRefusal(405, "Only POST is allowed.") }
        guard let channel = self.channels[request.path] else {
            throw WNSRefusal(404, "The channel URL is not valid or not recognized by WNS.")
        }
        guard tokenIsGood(request.header("authorization")) else {
            throw WNSRefusal(401, "The token is missing, malformed or expired.")
        }
        try Self.checkHeaders(request)
        guard !request.body.isEmpty else { throw WNSRefusal(400, "The notification has no content.") }
        guard request.body.count <= Self.bodyLimit else {
            throw WNSRefusal(413, "The notification is larger than 5000 bytes.")
        }
        if channel == .expired { throw WNSRefusal(410, "The channel expired.") }
    }

    private static func checkHeaders(_ request: SimulatedRequest) throws(WNSRefusal) {
        guard let mediaType = request.header("x-wns-type").flatMap({ Self.mediaTypes[$0] }) else {
            throw WNSRefusal(400, "X-WNS-Type must be wns/raw, wns/toast or wns/badge.")
        }
        guard request.header("content-type") == mediaType else {
            throw WNSRefusal(400, "Content-Type must be \(mediaType).")
        }
        switch request.header("x-wns-type") {
        case "wns/toast":
            guard Self.isToast(request.body) else { throw WNSRefusal(400, "The notification payload is not a toast.") }
        case "wns/badge":
            guard Self.isBadge(request.body) else { throw WNSRefusal(400, "The notification payload is not a badge.") }
        default: break
        }
        guard request.header("content-length").flatMap(Int.init) == request.body.count else {
            throw WNSRefusal(400, "Content-Length is required.")
        }
        if let policy = request.header("x-wns-cache-policy"), !["cache", "no-cache"].contains(policy) {
            throw WNSRefusal(400, "X-WNS-Cache-Policy must be cache or no-cache.")
        }
        if let life = request.header("x-wns-ttl"), UInt32(life) == nil {
            throw WNSRefusal(400, "X-WNS-TTL must be a number of seconds.")
        }
        if let priority = request.header("x-wns-priority"), !["1", "2", "3", "4"].contains(priority) {
            throw WNSRefusal(400, "X-WNS-PRIORITY must be 1, 2, 3 or 4.")
        }
        for name in ["x-wns-suppresspopup", "x-wns-group", "x-wns-match"] where request.header(name) != nil {
            throw WNSRefusal(400, "\(name) is for phones only.")
        }
    }

    /// Whether the text is a badge with a number; glyphs are not for us.
    private static func isBadge(_ body: [UInt8]) -> Bool {
        String(decoding: body, as: UTF8.self).wholeMatch(of: /<badge value="[0-9]{1,5}"\/>/) != nil
    }

    /// Whether the text is a toast that shows a text, in the form that Microsoft's examples have.
    private static func isToast(_ body: [UInt8]) -> Bool {
        let text = String(decoding: body, as: UTF8.self)
        let start = /<toast( launch="[^"<&]*")?><visual><binding template="ToastGeneric">/
        let end = "</binding></visual></toast>"
        guard text.hasSuffix(end), let found = text.prefixMatch(of: start) else { return false }
        let inside = text[found.range.upperBound...].dropLast(end.count)
        let texts = /(<text>([^<&]|&(amp|lt|gt|quot|apos);)+<\/text>)+/
        return inside.wholeMatch(of: texts) != nil
    }
}
