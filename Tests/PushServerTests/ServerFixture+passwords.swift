import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

extension ServerFixture {
    /// Signs in with a password, and lists the user's own devices. Returns the status.
    func list(
        _ user: String = "alice",
        password: String = Self.password,
        loop: Int = 0
    ) async throws -> HTTPResponse.Status {
        let headers = [("Authorization", Self.basic(user, password: password))]
        return try await self.send(.get, Paths.register, user: nil, headers: headers, loop: loop).status
    }

    func storedPassword(of user: String = "alice") async throws -> PasswordHash {
        try #require(try await self.storage.reader.password(of: self.storage.user(user)))
    }
}
