internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Tells who calls: the only place where credentials are checked.
package final class Authenticator: Sendable {
    private let cache = CredentialCache()
    private let pool: HashingPool
    /// Checked for users that do not exist, so that they take as long as those that do.
    private let nobody: PasswordHash

    /// Throws `PasswordError` if Argon2 does not work here.
    package convenience init(workers: Int) throws {
        self.init(workers: workers, nobody: try PasswordHash(of: UUID().uuidString))
    }

    /// `nobody` should take as long to check as the users' own.
    init(workers: Int, nobody: PasswordHash) {
        self.pool = HashingPool(workers: workers)
        self.nobody = nobody
    }

    /// The user whose credentials the request carries. Throws an `unauthorized` problem, the same for each reason.
    func user(of head: RequestHead, reader: Reader, now: Date) async throws -> User {
        guard head.count(of: .authorization) == 1, let field = head[.authorization] else {
            throw Problem(.unauthorized)
        }
        let key = self.cache.key(for: field)
        if let user = self.cache.user(for: key, now: now) { return user }
        guard let credentials = BasicCredentials(field: field) else { throw Problem(.unauthorized) }
        let user = try reader.user(named: credentials.username)
        let hash = user?.password ?? self.nobody
        let isRight = try await self.pool.run { [cache] in
            // Of a burst with the same credentials only the first hashes.
            cache.user(for: key, now: now) != nil || hash.matches(credentials.password.exposed)
        }
        guard let user, isRight else { throw Problem(.unauthorized) }
        self.cache.remember(user, for: key, now: now)
        return user
    }

    /// Hashes a new password, off the event loop.
    func hash(_ password: Secret<String>) async throws -> PasswordHash {
        try await self.pool.run { Result { try PasswordHash(of: password.exposed) } }.get()
    }

    /// To be called after any change of an account.
    func accountsChanged() {
        self.cache.forgetAll()
    }
}
