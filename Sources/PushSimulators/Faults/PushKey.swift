internal import Bytes

/// What a request is about, read from it without judging it: the push and the device.
package struct PushKey: Sendable, Hashable {
    /// `apns-id`, or the notification's id in the body of the others; empty if there is none.
    package let push: String
    /// The device token, the registration token, or the path of the channel.
    package let device: String

    /// Reads APNs' path and header, FCM's JSON, and for all others path and body.
    package init(_ request: SimulatedRequest) {
        let apnsPath = "/3/device/"
        if request.path.hasPrefix(apnsPath) {
            self.device = request.path.dropFirst(apnsPath.count).lowercased()
            self.push = request.header("apns-id") ?? ""
        } else if request.path.hasSuffix("/messages:send") {
            self.device = Self.value(of: "token", in: request.body) ?? ""
            self.push = Self.value(of: "secureId", in: request.body) ?? ""
        } else {
            self.device = request.path
            let isID = (1...20).contains(request.body.count) && request.body.allSatisfy(\.isDigit)
            self.push = isID ? String(decoding: request.body, as: UTF8.self) : ""
        }
    }

    /// The text behind `"name":"`, up to the next quote: enough for what a sender's tokens and ids are made of, and
    /// much cheaper than a parser for each of a million requests.
    private static func value(of name: String, in body: [UInt8]) -> String? {
        guard let start = body.firstRange(of: Array("\"\(name)\":\"".utf8)) else { return nil }
        return String(decoding: body[start.upperBound...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
    }
}
