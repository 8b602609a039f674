internal import Crypto
internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushStore
internal import SocketHTTP
internal import Synchronization

/// Sees to it that a request with an `Idempotency-Key` is worked on once at a time, and tells the store which one it is.
///
/// What has come of a request is in the store; here is only which ones are under way in this process.
struct IdempotencyGuard: Sendable {
    private let keys: SymmetricKey
    private let requests: SymmetricKey
    private let running = Running()

    init(keys: SymmetricKey, requests: SymmetricKey) {
        self.keys = keys
        self.requests = requests
    }

    /// What the store knows a request by; `nil` if it has no key.
    func request(of context: RequestContext, body: [UInt8]) throws(Problem) -> IdempotentRequest? {
        guard let key = try IdempotencyKey(of: context.request.head) else { return nil }
        // Lengths and blanks keep the parts apart: neither paths nor numbers have any.
        let (head, user) = (context.request.head, try context.user.id)
        let query = head.query.map { "\($0.utf8.count) \($0)" } ?? "-"
        return IdempotentRequest(
            key: Self.hash(Array("\(user) \(head.method.rawValue) \(head.path) \(key.text)".utf8), self.keys),
            request: Self.hash(Array("\(query) ".utf8) + body, self.requests)
        )
    }

    /// Throws an `idempotency-key-in-use` problem if such a request is being worked on; else `end` must follow.
    func begin(_ request: IdempotentRequest) throws(Problem) {
        guard self.running.keys.withLock({ $0.insert(request.key).inserted }) else {
            throw Problem(.idempotencyKeyInUse)
        }
    }

    func end(_ request: IdempotentRequest) {
        _ = self.running.keys.withLock { $0.remove(request.key) }
    }

    private static func hash(_ bytes: [UInt8], _ key: SymmetricKey) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: bytes, using: key).prefix(16))
    }

    /// A lock, for both loops ask, and none of them waits.
    private final class Running: Sendable {
        let keys = Mutex<Set<Data>>([])
    }
}
