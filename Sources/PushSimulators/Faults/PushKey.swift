internal import Bytes

/// The push and the device that a request names, read without a check of the request.
package struct PushKey: Sendable, Hashable {
    /// `apns-id`, or the notification's id in the body of FCM and WNS; empty if there is none.
    package let push: String
    /// The device token, the registration token, or the path of the channel.
    package let device: String

    /// Reads APNs' path and header, FCM's JSON, and for all other providers the path and a body
    /// that consists of digits.
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

    /// The text after `"name":"`, up to the next quote: enough for a sender's tokens and ids, and
    /// much cheaper than a parser for each of a million requests.
    private static func value(of name: String, in body: [UInt8]) -> String? {
        guard let start = body.firstRange(of: Array("\"\(name)\":\"".utf8)) else { return nil }
        return String(decoding: body[start.upperBound...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
    }
}
