/// Over what the limits of requests and sign-ins hold.
package enum LimitScope: Sendable {
    case process
    /// All servers that share the store, as far as an exchange tells them of each other.
    case servers
}
