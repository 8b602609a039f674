internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore
internal import Synchronization

/// All stored data of one user as a JSON document.
///
/// The server reads the document's parts one after the other, page by page. A change during this
/// time may appear in some parts only.
struct UserDataDocument: Sendable {
    /// Accepts the next bytes of the document.
    typealias Output = @Sendable ([UInt8]) async throws -> Void

    let user: User
    let entry: UserEntry
    let account: AccountID
    let issued: IssuedAccount?
    let reports: ReportReader
    let vault: Vault
    let apps: Set<AppName>
    let now: Date
    /// The largest number of rows that one read returns. The number is limited so that reads of
    /// other reports run in between.
    private static let pageSize = 500
    /// The largest number of notifications that one read returns, with their payloads and pushes.
    private static let notifications = 50

    func write(to output: Output) async throws {
        try await output(UserData.head(self.entry, self.account, self.issued, now: self.now))
        try await self.writeTokens(to: output)
        let devices = try await self.writeDevices(to: output)
        try await self.writeNotifications(to: output)
        let data = UserData(name: self.user.name, since: self.entry.createdAt, devices: devices)
        try await self.writeEvents(about: data, to: output)
        try await self.writeAudit(about: data, to: output)
        try await output(Array("\n}\n".utf8))
    }

    private func writeTokens(to output: Output) async throws {
        try await self.write("Tokens", to: output, from: TokenPrefix?.none) { last, reader in
            let tokens = try await reader.tokens(of: self.user.name, after: last, limit: Self.pageSize, now: self.now)
            let elements = tokens.map { UserData.element($0, auditName: reader.auditName(of: $0.prefix)) }
            return (elements, tokens.count < Self.pageSize ? nil : .some(tokens.last?.prefix))
        }
    }

    /// Writes the devices. Returns the devices' ids, by which entries of the audit name them.
    private func writeDevices(to output: Output) async throws -> Set<String> {
        let ids = Mutex<Set<String>>([])
        try await self.write("Devices", to: output, from: DevicePlace?.none) { last, reader in
            let devices = try await reader.deviceEntries(of: self.user.name, after: last, limit: Self.pageSize)
            ids.withLock { $0.formUnion(devices.map(\.id.description)) }
            let elements = devices.map { UserData.element($0) }
            return (elements, devices.count < Self.pageSize ? nil : .some(devices.last?.place))
        }
        return ids.withLock { $0 }
    }

    /// Writes the user's notifications. Notifications of apps that the user has left are included:
    /// they stay stored until they expire.
    private func writeNotifications(to output: Output) async throws {
        let apps = self.apps.union(self.user.apps).sorted()
        try await self.write("Notifications", to: output, from: NotificationPlace()) { place, reader in
            guard place.app < apps.count else { return ([], nil) }
            let app = apps[place.app]
            let page = try await reader.notifications(
                // The list of changes is used here, because it also has the notifications that the
                // user no longer sees.
                ChangeRange(after: place.change, limit: Self.notifications, isUnreadOnly: false, app: app),
                for: self.user.id,
                now: self.now,
                within: .unlimited,
                needsPayloads: { _ in true }
            )
            var elements: [[UInt8]] = []
            for entry in page.entries {
                let pushes = try await reader.deliveries(of: entry.id, toUser: self.user.id, limit: Self.pageSize)
                elements.append(try UserData.element(entry, of: app, pushes, self.vault))
            }
            return (
                elements, page.hasMore ? NotificationPlace(app: place.app, change: page.end) : .init(app: place.app + 1)
            )
        }
    }

    private func writeEvents(about data: UserData, to output: Output) async throws {
        try await self.write("Events", to: output, from: Int64?.none) { last, reader in
            let page = try await reader.events(after: last, ofSender: nil, limit: Self.pageSize)
            return (page.events.compactMap { data.element($0) }, page.hasMore ? .some(page.end) : nil)
        }
    }

    /// Writes the user's entries of the audit. Reads all entries of all users: their texts are
    /// encrypted, so the database has no index over them.
    private func writeAudit(about data: UserData, to output: Output) async throws {
        try await self.write("Audit", to: output, from: Int64?.none) { last, reader in
            let entries = try await reader.auditEntries(before: last, limit: Self.pageSize)
            let elements = entries.compactMap { data.element($0) }
            return (elements, entries.count < Self.pageSize ? nil : .some(entries.last?.number))
        }
    }

    /// Writes a member of the document that is an array: one element on each line, page by page.
    /// `page` returns the elements of the page that begins at a place, and the place of the next
    /// page; this place is `nil` after the last page.
    private func write<Place: Sendable>(
        _ name: String,
        to output: Output,
        from start: Place,
        _ page: @escaping @Sendable (Place, any StoreReader) async throws -> (elements: [[UInt8]], next: Place?)
    ) async throws {
        var bytes = Array(",\n\"\(name)\": [".utf8)
        var (place, separator): (Place?, String) = (start, "\n")
        while let start = place {
            let (elements, next) = try await self.reports.run { try await page(start, $0) }
            for element in elements {
                bytes += Array(separator.utf8) + element
                separator = ",\n"
            }
            if !bytes.isEmpty { try await output(bytes) }
            (bytes, place) = ([], next)
        }
        try await output(Array("\n]".utf8))
    }
}

/// The place after which the next notifications are read: the index of an app, and the number of a
/// change.
private struct NotificationPlace: Sendable {
    var app = 0
    var change: Int64 = 0
}
