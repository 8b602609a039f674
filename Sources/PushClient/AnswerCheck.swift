internal import Bytes
internal import CivilTime
internal import Foundation
internal import HTTPSignatures
internal import PushAPI

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// Separates the server's own answers from all others.
///
/// The check uses no network: its caller passes the request and the response.
struct AnswerCheck: Sendable {
    private struct Verifiers {
        let account: ResponseVerifier
        /// The verifier for servers without account ids: the signature need not cover the account.
        let exchange: ResponseVerifier
    }

    /// The verifiers of signatures; `nil` if only `MyToken` identifies the server's answers.
    private let verifiers: Verifiers?

    init(keys: [VerificationKey], tolerance: Duration) {
        guard !keys.isEmpty else {
            self.verifiers = nil
            return
        }
        self.verifiers = Verifiers(
            account: ResponseVerifier(keys: keys, coverage: .account, tolerance: tolerance),
            exchange: ResponseVerifier(keys: keys, tolerance: tolerance)
        )
    }

    /// Throws `PushClientError.interference` for an answer that the server has not given to this
    /// request of this account.
    ///
    /// `account` is the client's account id. Without an account id, a signature is valid even if
    /// it does not cover the account.
    func answer(
        to request: APIRequest,
        _ token: MyToken,
        _ response: RawResponse,
        account: String?,
        now: Date
    ) throws(PushClientError) -> Answer {
        let check = Check(request: request, response: response)
        try check.refuseRedirect()
        try check.requireEcho(token)
        try check.requireWholeBody()
        let (signedAt, isAccountCovered) = try self.verify(check, token, account: account, now: now)
        let seen = isAccountCovered ? try check.account(expecting: account) : nil
        if response.status == 304 { try check.requireCondition() }
        return Answer(
            request: request,
            status: response.status,
            body: response.body,
            fields: Answer.Fields(
                tag: response.field("ETag"),
                isNoStore: self.verifiers == nil && Self.directives(response).contains("no-store"),
                retryAfter: response.field("Retry-After").flatMap(Self.retryAfter),
                serverTime: signedAt
                    ?? response.field("Date").flatMap { HTTPDate($0) }.map {
                        Date(timeIntervalSince1970: TimeInterval($0.seconds))
                    }
            ),
            json: try check.json(),
            account: seen
        )
    }

    /// Returns the time of the signature, and whether the client may trust the account that the
    /// answer names.
    private func verify(
        _ check: Check,
        _ token: MyToken,
        account: String?,
        now: Date
    ) throws(PushClientError) -> (signedAt: Date?, isAccountCovered: Bool) {
        // Without signatures, the client trusts the account in each answer. The checks of that
        // account and of the echo of `MyToken` detect accidents, but no attacks.
        guard let verifiers else { return (nil, true) }
        do {
            return (try check.verifySignature(for: token, verifiers.account, now: now), true)
        } catch {
            guard account == nil, case .interference(let found) = error, found.kind == .insufficientCoverage else {
                throw error
            }
            return (try check.verifySignature(for: token, verifiers.exchange, now: now), false)
        }
    }

    /// Checks the head of an event stream, but not its body.
    func opening(
        of request: APIRequest,
        _ token: MyToken,
        _ response: RawResponse,
        account: String?
    ) throws(PushClientError) -> Answer {
        let check = Check(request: request, response: response)
        try check.refuseRedirect()
        try check.requireEcho(token)
        _ = try check.account(expecting: account)
        try check.requireEventStream()
        return Answer(
            request: request,
            status: response.status,
            body: Data(),
            fields: Answer.Fields(tag: nil, isNoStore: true, retryAfter: nil, serverTime: nil),
            json: nil,
            // The stream is unsigned, so the client learns no account from it.
            account: nil
        )
    }

    /// Whether the head of an answer echoes the token. Otherwise the client does not read the
    /// body.
    static func isEchoed(_ token: MyToken, by head: HTTPURLResponse) -> Bool {
        RawResponse(response: head, body: Data()).field(MyToken.fieldName) == token.echo
    }

    private static func directives(_ response: RawResponse) -> [String] {
        (response.field("Cache-Control") ?? "").lowercased().split(separator: ",")
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// Reads a number of seconds, as the server sends it; a date (RFC 9110 section 10.2.3) counts
    /// as a missing field.
    private static func retryAfter(_ text: String) -> Duration? {
        guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int64(text).map { .seconds($0) }
    }
}

/// The checks of one answer, in the order in which they run.
private struct Check {
    let request: APIRequest
    let response: RawResponse

    /// Throws for a redirect, even if it echoes the token. The client follows no redirects.
    func refuseRedirect() throws(PushClientError) {
        guard (300...399).contains(self.response.status), self.response.status != 304 else { return }
        // The error names only the host, because path and query may have personal data, such as a
        // hotel's room number.
        let target = self.response.field("Location").flatMap { URL(string: $0) }
        throw self.interference(.redirect, "an answer", target?.host().map { "a redirect to \($0)" } ?? "a redirect")
    }

    func requireEcho(_ token: MyToken) throws(PushClientError) {
        guard let echo = self.response.field(MyToken.fieldName), !echo.isEmpty else {
            throw self.interference(.missingEcho, token.echo, nil)
        }
        guard echo == token.echo else { throw self.interference(.wrongEcho, token.echo, Self.printable(echo)) }
    }

    func requireEventStream() throws(PushClientError) {
        if self.response.response.isEventStream { return }
        let type = self.response.field("Content-Type").map(Self.printable) ?? "no type"
        throw self.interference(.unexpectedBody, "an event stream", type)
    }

    func requireWholeBody() throws(PushClientError) {
        let count = self.response.body.count
        switch self.response.end {
        case .oversized(let limit):
            throw self.interference(.oversized, "an answer of the API", "more than \(limit) bytes")
        case .cut:
            let announced = self.announcedLength.map { "\($0) bytes" } ?? "an end"
            throw self.interference(.truncated, announced, "\(count) bytes")
        case .complete:
            guard let length = self.announcedLength, length != count else { return }
            throw self.interference(.truncated, "\(length) bytes", "\(count) bytes")
        }
    }

    /// The number of bytes that the body must have; `nil` without `Content-Length`, and for a body
    /// that the system has decompressed.
    private var announcedLength: Int? {
        guard ![204, 304].contains(self.response.status), self.request.method != "HEAD",
            ["", "identity"].contains(self.response.field("Content-Encoding")?.lowercased() ?? "")
        else { return nil }
        return self.response.field("Content-Length").flatMap { Int($0) }
    }

    func verifySignature(for token: MyToken, _ verifier: ResponseVerifier, now: Date) throws(PushClientError) -> Date {
        let message = SignedMessage(
            status: self.response.status,
            body: self.response.body,
            request: self.request.signed(token)
        ) { name in self.response.field(name).map { [$0] } ?? [] }
        do {
            return try verifier.verify(message, now: now)
        } catch {
            let seen = Self.printable(error.description)
            switch error.reason {
            case .insufficientCoverage:
                throw self.interference(
                    .insufficientCoverage,
                    "a signature over method, path, query and account, too",
                    seen
                )
            case .stale: throw self.interference(.wrongClock, "a signature of now", seen)
            default: throw self.interference(.signature, "a signature by a pinned key", seen)
            }
        }
    }

    /// The id of the account that the answer is for; `nil` if the field says `none` or is missing.
    func account(expecting own: String?) throws(PushClientError) -> String? {
        guard let seen = self.response.field("Sealpost-Account") else { return nil }
        let status = self.response.status
        if seen == "none" {
            // `none` is right if the request's credentials are missing or refused. The server
            // sends successes and the statuses below only to a signed-in user, so `none` is wrong
            // there.
            guard status < 400 || [403, 404, 409, 410, 412].contains(status) else { return nil }
            throw self.interference(.wrongAccount, own ?? "an account", seen)
        }
        // The answer to a sign-in may name any account: the client compares the user name in the
        // answer's body.
        if self.request.isSignIn, status == 201 { return seen }
        if let own, own != seen { throw self.interference(.wrongAccount, own, Self.printable(seen)) }
        return seen
    }

    /// Checks that the request was conditional, and that the 304 repeats the request's validator.
    func requireCondition() throws(PushClientError) {
        guard let asked = self.request.tag else {
            throw self.interference(.unexpectedNotModified, "an answer without a condition", "304")
        }
        let seen = self.response.field("ETag")
        guard let seen, Self.opaque(seen) == Self.opaque(asked) else {
            throw self.interference(.unexpectedNotModified, Self.printable(asked), seen.map(Self.printable))
        }
    }

    func json() throws(PushClientError) -> JSONValue? {
        if self.response.body.isEmpty { return nil }
        do {
            return try JSONValue(reading: self.response.body)
        } catch {
            let type = self.response.field("Content-Type").map(Self.printable) ?? "no type"
            throw self.interference(.notJSON, "JSON", "\(self.response.body.count) bytes of \(type)")
        }
    }

    // MARK: - Private

    /// Undoes what proxies do to a tag when they compress the body: they mark the tag as weak, or
    /// append the name of the coding.
    private static func opaque(_ tag: String) -> String {
        var tag = tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
        if tag.hasSuffix("-gzip\"") { tag = tag.dropLast(6) + "\"" }
        return tag
    }

    /// A text for a log: short, without control characters.
    private static func printable(_ text: String) -> String {
        String(
            decoding: text.utf8.prefix(80).map { $0.isPrintable ? $0 : UInt8(ascii: "?") },
            as: UTF8.self
        )
    }

    private func interference(_ kind: Interference.Kind, _ expected: String, _ seen: String?) -> PushClientError {
        .interference(
            Interference(
                kind: kind,
                expected: expected,
                seen: seen,
                status: self.response.status,
                path: self.request.path
            )
        )
    }
}
