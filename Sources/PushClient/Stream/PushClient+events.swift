extension PushClient {
    /// Pushes over a stream from the server, for devices without a provider. Each notification is
    /// fetched and cached as its push arrives.
    ///
    /// If the device has no registration, the client registers it with `platform`, the name of the
    /// server's sender of type `stream`. An existing registration stays unchanged, unless the call
    /// that made it failed before the server had the device's end-to-end keys. A device that is
    /// registered with a provider, such as APNs, has no stream: the server answers 404, and the
    /// sequence throws. For a stream on such a device, use a second client with another store.
    ///
    /// When the stream ends or the network fails, the client opens it again after growing delays
    /// up to a minute. The new stream continues after the last event. The sequence throws
    /// ``PushClientError/signedOut`` if nobody is signed in, and as soon as this client signs out.
    /// After a sign-out by another process it may take as long as `silence`. It also throws when
    /// the task is cancelled, and for permanent refusals by the server, such as
    /// ``PushClientError/unauthorized(_:)``. A stream is not signed. It contains only ids, and the
    /// client fetches and checks each notification as ``notification(_:)`` does.
    ///
    /// `silence` must be longer than the server's `stream.heartbeat`, which is 15 seconds unless
    /// the server's operator has configured another interval.
    ///
    /// ```swift
    /// for try await event in client.events() {
    ///     switch event {
    ///     case .connected: show(try await client.sync().value)
    ///     case .pushed(_, let fetched?): alert(fetched.value)
    ///     case .pushed(_, nil): show(try await client.sync().value)
    ///     case .disconnected(_, let pause): status = "Offline. Trying again in \(pause)."
    ///     }
    /// }
    /// ```
    public func events(platform: String = "stream", silence: Duration = .seconds(45)) -> PushEvents {
        PushEvents(client: self, platform: platform, silence: silence)
    }
}
