/// One address of a server.
struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    let host: DatabaseHost
    /// The numeric address of the host's name; `nil`: the host itself is a numeric address or a
    /// socket.
    let address: String?

    var description: String { self.host.description }
}
