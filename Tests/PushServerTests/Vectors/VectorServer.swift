import CivilTime
import Foundation
import HTTPSignatures
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// A real server whose keys, ids and times are constant, so that its answers are the same each
/// time.
struct VectorServer: Sendable {
    /// The value of `MyToken` in requests for which a test chooses no other.
    static let token = "1000"

    let fixture: ServerFixture

    init(
        keyring: UInt8 = 1,
        signingSeed: Data = VectorKeys.seed,
        quotas: [Role: Quota] = [:],
        troubles: [String] = []
    ) async throws {
        let storage = try StoreFixture.constant(
            secret: Data(repeating: keyring, count: 32),
            keyring: VectorKeys.keyring(keyring),
            options: .withEvents
        )
        for name in ServerFixture.roles.keys.sorted() {
            try await storage.addUser(name, role: ServerFixture.roles[name] ?? .device, ServerFixture.passwordHash)
        }
        self.fixture = try await ServerFixture(
            storage: storage,
            quotas: quotas,
            signingKeys: VectorKeys.set(signingSeed),
            troubles: troubles
        )
    }

    /// Sends a request as a client that pins the key. Returns the exchange, including the `Date`
    /// of its answer.
    func ask(
        _ method: HTTPRequest.Method,
        _ target: String,
        user: String? = "alice",
        bearer: String? = nil,
        token: String = Self.token,
        nonce: String? = nil,
        condition: String? = nil,
        body: String? = nil,
        coverage: SignatureCoverage = .account
    ) async throws -> VectorExchange {
        let accepted = try VectorKeys.acceptSignature(coverage, nonce: nonce)
        var headers = [("MyToken", token), ("Accept-Signature", accepted), ("X-Request-Id", "vector")]
        if let bearer { headers.append(("Authorization", "Bearer \(bearer)")) }
        if let condition { headers.append(("If-None-Match", condition)) }
        let user = bearer == nil ? user : nil
        let response = try await self.fixture.send(method, target, user: user, headers: headers, body: body ?? "")
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let hasNoBody = method == .head || [204, 304].contains(response.status.code)
        return VectorExchange(
            method: method.rawValue,
            path: parts[0],
            query: parts.count > 1 ? parts[1] : nil,
            token: token,
            nonce: nonce,
            condition: condition,
            requestBody: body,
            status: response.status.code,
            fields: response.fields.lines.map { ($0.name.rawName, $0.value) }
                + [("Date", HTTPDate(self.fixture.clock.now).description)],
            body: hasNoBody ? [] : response.body
        )
    }

    /// Stores a notification with a chosen id for alice. `payload` is JSON text.
    func post(
        _ number: Int64,
        _ payload: String,
        lifetime: TimeInterval = 86_400,
        isStoredByClients: Bool = true,
        isReadOnce: Bool = false
    ) async throws {
        let id = try #require(NotificationID(rawValue: number))
        let (paul, alice) = (try await self.fixture.storage.user("paul"), try await self.fixture.storage.user("alice"))
        _ = try await self.fixture.storage.store.post(
            NewNotification(
                id: id,
                sender: paul.id,
                sealedPayload: self.fixture.storage.store.vault.seal(
                    Data(payload.utf8),
                    in: .payload(id, sender: paul.id)
                ),
                audience: self.fixture.storage.store.hashed(Audience([.tag(Tag(of: alice.name))])),
                createdAt: self.fixture.clock.now,
                expiresAt: self.fixture.clock.now + lifetime,
                options: NotificationOptions {
                    $0.isStoredByClients = isStoredByClients
                    $0.isReadOnce = isReadOnce
                }
            )
        )
    }

    func advance(by seconds: TimeInterval) {
        self.fixture.clock.advance(by: seconds)
    }
}
