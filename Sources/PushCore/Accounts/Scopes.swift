/// The permissions of a token, within the rights of its user's role.
package struct Scopes: OptionSet, Sendable, Hashable, CustomStringConvertible {
    /// Fetch the user's own notifications.
    package static let fetch = Scopes(rawValue: 1)
    /// Send to all users that the role permits.
    package static let send = Scopes(rawValue: 2)
    /// Register, list and remove the user's own devices.
    package static let register = Scopes(rawValue: 4)
    /// Manage users and tokens, and so get any other scope. A publisher gets from this scope only
    /// the right to give tags to users.
    package static let manage = Scopes(rawValue: 8)
    /// See all that viewers may see. Viewers and administrators can have this scope.
    package static let view = Scopes(rawValue: 16)
    /// Read the metrics. Viewers and administrators can have this scope.
    package static let metrics = Scopes(rawValue: 32)

    package static let all: Scopes = [.fetch, .send, .register, .manage, .view, .metrics]

    private static let named: [(name: String, scope: Scopes)] = [
        ("fetch", .fetch), ("send", .send), ("register", .register), ("manage", .manage),
        ("view", .view), ("metrics", .metrics),
    ]

    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The scope of that name; `nil` if there is no such scope.
    package init?(named name: some StringProtocol) {
        guard let scope = Self.named.first(where: { $0.name == name })?.scope else { return nil }
        self = scope
    }

    /// Reads a `description`. A name that this version of the server does not know is ignored.
    package init(_ description: String) {
        self = description.split(separator: " ").reduce(into: []) { $0.formUnion(Scopes(named: $1) ?? []) }
    }

    /// The names of the scopes in this set, in a fixed order.
    package var names: [String] { Self.named.filter { self.contains($0.scope) }.map(\.name) }

    /// The names of the scopes, separated by spaces as in OAuth (RFC 6749 section 3.3).
    package var description: String { self.names.joined(separator: " ") }
}

extension Role {
    /// All scopes that a token of a user with this role can have.
    package var scopes: Scopes {
        switch self {
        case .device: [.fetch, .send, .register]
        case .viewer: [.fetch, .send, .register, .view, .metrics]
        case .publisher: [.fetch, .send, .register, .manage]
        case .admin: .all
        }
    }

    /// The scopes of a token if the request for it names no scopes. They give no access to data of
    /// other users, but may permit the user to send to other users. A request must name any
    /// further scope.
    package var usualScopes: Scopes { self.scopes.intersection([.fetch, .send, .register]) }

    /// The scopes with these names. Throws `ScopeError` for a scope that the role cannot have, and
    /// for an empty list.
    package func scopes(named names: [String]) throws(ScopeError) -> Scopes {
        var scopes: Scopes = []
        for name in names {
            guard let scope = Scopes(named: name), self.scopes.isSuperset(of: scope) else {
                throw ScopeError(role: self)
            }
            scopes.formUnion(scope)
        }
        guard !scopes.isEmpty else { throw ScopeError(role: self) }
        return scopes
    }
}

/// The error for scopes that a token of this role cannot have.
package struct ScopeError: Error, Hashable, CustomStringConvertible {
    let role: Role

    package var description: String {
        "a token of a \(self.role.rawValue) can have one or more of \(self.role.scopes.names.joined(separator: ", "))"
    }
}
