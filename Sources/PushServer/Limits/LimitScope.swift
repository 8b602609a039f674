/// The scope of the limits of requests and sign-ins: one server or all servers.
package enum LimitScope: Sendable {
    case process
    /// All servers that share the store. They learn of each other's use by an exchange, so the
    /// limits hold approximately.
    case servers
}
