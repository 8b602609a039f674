package import Foundation
package import PushCore

extension SharedReader {
    /// The registered devices of a user, the oldest first.
    package func devices(ofUser user: Int64) async throws(StoreError) -> [RegisteredDevice] {
        try await self.all(Self.registeredDevices, [.integer(user)])
    }

    /// The registered device with this id, which may belong to any user, and its owner. `nil` if
    /// there is no such device.
    package func device(
        _ id: RegistrationID
    ) async throws(StoreError) -> (owner: DeviceOwner, device: RegisteredDevice)? {
        let found: OwnedDevice? = try await self.first(Self.registeredDevice, .text(id.description))
        return found.map { ($0.owner, $0.device) }
    }

    /// The user's registrations whose handles other accounts have registered after `since`, the
    /// newest first.
    package func movedDevices(ofUser user: Int64, since: Date) async throws(StoreError) -> [MovedDevice] {
        try await self.all(Self.moved, [.integer(user), .date(since)])
    }

    /// The registrations of one user or of all users, in any state and in a fixed order: at most
    /// `limit` registrations after `last`.
    package func deviceEntries(
        of user: Username?,
        after last: DevicePlace?,
        limit: Int
    ) async throws(StoreError) -> [DeviceEntry] {
        let values: [StoredValue] = [.integer(last?.number ?? 0), .count(limit)]
        guard let user else { return try await self.all(Self.allDevices, values) }
        let created = last?.createdAt.milliseconds ?? .min
        return try await self.all(
            Self.devicesOfOne,
            values + [.bytes(self.sealing.index.hash(user)), .integer(created)]
        )
    }

    /// The registration with this id in any state. If the id belongs to a device's unconfirmed
    /// claim to a handle, returns the device's registration. `nil` if the id was not issued, or
    /// was deleted.
    package func deviceEntry(_ id: RegistrationID) async throws(StoreError) -> DeviceEntry? {
        try await self.first(Self.deviceOfID, .text(id.description))
    }

    /// For each handle that the user's devices have claimed but not confirmed, the last push of a
    /// code.
    package func claims(ofUser user: Int64) async throws(StoreError) -> [ClaimEntry] {
        try await self.all(Self.claims, [.integer(user)])
    }
}

private struct OwnedDevice: StoredEntity {
    let owner: DeviceOwner
    let device: RegisteredDevice

    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let device = try RegisteredDevice(row, sealing) else { return nil }
        (self.owner, self.device) = (try DeviceOwner(row, sealing), device)
    }
}
