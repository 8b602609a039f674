/// The reason why WNS refuses a notification.
package struct WNSRefusal: Error, Hashable {
    package let status: Int
    /// The text of `X-WNS-Error-Description`.
    package let description: String

    init(_ status: Int, _ description: String) {
        self.status = status
        self.description = description
    }
}

/// The rules of WNS for a raw notification, a toast and a badge, apart from the check of the
/// access token.
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

    /// Checks a notification; throws the refusal with which WNS answers.
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

    /// Whether the text is a badge with a number; the server sends no badges with glyphs.
    private static func isBadge(_ body: [UInt8]) -> Bool {
        var text = String(decoding: body, as: UTF8.self)[...]
        guard text.skip("<badge value=\"") else { return false }
        let number = text.prefix(while: \.isNumber)
        return (1...5).contains(number.utf8.count) && Int(number) != nil && text.dropFirst(number.count) == "\"/>"
    }

    /// Whether the text is a toast that shows a text, in the form of Microsoft's examples.
    private static func isToast(_ body: [UInt8]) -> Bool {
        var text = String(decoding: body, as: UTF8.self)[...]
        guard text.skip("<toast") else { return false }
        if text.skip(" launch=\"") {
            text = text.drop { !"\"<&".contains($0) }
            guard text.skip("\"") else { return false }
        }
        guard text.skip("><visual><binding template=\"ToastGeneric\">") else { return false }
        repeat {
            guard text.skip("<text>") else { return false }
            let words = text.prefix { $0 != "<" }
            text = text.dropFirst(words.count)
            guard self.isEscaped(words), text.skip("</text>") else { return false }
        } while text.hasPrefix("<text>")
        return text == "</binding></visual></toast>"
    }

    /// Whether the text is not empty and each `&` in it begins an entity.
    private static func isEscaped(_ text: Substring) -> Bool {
        let entities = ["amp;", "lt;", "gt;", "quot;", "apos;"]
        return !text.isEmpty
            && text.split(separator: "&", omittingEmptySubsequences: false).dropFirst().allSatisfy { rest in
                entities.contains { rest.hasPrefix($0) }
            }
    }
}

extension Substring {
    /// Removes a text from the beginning; returns `false` if the text is not there.
    fileprivate mutating func skip(_ start: String) -> Bool {
        guard self.hasPrefix(start) else { return false }
        self = self.dropFirst(start.count)
        return true
    }
}
