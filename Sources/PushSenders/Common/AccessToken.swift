internal import Bytes
internal import CurlHTTP
internal import Foundation
internal import PushCore

/// A bearer token and its lifetime.
struct AccessToken: Sendable {
    let text: Secret<String>
    let expiresAt: Date
    /// The time at which a new token is fetched, while this token is still valid.
    let renewAt: Date

    /// Renewal is due after nine tenths of the lifetime: a token for an hour is renewed in its
    /// 54th minute.
    init(_ text: String, lifetime: TimeInterval, now: Date) {
        self.text = Secret(text)
        self.expiresAt = now + lifetime
        self.renewAt = now + lifetime * 0.9
    }

    /// Returns `nil` unless the token can be the value of a header field and has a positive
    /// lifetime.
    init?(checking text: String, lifetime: TimeInterval, now: Date) {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isVisible), lifetime > 0, lifetime.isFinite else { return nil }
        self.init(text, lifetime: lifetime, now: now)
    }

    /// Reads the answer of a token endpoint (RFC 6749 section 5).
    init(_ response: OutboundResponse, now: Date) throws(SendFailure) {
        guard response.status == 200 else { throw Self.failure(response, now: now) }
        // If the body cannot be decoded, the answer does not come from a token endpoint.
        guard
            let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body)),
            let token = AccessToken(checking: answer.text, lifetime: answer.lifetime, now: now)
        else { throw .unavailable(reason: "the response is not an access token") }
        self = token
    }

    /// The failure that a push gets if an endpoint for credentials has refused the server's
    /// request.
    static func failure(_ response: OutboundResponse, now: Date) -> SendFailure {
        // Gateways answer in HTML, not in JSON; then only the status is known.
        let code = try? JSONDecoder().decode(Refusal.self, from: Data(response.body)).error
        let reason = ProviderWords.code(code) ?? "HTTP \(response.status)"
        switch (response.status, code) {
        case (408, _), (429, _), (500..., _), (_, "internal_failure"), (_, "temporarily_unavailable"):
            return .unavailable(
                reason: reason,
                retryAfter: RetryAfter.duration(response.header("retry-after"), now: now)
            )
        default: return .misconfigured(reason: ClockDifference.explain(reason, response, now: now))
        }
    }

    /// Fetches a token from a token endpoint.
    static func fetched(
        with request: OutboundRequest,
        by client: HTTPClient,
        now: Date
    ) async throws(SendFailure) -> AccessToken {
        do throws(SendFailure) {
            return try AccessToken(try await client.answer(to: request), now: now)
        } catch {
            throw error.ofCredentials(from: "token endpoint")
        }
    }

    /// The body of a refusal, in the form of RFC 6749 section 5.2 or of Google's other APIs.
    private struct Refusal: Decodable {
        let error: String

        private enum Key: String, CodingKey {
            case error, status
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            if let code = try? container.decode(String.self, forKey: .error) {
                self.error = code
            } else {
                let error = try container.nestedContainer(keyedBy: Key.self, forKey: .error)
                self.error = try error.decode(String.self, forKey: .status)
            }
        }
    }

    private struct Answer: Decodable {
        let text: String
        let lifetime: TimeInterval

        private enum Key: String, CodingKey {
            case accessToken = "access_token"
            case expiresIn = "expires_in"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            self.text = try container.decode(String.self, forKey: .accessToken)
            // Some of Microsoft's samples show the lifetime as a string, and some leave it out.
            if let text = try? container.decode(String.self, forKey: .expiresIn) {
                self.lifetime = TimeInterval(text) ?? 0
            } else {
                self.lifetime = try container.decodeIfPresent(TimeInterval.self, forKey: .expiresIn) ?? 3600
            }
        }
    }
}

extension SendFailure {
    /// The failure of a push that could not be sent, because the call for the server's credentials
    /// has failed with this failure. A failure that says that a single push is at fault, such as
    /// `rejected`, becomes `misconfigured`.
    func ofCredentials(from source: String) -> SendFailure {
        let reason = source + ": " + self.reason
        switch self {
        case .unavailable(_, let retryAfter, _): return .unavailable(reason: reason, retryAfter: retryAfter)
        case .overloaded(_, let retryAfter), .deviceBusy(_, let retryAfter):
            return .overloaded(reason: reason, retryAfter: retryAfter)
        case .rejected, .deviceGone, .deviceUnknown, .deviceNotFound, .offline, .misconfigured, .kindRefused,
            .credentialExpired, .credentialRefused:
            return .misconfigured(reason: reason)
        }
    }
}
