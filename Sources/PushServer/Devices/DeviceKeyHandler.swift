internal import Bytes
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Stores and lists the public keys of devices for end-to-end encryption. The server stores the
/// keys as texts that name the account, and does not check who has the private keys. Devices
/// approve each other's keys, and senders remember the keys that they have seen, and refuse other
/// keys.
struct DeviceKeyHandler: Handler {
    let store: any DeviceStore & NotificationStore
    let accounts: AccountIDs
    let settings: ServerSettings

    var routes: [Route] {
        [
            Route(.put, Paths.deviceKey("{id}"), .atLeast(.device, .register), body: ["Key"]) {
                try await self.setKey($0)
            },
            Route(.get, Paths.keys, .atLeast(.publisher, .send), query: ["to", "app"]) { try await self.listKeys($0) },
        ]
    }

    /// Sets the keys of one of the account's devices. Any device of the account may do so: to
    /// approve another device's key, a device adds its signature to the text of that key, and
    /// sends the text.
    private func setKey(_ context: RequestContext) async throws -> Response {
        let user = try context.user
        guard let id = RegistrationID(context.parameter) else {
            throw Problem(.invalidParameter, "the registration id must be 1 to 128 letters, digits, -, _ or .")
        }
        let body = try JSONBody(try await context.request.body.collect())
        guard let key = try body.string("Key") else { throw Problem(.invalidMember, "Key is missing") }
        let account = self.accounts.id(ofUser: user.id).text
        if let fault = DeviceKeyText.fault(in: key, ofAccount: account) {
            throw Problem(.invalidMember, "Key \(fault)")
        }
        let isSet = try await self.store.setKey(
            key,
            of: id,
            ofUser: user.id,
            by: context.record(.registerDevice, of: id.description, detail: "keys")
        )
        guard isSet else { throw Problem(.notFound, "the account has no registered device of this id") }
        return .noContent
    }

    /// Lists the devices to which a notification for a tag expression would go now, grouped by
    /// user.
    private func listKeys(_ context: RequestContext) async throws -> Response {
        let (query, user) = (try Query(context.request.head.query), try context.user)
        let expression = try query["to"].map(Self.expression) ?? .tag(Tag(of: user.name))
        let app = try self.settings.app(named: try query["app"], for: user)
        if let name = expression.onlyUsername {
            guard
                let found = try await context.reader.user(named: name), user.maySee(found), found.mayUse(app)
            else {
                throw Problem(.unknownUser, "user \(name) does not exist")
            }
        }
        let audience = Audience([expression], of: app, platforms: self.settings.platforms(of: app))
        let limit = EndToEndPayload.maximumDevices
        guard let devices = try await self.store.deviceKeys(of: self.store.hashed(audience), atMost: limit) else {
            throw Problem(
                .audienceTooLarge,
                "more than \(limit) devices or users match; send to smaller groups, or without end-to-end encryption"
            )
        }
        let users = Dictionary(grouping: devices, by: \.owner).sorted { $0.key.id < $1.key.id }
        return Response(uncached: .object([.init("Users", .array(users.map { self.item($0.key, $0.value) }))]))
    }

    private static func expression(_ text: String) throws -> TagExpression {
        do throws(TagExpression.Invalid) {
            return try TagExpression(text)
        } catch {
            throw Problem(.invalidParameter, "to is not a tag expression: \(error)")
        }
    }

    private func item(_ owner: DeviceOwner, _ devices: [DeviceKeyEntry]) -> JSONValue {
        .object([
            .init("Name", .string(owner.name.description)),
            .init("Account", .string(self.accounts.id(ofUser: owner.id).text)),
            .init(
                "Devices",
                .array(
                    devices.map { device in
                        .object([
                            .init("Id", .string(device.id.description)),
                            .init("Key", device.key.map { .string($0) } ?? .null),
                        ])
                    }
                )
            ),
        ])
    }
}
