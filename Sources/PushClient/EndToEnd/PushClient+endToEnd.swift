public import PushAPI

extension PushClient {
    /// Opens the end-to-end payload of a notification as ``openPayloads(of:with:from:)`` does.
    /// Throws ``UnreadablePayload`` if the payload cannot be opened.
    public func openPayload(
        of item: NotificationItem,
        with keys: DeviceKeys,
        from senders: [String]
    ) async throws -> OpenedPayload {
        // `openPayloads` returns one result for each item.
        try await self.openPayloads(of: [item], with: keys, from: senders)[0].get()
    }

    /// Opens the end-to-end payloads of notifications, and stores the ids of their messages.
    ///
    /// If a message has already arrived with another notification, its result is
    /// ``UnreadablePayload/replayed``. The result of an unencrypted payload is
    /// ``UnreadablePayload/notEncrypted``, so an app that requires encryption does not show it.
    /// The payloads must be for ``Options/app``. Signing out deletes the stored ids of messages.
    /// So create new keys for the next session: old messages are not encrypted for them.
    ///
    /// - Parameters:
    ///   - items: Notifications that this client has fetched.
    ///   - keys: The keys of this device.
    ///   - senders: The public keys of the backends that the app trusts, 87 characters each.
    /// - Returns: A result for each item, in the order of `items`.
    public func openPayloads(
        of items: [NotificationItem],
        with keys: DeviceKeys,
        from senders: [String]
    ) async throws -> [Result<OpenedPayload, UnreadablePayload>] {
        let now = self.now()
        let results = items.map { item in
            OpeningResult { () throws(UnreadablePayload) in
                try keys.open(item.payload?.text ?? "", from: senders, app: self.app ?? Self.defaultApp, now: now)
            }
        }
        return try await self.inbox.admit(results, of: items.map(\.id))
    }
}

typealias OpeningResult = Result<OpenedPayload, UnreadablePayload>
