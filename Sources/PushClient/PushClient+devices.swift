public import Foundation
internal import PushAPI

extension PushClient {
    /// A device of the account, for a screen such as "your devices".
    public struct Device: Sendable, Hashable, Identifiable {
        /// The id of the device's registration.
        public let id: String
        /// The name of the device's sender in the server's configuration, such as `apns`; `nil` if
        /// the answer has none.
        public let platform: String?
        /// The topics that the device has joined, in lower case, and its user's tag `username:…`.
        public let topics: [String]
        /// Whether this client runs on the device.
        public let isThisDevice: Bool
        /// When the device was registered.
        public let createdAt: Date?
        /// When the provider last accepted a push to the device.
        public let lastPush: Date?
        /// When another account registered the device; `nil` if the device still belongs to this
        /// account.
        public let retiredAt: Date?
        /// The device's public keys for end-to-end encryption; `nil` if it has none that can be
        /// read.
        public let key: DeviceKey?

        /// Creates a device for an app's own tests and previews.
        public init(
            id: String,
            platform: String? = nil,
            topics: [String] = [],
            isThisDevice: Bool = false,
            createdAt: Date? = nil,
            lastPush: Date? = nil,
            retiredAt: Date? = nil,
            key: DeviceKey? = nil
        ) {
            self.id = id
            self.platform = platform
            self.topics = topics
            self.isThisDevice = isThisDevice
            self.createdAt = createdAt
            self.lastPush = lastPush
            self.retiredAt = retiredAt
            self.key = key
        }

        init?(_ json: JSONValue, own: String?) {
            guard let id = json["Id"]?.text else { return nil }
            func date(_ name: String) -> Date? { json[name]?.text.flatMap(Date.init(rfc3339:)) }
            var topics: [String] = []
            if case .array(let tags)? = json["Tags"] { topics = tags.compactMap(\.text) }
            self.init(
                id: id,
                platform: json["Platform"]?.text,
                topics: topics,
                isThisDevice: id == own,
                createdAt: date("CreatedAt"),
                lastPush: date("LastPush"),
                retiredAt: date("RetiredAt"),
                // A key that cannot be read counts as missing here; senders report the error.
                key: json["Key"]?.text.flatMap { try? DeviceKey($0) }
            )
        }
    }

    /// The provider's answer to a test push.
    public struct TestPush: Sendable, Hashable {
        /// `accepted`, `queued` or `failed`.
        public let state: String
        /// The provider's reason for the test push's state, in the provider's words; `nil` if it
        /// gave none.
        public let reason: String?
    }

    /// The account's devices. If another account registers one of the devices, the device stays in
    /// this list for 30 days.
    public func devices() async throws -> [Device] {
        let answer = try await self.api.call(APIRequest("GET", Paths.register))
        let own = self.registrationID
        guard case .array(let elements)? = answer.json else { throw answer.unexpected("a list of devices") }
        let devices = elements.compactMap { Device($0, own: own) }
        guard devices.count == elements.count else { throw answer.unexpected("a list of devices") }
        return devices
    }

    /// Ends the registration of a device of the account: the device gets no more pushes. A second
    /// call for the same device does nothing. Throws ``PushClientError/invalidValue(_:)`` for an
    /// id that no device can have.
    ///
    /// The device keeps its session, so it can still fetch, and register again: on this device,
    /// `registerIfNeeded` does so. For a lost phone, also end its session or set another password,
    /// and let backends distrust its end-to-end keys: docs/security.md, "A malicious server".
    public func endDevice(_ id: String) async throws {
        try Self.checkDevice(id)
        do {
            _ = try await self.api.call(APIRequest("DELETE", Paths.registration(id)))
        } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
            // The device is gone already.
        }
        if id == self.registrationID { self.records.registration = nil }
    }

    /// Lets this device join a topic.
    ///
    /// The next registration replaces all topics of the device. So also add the topic to the tags
    /// of ``registerIfNeeded(platform:handle:tags:isSandbox:atLeastEvery:)-(_,String,_,_,_)``.
    /// Throws ``PushClientError/notRegistered`` for a device without a registration, and
    /// ``PushClientError/invalidValue(_:)`` for a topic that no path can have: it is empty, `.` or
    /// `..`, or has a slash, a backslash, a percent sign or a control character.
    public func joinTopic(_ topic: String) async throws {
        _ = try await self.api.call(APIRequest("PUT", try await self.path(of: topic)))
    }

    /// Lets this device leave a topic. Throws as ``joinTopic(_:)`` does.
    public func leaveTopic(_ topic: String) async throws {
        _ = try await self.api.call(APIRequest("DELETE", try await self.path(of: topic)))
    }

    /// Sends a test push to this device, and returns the provider's answer. If the provider has
    /// not answered after 20 seconds, the state is `queued`.
    public func testPush() async throws -> TestPush {
        let answer = try await self.api.call(
            APIRequest("POST", Paths.deviceTest(try await self.ownDevice()), isRepeatable: false)
        )
        guard let state = answer.json?["State"]?.text else { throw answer.unexpected("the outcome of a test push") }
        return TestPush(state: state, reason: answer.json?["Reason"]?.text)
    }

    /// Gives this device's public keys to the server, in place of all keys that the server lists
    /// for this device. With ``Options/deviceKey``, an app needs this call only after
    /// ``PushClientError/keyReplaced``.
    public func setDeviceKey(_ key: DeviceKey) async throws {
        try await self.setDeviceKey(key.text, of: try await self.ownDevice())
    }

    /// Gives the approved keys of another device of the account to the server: `approved` is the
    /// result of ``DeviceKeys/approve(_:)``.
    public func setDeviceKey(_ approved: String, of device: String) async throws {
        try Self.checkDevice(device)
        var request = APIRequest("PUT", Paths.deviceKey(device))
        request.body = .object([.init("Key", .string(approved))])
        _ = try await self.api.call(request)
    }

    /// Sends back to the server the code that the server has pushed to a webhook's handle. The
    /// server then registers the handle. If the code is wrong or has expired, the call throws the
    /// problem `confirmation-refused`.
    public func confirmHandle(_ code: String) async throws {
        var request = APIRequest("POST", Paths.confirmation(try await self.ownDevice()))
        request.body = .string(code)
        _ = try await self.api.call(request)
    }

    // MARK: - Private

    /// The id becomes a part of a path: `..` would name another resource.
    private static func checkDevice(_ id: String) throws {
        if Self.isRegistrationID(id) { return }
        throw PushClientError.invalidValue("device: no device can have this id")
    }

    /// The server refuses a path with such a topic before it reads the request's fields, so its
    /// answer would have no echo.
    private func path(of topic: String) async throws -> String {
        let isImpossible = topic.unicodeScalars.contains {
            "/\\%".unicodeScalars.contains($0) || $0.value < 0x20 || $0.value == 0x7F
        }
        if isImpossible || ["", ".", ".."].contains(topic) {
            throw PushClientError.invalidValue("topic: no path can have it")
        }
        return Paths.topic(APIRequest.escaped(topic), of: try await self.ownDevice())
    }

    private func ownDevice() async throws -> String {
        try await self.api.checkOwner()
        guard let id = self.registrationID else { throw PushClientError.notRegistered }
        return id
    }
}
