internal import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLReader {
    package func password(of user: User) async throws(StoreError) -> PasswordHash? {
        try await self.read(Self.passwordOf, user.id, user.passwordNumber) { rows in
            try rows.first.map { PasswordHash(phc: try $0.text(0)) }
        }
    }

    private static let passwordOf = "select password from account where id = $1 and password_number = $2"

    package func password(chosenBy number: UInt64) async throws(StoreError) -> PasswordHash? {
        let last = try await self.read(Self.lastUser) { try $0.first?.optionalInteger(0) }
        guard let last else { return nil }
        return try await self.read(Self.passwordFrom, number.bucket(of: last) + 1) { rows in
            try rows.first?.optionalText(0).map(PasswordHash.init(phc:))
        }
    }

    private static let lastUser = "select max(id) from account"

    /// Falls back to the last user's password, if all users from that id on were deleted after
    /// `lastUser`.
    private static let passwordFrom = """
        select coalesce(
            (select password from account where id >= $1 order by id limit 1),
            (select password from account order by id desc limit 1))
        """
}
