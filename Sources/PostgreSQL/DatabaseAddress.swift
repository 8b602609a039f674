/// A database's address: `postgres://user:password@host:port,host:port/name?sslmode=verify-full&sslrootcert=ca.pem`.
package struct DatabaseAddress: Sendable, Hashable, CustomStringConvertible {
    /// `nil` if it is none.
    package init?(_ text: String) { return nil }

    /// Without the password.
    package var description: String { "" }
}
