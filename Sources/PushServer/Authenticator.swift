internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Tells who calls: the only place where credentials are checked.
package final class Authenticator: Sendable {
    /// One for each event loop, so that none ever waits for another.
    private let caches: [CredentialCache]
    private let pool: HashingPool
    /// Checked for users that do not exist, so that they take as long as those that do.
    private let nobody: PasswordHash

    /// Throws `PasswordError` if Argon2 does not work here.
    package convenience init(loops: Int, workers: Int) throws {
        self.init(loops: loops, workers: workers, nobody: try PasswordHash(of: UUID().uuidString))
    }

    /// `nobody` should take as long to check as the users' own.
    init(loops: Int, workers: Int, nobody: PasswordHash) {
        self.caches = (0..<loops).map { _ in CredentialCache() }
        self.pool = HashingPool(workers: workers)
        self.nobody = nobody
    }

    /// The user whose credentials the request carries. Throws an `unauthorized` problem, the same for each reason.
    func user(of request: Request, reader: Reader, now: Date) async throws -> User {
        let field = try self.field(of: request)
        let cache = self.caches[request.loopIndex]
        let key = cache.key(for: field)
        guard let credentials = BasicCredentials(field: field) else { throw Problem(.unauthorized) }
        let user = try reader.user(named: credentials.username)
        let hash = user?.password ?? self.nobody
        let isRight = try await self.pool.run {
            // Of a burst with the same credentials only the first hashes.
            cache.user(for: key, now: now) != nil || hash.matches(credentials.password.exposed)
        }
        guard let user, isRight else { throw Problem(.unauthorized) }
        cache.remember(user, for: key, now: now)
        return user
    }

    /// The same without any waiting, if these credentials were right a short while ago.
    func rememberedUser(of request: Request, now: Date) -> User? {
        // Why there is none is said by whoever asks next.
        guard let field = try? self.field(of: request) else { return nil }
        let cache = self.caches[request.loopIndex]
        return cache.user(for: cache.key(for: field), now: now)
    }

    private func field(of request: Request) throws(Problem) -> String {
        guard request.head.count(of: .authorization) == 1, let field = request.head[.authorization] else {
            throw Problem(.unauthorized)
        }
        return field
    }

    /// Hashes a new password, off the event loop.
    func hash(_ password: Secret<String>) async throws -> PasswordHash {
        try await self.pool.run { Result { try PasswordHash(of: password.exposed) } }.get()
    }

    /// To be called after any change of an account.
    func accountsChanged() {
        for cache in self.caches { cache.forgetAll() }
    }
}
