/// One address of a server.
struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    let host: DatabaseHost
    /// The numeric address that the host's name stands for; `nil`: the host is a numeric address or a socket itself.
    let address: String?

    var description: String { self.host.description }
}
