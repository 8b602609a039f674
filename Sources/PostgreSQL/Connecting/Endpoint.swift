/// One address of a database server.
struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    let host: DatabaseHost
    /// A numeric address of the host, found by its name; `nil` if the host itself is a numeric
    /// address or a socket.
    let address: String?

    var description: String { self.host.description }
}
