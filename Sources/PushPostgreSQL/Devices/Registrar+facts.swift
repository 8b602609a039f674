internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Reads the facts that a decision asks for. Each statement also locks the devices that it reads.
extension Registrar {
    func read(_ question: RegistrationQuestion, into facts: inout RegistrationFacts) async throws {
        switch question {
        case .isSignedIn(let token):
            // The user's lock suffices: a transaction that ends a session locks the user, too.
            facts.isSignedIn = try await self.tx.query(Self.findToken, token.description).count == 1
        case .device(let id, nil):
            facts.device = try await self.device(id).map { [$0] } ?? []
        case .device(let id, let search?):
            let (name, platform, key) = (id.description, search.platform.description, search.key)
            let rows = try await self.devices(Self.issuedAndHolders, name, self.user, platform, key, search.user)
            facts.device = rows.filter { $0.id == name && $0.user == self.user }
            facts.holders = rows.filter { $0.platform == search.platform && $0.handleKey == key }
        case .isHeld(let search):
            let rows = try await self.tx.query(Self.isHeld, self.user, search.platform.description, search.key)
            facts.isHeld = try rows.first?.flag() ?? false
        case .holders(let search):
            let platform = search.platform.description
            facts.holders = try await self.devices(Self.holders, platform, search.key, search.user)
        case .claim(let number, let device):
            facts.claim = try await self.devices(Self.claim, number, device)
        case .confirmation(let key):
            facts.confirmation = try await self.tx.query(Self.confirmation, key).map(Confirmation.init)
        case .pushAtLimit(let since, let count):
            let rows = try await self.tx.query(Self.newestPushes, self.user, since.milliseconds, count)
            facts.pushAtLimit = try rows.map { try $0.date() }
        case .deviceCount(let replaced, let limit):
            let rows = try await self.tx.query(Self.countDevices, self.user, replaced, limit)
            facts.deviceCount = try rows.first.map { Int(try $0.integer()) } ?? 0
        case .names(let users):
            let rows = try await self.tx.query(Self.namesOfUsers, users)
            facts.names = Dictionary(try rows.map { (try $0.integer("id"), try $0.data("name")) }) { first, _ in first }
        }
    }

    func device(_ id: RegistrationID) async throws -> StoredDevice? {
        try await self.devices(Self.issued, id.description, self.user).first
    }

    // MARK: - Private

    private func devices(_ sql: String, _ values: any Bindable...) async throws -> [StoredDevice] {
        try await self.tx.query(sql, values: values).map(StoredDevice.init)
    }

    private static let findToken = "select 1 from token where prefix = $1"
    private static let issued = """
        \(StoredDevice.select) where d.id = $1 and d.user_id = $2 and d.claims_for is null for update of d
        """

    /// Selects the device with the id `$1` and the devices with the handle, in one statement. With
    /// two statements, two users who exchange their handles would deadlock. Other users' devices
    /// are read only if this user has a device with the id, and if only one user may have the
    /// handle.
    private static let issuedAndHolders = """
        \(StoredDevice.select)
        where (d.id = $1 and d.user_id = $2 and d.claims_for is null)
            or (d.platform = $3 and d.handle_key = $4 and ($5::int8 is null or d.user_id = $5)
                and exists (select 1 from device i where i.id = $1 and i.user_id = $2 and i.claims_for is null))
        order by d.number for update of d
        """

    private static let holders = """
        \(StoredDevice.select)
        where d.platform = $1 and d.handle_key = $2 and ($3::int8 is null or d.user_id = $3)
        order by d.number for update of d
        """

    /// Selects whether the user has a device with the handle. Because of `offset 0`, the planner
    /// reads only this user's devices. Without it, the planner could search all users' devices by
    /// handle.
    private static let isHeld = """
        select exists (
            select 1 from (select platform, handle_key from device where user_id = $1 offset 0) own
            where own.platform = $2 and own.handle_key = $3)
        """

    private static let claim = """
        \(StoredDevice.select) where d.number = $1 and d.claims_for = $2 and d.handle is not null for update of d
        """
    private static let confirmation = "\(Confirmation.select) where c.handle_key = $1"
    private static let newestPushes = """
        select pushed_at from confirmation where user_id = $1 and pushed_at > $2 order by pushed_at desc limit 1 offset $3
        """
    private static let countDevices = """
        select count(*) from (
            select 1 from device
            where user_id = $1 and handle is not null and claims_for is null and number is distinct from $2 limit $3) d
        """
    private static let namesOfUsers = "select id, name from account where id = any($1::bigint[])"
}
