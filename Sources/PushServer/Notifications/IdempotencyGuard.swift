internal import Cryptography
internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP
internal import Synchronization

/// Lets only one request with the same `Idempotency-Key` run at a time, and computes the hashes by
/// which the store recognises repeated requests.
///
/// The store has the outcomes of requests; this type has only the requests that are running in
/// this process.
struct IdempotencyGuard: Sendable {
    private let keys: KeyedHash
    private let requests: KeyedHash
    private let running = Running()

    init(keys: SymmetricKey, requests: SymmetricKey) {
        self.keys = KeyedHash(key: keys)
        self.requests = KeyedHash(key: requests)
    }

    /// A request with a key. The request's body is not part of this value.
    struct KeyedRequest: Sendable {
        /// The user, the method, the path and the key, separated by spaces. None of these parts
        /// contains a space.
        fileprivate let key: String
        fileprivate let query: String
    }

    /// The hashes by which the store recognises a repeated request; `nil` if the request has no
    /// key.
    func request(of context: RequestContext, body: [UInt8]) throws(Problem) -> IdempotentRequest? {
        try self.keyed(context).map { self.request($0, body: body) }
    }

    /// The request with its `Idempotency-Key`; `nil` if it has none. Throws a problem if the key
    /// is invalid.
    func keyed(_ context: RequestContext) throws(Problem) -> KeyedRequest? {
        guard let key = try IdempotencyKey(of: context.request.head) else { return nil }
        let (head, user) = (context.request.head, try context.user.id)
        // Clients may write the path of a post in upper or lower case; the request is the same.
        return KeyedRequest(
            key: "\(user) \(head.method.rawValue) \(head.path.lowercased()) \(key.text)",
            query: head.query.map { "\($0.utf8.count) \($0)" } ?? "-"
        )
    }

    func request(_ keyed: KeyedRequest, body: [UInt8]) -> IdempotentRequest {
        IdempotentRequest(
            key: Self.hash(keyed.key, by: self.keys),
            request: Self.hash("\(keyed.query) ", body, by: self.requests)
        )
    }

    /// The hashes for one element of a batch; `batch` has the hashes for the whole request.
    func element(_ number: Int, of keyed: KeyedRequest, _ batch: IdempotentRequest) -> IdempotentRequest {
        IdempotentRequest(key: Self.hash("\(keyed.key) \(number)", by: self.keys), request: batch.request)
    }

    /// Throws an `idempotency-key-in-use` problem if another request with the same key is running;
    /// otherwise the caller must call `end`.
    func begin(_ request: IdempotentRequest) throws(Problem) {
        guard self.running.keys.withLock({ $0.insert(request.key).inserted }) else {
            throw Problem(.idempotencyKeyInUse)
        }
    }

    func end(_ request: IdempotentRequest) {
        _ = self.running.keys.withLock { $0.remove(request.key) }
    }

    private static func hash(_ text: String, _ more: [UInt8] = [], by key: KeyedHash) -> Data {
        let code = key.code { hash in
            hash.update(data: Array(text.utf8))
            hash.update(data: more)
        }
        return Data(code.prefix(16))
    }

    /// The keys of the running requests. A lock protects the keys, since all event loops use them.
    /// No task is suspended while it holds the lock.
    private final class Running: Sendable {
        let keys = Mutex<Set<Data>>([])
    }
}
