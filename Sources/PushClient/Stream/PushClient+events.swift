extension PushClient {
    /// Pushes over a stream of the server's, for devices that no provider reaches: each as it
    /// comes, fetched and kept.
    ///
    /// A client that is not registered is registered on `platform`, the name of the server's
    /// sender of type `stream`. One that is keeps its registration: a device that APNs reaches has
    /// no stream (the server answers 404, which is thrown). Give the stream a client with another
    /// store.
    ///
    /// The stream is opened again when it ends or the network fails, later and later up to a
    /// minute, and goes on after the last event. The sequence ends when the account was signed
    /// out; it throws when the task is cancelled, and what the server refuses for good, such as
    /// ``PushClientError/unauthorized(_:)``. A stream is not signed: it tells ids alone, and what
    /// is fetched for them is checked as by ``notification(_:)``.
    ///
    /// `silence` must be longer than the server's `stream.heartbeat`, of 15 seconds unless its
    /// operator has chosen another.
    ///
    /// ```swift
    /// for try await event in client.events() {
    ///     switch event {
    ///     case .connected: show(try await client.refresh().value)
    ///     case .pushed(_, let fetched): if let fetched { alert(fetched.value) }
    ///     case .disconnected(_, let pause): status = "Offline. Trying again in \(pause)."
    ///     }
    /// }
    /// ```
    public func events(platform: String = "stream", silence: Duration = .seconds(45)) -> PushEvents {
        PushEvents(client: self, platform: platform, silence: silence)
    }
}
