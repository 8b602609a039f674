internal import Bytes
public import Foundation
internal import PushAPI

extension PushClient {
    /// The id of this device's registration; `nil` without one, and as long as the client does not
    /// know whose data the store has (``Credentials/token(_:account:id:)``). The call reads a file
    /// of at most 64 KiB from the disk, which takes a few milliseconds.
    public var registrationID: String? { self.api.own.ownsStored ? self.records.registration?.id : nil }

    /// Registers this device and returns its registration id, which the client stores.
    ///
    /// If the server says that the stored id is no longer valid, the client requests a new id,
    /// once. Concurrent calls run one after the other and register the same id. If the account is
    /// signed out during the call, the client ends the registration, and the call throws
    /// ``PushClientError/signedOut``.
    ///
    /// `platform` is the name of a sender in the server's configuration (otherwise the call throws
    /// the problem `unknown-platform`). `handle` is the provider's token for this device, 1 to
    /// 4096 visible ASCII characters in the provider's own format; pass an empty text for
    /// `stream`, which has none. `tags` has up to 60 tags, each of 1 to 120 characters of
    /// `A-Z a-z 0-9 - _ @ # + . :`; no tag begins with `username:` or `from:` (otherwise the
    /// problem is `invalid-member`). If the user has too many devices for
    /// the server, the problem is `too-many-devices`. A call that throws one of these problems
    /// registers nothing, and an earlier registration stays unchanged.
    ///
    /// With ``Options/deviceKey``, the call also gives the server the device's public keys, unless
    /// the server has them. It throws ``PushClientError/keyReplaced`` after it has registered, if
    /// the server lists other keys for a device that was registered before. At the first
    /// registration after a sign-out, or with a new store, the device's keys replace the listed
    /// keys.
    ///
    /// Pass `isSandbox` in builds that Xcode has installed on an Apple device: only Apple's
    /// sandbox knows their tokens. The server's configuration must enable the sandbox (otherwise
    /// the problem is `invalid-member`).
    @discardableResult
    public func register(
        platform: String,
        handle: String,
        tags: [String] = [],
        isSandbox: Bool = false
    ) async throws -> String {
        try await CallDeadline.within(self.deadline) {
            try await self.registrationTurn.take(within: self.deadline) {
                try await self.registerNow(platform: platform, handle: handle, tags: tags, isSandbox: isSandbox)
            }
        }
    }

    private func registerNow(
        platform: String,
        handle: String,
        tags: [String],
        isSandbox: Bool
    ) async throws -> String {
        var members: [JSONValue.Member] = [
            .init("Platform", .string(platform)), .init("Handle", .string(handle)),
            .init("Tags", .array(tags.map { .string($0) })),
        ]
        if let app { members.append(.init("App", .string(app))) }
        if isSandbox { members.append(.init("Environment", .string("sandbox"))) }
        if self.isDeviceShared { members.append(.init("Shared", .bool(true))) }
        let body = JSONValue.object(members)
        // The sign-in has not registered this device yet, or the call that began to has failed.
        let isNew = self.records.registration?.isUnfinished ?? true
        let hasNewKeys = isNew && self.options.deviceKey != nil
        let id = try await BackgroundTime.during("registers for pushes") { try await self.put(body, handle: handle) }
        let fingerprint = StoredRegistration.fingerprint(
            platform: platform,
            handle: handle,
            tags: tags,
            isSandbox: isSandbox,
            isShared: self.isDeviceShared
        )
        let session = self.credentials.session ?? ""
        let registration = StoredRegistration(id: id, fingerprint: fingerprint, session: session, date: self.now())
        do {
            try self.records.store(hasNewKeys ? registration.unfinished : registration)
        } catch {
            await self.endUnstored(id)
            throw error
        }
        // If an earlier session had no valid token when it was signed out, its registration may
        // remain. The client ends that registration now; if the attempt fails, the next
        // registration tries again.
        try? await self.signOuts.finishDevices(with: self.api)
        if self.options.deviceKey != nil { _ = try await self.isListed(id, hasNewKeys: hasNewKeys) }
        if hasNewKeys { try self.records.store(registration) }
        self.isRegistrationChecked.withLock { $0 = true }
        return id
    }

    /// Whether the server's list of devices has the registration. If the list has the registration
    /// without this device's public keys, the call gives them to the server. It also replaces
    /// other keys of the account if `hasNewKeys`: the device had them before it lost its data.
    private func isListed(_ id: String, hasNewKeys: Bool = false) async throws -> Bool {
        let devices = try await self.devices()
        guard let device = devices.first(where: { $0.id == id && $0.retiredAt == nil }) else { return false }
        if let key = self.options.deviceKey, device.key?.id != key.id {
            // Senders refuse keys of another account, so those cannot replace this device's keys.
            guard hasNewKeys || device.key?.account != key.account else { throw PushClientError.keyReplaced }
            try await self.setDeviceKey(key.text, of: id)
        }
        return true
    }

    /// Ends a registration that the server accepted during a sign-out of the account on this
    /// device. The `SignOutOrder` of that sign-out does not name this registration.
    private func endUnstored(_ id: String) async {
        let order = SignOutOrder(
            self.api.endpoint?.name ?? "",
            self.credentials,
            registration: id,
            account: self.api.own.id
        )
        // If the sign-out order cannot be written, the registration stays until its session ends.
        try? self.records.account.add(order)
        // If this sign-out fails, a later attempt repeats it.
        _ = try? await self.signOuts.finish(at: self.server, self.options)
    }

    /// Registers this device with the token that Apple's system gives the app; the client sends
    /// the token in hexadecimal.
    @discardableResult
    public func register(
        platform: String,
        handle: Data,
        tags: [String] = [],
        isSandbox: Bool = false
    ) async throws -> String {
        let text = Hexadecimal.text(of: handle)
        return try await self.register(platform: platform, handle: text, tags: tags, isSandbox: isSandbox)
    }

    /// Registers this device again if its handle, platform, environment, tags or session have
    /// changed, or if `interval` has passed.
    ///
    /// Otherwise the first call of each client asks the server whether the registration still
    /// exists, and later calls send no request. The server ends a registration if the provider
    /// reports that the device is gone. The registration also ends with its session, for example
    /// because of a new password, an administrator or a sign-out. The next session must then
    /// register the device again. Call this function at each start of the app, and after signing
    /// in. The limits of ``register(platform:handle:tags:isSandbox:)-(_,String,_,_)`` apply here,
    /// too.
    ///
    /// With ``Options/deviceKey``, the call also gives the server the device's public keys, if the
    /// server has lost them. It throws ``PushClientError/keyReplaced`` if the server lists other
    /// keys for this device. The registration is then still valid.
    @discardableResult
    public func registerIfNeeded(
        platform: String,
        handle: String,
        tags: [String] = [],
        isSandbox: Bool = false,
        atLeastEvery interval: Duration = .seconds(7 * 86400)
    ) async throws -> String {
        let fingerprint = StoredRegistration.fingerprint(
            platform: platform,
            handle: handle,
            tags: tags,
            isSandbox: isSandbox,
            isShared: self.isDeviceShared
        )
        return try await CallDeadline.within(self.deadline) {
            // Another call may have just registered the device.
            try await self.registrationTurn.take(within: self.deadline) {
                // The stored registration may be another account's.
                try await self.api.checkOwner()
                if let stored = self.records.registration, stored.isSame(as: fingerprint, session: await self.session())
                {
                    let age = self.now().timeIntervalSince(stored.date)
                    // A clock that was set back does not make a registration younger.
                    if age >= 0, Duration.seconds(age) < interval, !(try await self.isRetired(stored.id)) {
                        return stored.id
                    }
                }
                return try await self.registerNow(
                    platform: platform,
                    handle: handle,
                    tags: tags,
                    isSandbox: isSandbox
                )
            }
        }
    }

    /// Whether the server has ended the registration. Each client asks the server only once.
    private func isRetired(_ id: String) async throws -> Bool {
        if self.isRegistrationChecked.withLock({ $0 }) { return false }
        do {
            let isRetired = try await !self.isListed(id)
            self.isRegistrationChecked.withLock { $0 = true }
            return isRetired
        } catch let error as PushClientError where [.signedOut, .keyReplaced].contains(error) {
            throw error
        } catch PushClientError.interference(let found) where found.kind == .wrongAccount {
            // The registration may be another account's.
            throw PushClientError.interference(found)
        } catch {
            try Task.checkCancellation()
            // Without the server's answer the registration counts as valid, and the next call asks
            // again.
            return false
        }
    }

    /// Registers this device again if needed, with the token that Apple's system gives the app.
    @discardableResult
    public func registerIfNeeded(
        platform: String,
        handle: Data,
        tags: [String] = [],
        isSandbox: Bool = false,
        atLeastEvery interval: Duration = .seconds(7 * 86400)
    ) async throws -> String {
        try await self.registerIfNeeded(
            platform: platform,
            handle: Hexadecimal.text(of: handle),
            tags: tags,
            isSandbox: isSandbox,
            atLeastEvery: interval
        )
    }

    /// Ends this device's registration. Ending it again does nothing.
    public func unregister() async throws {
        try self.checkSignedIn()
        guard let id = self.records.registration?.id else { return }
        do {
            _ = try await self.api.call(APIRequest("DELETE", Paths.registration(id)))
        } catch PushClientError.problem(let problem) where [404, 410].contains(problem.status) {
            // The registration is gone already.
        }
        self.records.registration = nil
    }

    // MARK: - Private

    /// Identifies the session of the next request; `nil` if the session is unknown now.
    private func session() async -> String? {
        guard case .provided(let provider) = self.credentials.kind, provider.last == nil, !TokenProvider.isAsking else {
            return self.credentials.session
        }
        // The app has just started and has no token yet. A registration needs a token in any case,
        // so the client asks for one now.
        _ = try? await CallDeadline.race(within: CallDeadline.remaining(atMost: self.deadline)) {
            try await provider.token(insteadOf: nil)
        }
        return self.credentials.session
    }

    /// Registers the device under the stored id, or under a new id if none is stored; returns the
    /// id.
    private func put(_ body: JSONValue, handle: String) async throws -> String {
        let stored = self.records.registration?.id
        var id: String
        if let stored { id = stored } else { id = try await self.requestRegistration(handle: handle) }
        do {
            try await self.put(body, as: id)
        } catch PushClientError.problem(let problem) where problem.code == .registrationGone {
            self.records.registration = nil
            id = try await self.requestRegistration(handle: nil)
            try await self.put(body, as: id)
        }
        return id
    }

    private func requestRegistration(handle: String?) async throws -> String {
        var request = APIRequest("POST", Paths.register)
        // A device with an event stream has no handle.
        if let handle, !handle.isEmpty { request.query = [URLQueryItem(name: "handle", value: handle)] }
        let answer = try await self.api.call(request)
        guard let id = answer.json?.text, Self.isRegistrationID(id) else {
            throw answer.unexpected("a registration id")
        }
        return id
    }

    /// Whether a text can be a registration id, which becomes a part of a path.
    static func isRegistrationID(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { $0.isLetterOrDigit || "-_.".utf8.contains($0) }
    }

    private func put(_ body: JSONValue, as id: String) async throws {
        var request = APIRequest("PUT", Paths.registration(id))
        request.body = body
        _ = try await self.api.call(request)
    }
}
