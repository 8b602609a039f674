public import PushAPI

extension PushClient {
    /// Opens the end-to-end payload of a notification as ``openPayloads(of:with:from:)`` does.
    /// Throws ``UnreadablePayload`` if it cannot.
    public func openPayload(
        of item: NotificationItem,
        with keys: DeviceKeys,
        from senders: [String]
    ) async throws -> OpenedPayload {
        // There is one result for each item.
        try await self.openPayloads(of: [item], with: keys, from: senders)[0].get()
    }

    /// Opens the end-to-end payloads of notifications, and stores the ids of their messages.
    ///
    /// A message that came earlier with another notification gives ``UnreadablePayload/replayed``.
    /// An unencrypted payload gives ``UnreadablePayload/notEncrypted``, so an app that requires
    /// encryption does not show it. The payloads must be for ``Options/app``. Signing out forgets
    /// the messages: make new keys for the next session.
    ///
    /// - Parameters:
    ///   - items: Notifications that this client has fetched.
    ///   - keys: The keys of this device.
    ///   - senders: The public keys of the backends that the app trusts, 87 characters each.
    /// - Returns: A result for each item, in their order.
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
