import Bytes
import Foundation
import PushCore
import PushStore

@testable import PushServer

extension FuzzTarget {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let rules: IssuerRules = {
        var rules = IssuerRules(issuer: "https://id.example", audiences: ["s"])
        rules.roles = .init(claim: "realm.roles", values: [.publisher: ["p"], .admin: ["a"]])
        rules.otherRole = .device
        rules.scopes = .init(claim: "scope", values: [.fetch: ["f"], .manage: ["m"]])
        return rules
    }()

    /// A token of an issuer. Two lines are its header and its claims; any other input is the
    /// token itself, or a key set.
    ///
    /// Each part of an accepted token is the one that was presented, and Foundation reads the
    /// same claims. The server signs in nobody for another issuer, audience or time than the
    /// rules have.
    static func token(_ bytes: [UInt8]) throws {
        _ = try? IssuerKeySet(bytes)
        _ = try? IssuerDocument(bytes, of: self.rules.issuer)
        let lines = bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        let text =
            lines.count == 2
            ? "\(Base64.url.text(of: lines[0])).\(Base64.url.text(of: lines[1])).AAAA"
            : String(decoding: bytes, as: UTF8.self)
        guard let token = try? SignedToken(text[...], algorithms: Set(TokenAlgorithm.allCases)) else { return }
        try require(
            String(decoding: token.message, as: UTF8.self) + "." + Base64.url.text(of: token.signature) == text,
            "\(text) has these three parts"
        )
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let identity = try? self.rules.identity(in: token.claims, now: self.now) else { return }
        let object = Base64.url.bytes(in: parts[1].utf8).flatMap { try? JSONSerialization.jsonObject(with: Data($0)) }
        guard let claims = object as? [String: Any] else {
            throw Contradiction(description: "Foundation reads no object in \(text)")
        }
        let audiences = claims["aud"] as? [String] ?? [claims["aud"] as? String ?? ""]
        try require(claims["iss"] as? String == self.rules.issuer, "iss of \(claims)")
        try require(audiences.allSatisfy { $0 == "s" } && !audiences.isEmpty, "aud of \(claims)")
        try require(self.unescaped(identity.name.description) == claims["sub"] as? String, "sub of \(claims)")
        let end = (claims["exp"] as? Double ?? 0) + self.rules.leeway
        try require(identity.expiresAt > self.now, "\(identity) is not over")
        try require(identity.expiresAt.timeIntervalSince1970 <= end, "\(identity) ends with exp")
        try require(identity.rights.role != .admin || "\(claims)".contains("a"), "the role of \(claims)")
    }

    /// The subject of a name: `#` and two hexadecimal digits are a byte.
    private static func unescaped(_ name: String) -> String {
        let bytes = Array(name.utf8)
        var (subject, place): ([UInt8], Int) = ([], 0)
        while place < bytes.count {
            let digits = bytes[place...].dropFirst().prefix(2).compactMap(\.hexDigitValue)
            if bytes[place] == UInt8(ascii: "#"), digits.count == 2 {
                subject.append(digits[0] << 4 | digits[1])
                place += 3
            } else {
                subject.append(bytes[place])
                place += 1
            }
        }
        return String(decoding: subject, as: UTF8.self)
    }
}
