internal import Bytes

/// A user's name, for sign-in and as a recipient.
///
/// `username:<name>` is a tag, so a name has the characters of a tag, except the colon. In
/// comparisons of names, upper and lower case are equal.
package struct Username: Sendable, Hashable, CustomStringConvertible {
    package static let maximumLength = 100
    /// The rule for the name of a new user, as error messages state it.
    package static let rule = "1 to \(Self.maximumLength) characters of A-Z a-z 0-9 - _ @ # + ., but not . or .."

    /// The name as it was first written; for comparisons, see `key`.
    package let description: String
    /// The name in lower case, for comparisons.
    package let key: String

    /// Returns `nil` if the text is not a valid name.
    package init?(_ text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        self.description = text
        self.key = text.lowercased()
    }

    /// The name of a new user; `nil` if the text does not follow the rule.
    ///
    /// Clients and proxies remove the segments `.` and `..` from a path, so no request could reach
    /// a user of this name. Version 0.1.0 created such users.
    package static func ofNewUser(_ text: String) -> Username? {
        Username(text).flatMap { $0.isDotSegment ? nil : $0 }
    }

    /// Whether a path cannot have the name as a segment.
    package var isDotSegment: Bool { [".", ".."].contains(self.description) }

    /// The name of a user whom an issuer identifies by `text`. `prefix` is a text before the names
    /// of all users of this issuer.
    ///
    /// Each byte of `text` that a name must not contain becomes `#` and the byte's two hexadecimal
    /// digits: `auth0|5f` is `auth0#7c5f`. A `#` before two such digits is replaced, too. So
    /// different texts become different names, and a text that is a valid name stays as it is, if
    /// no such digits follow a `#`. Returns `nil` if the name has more than 100 characters, or is
    /// empty.
    package init?(escaping text: String, after prefix: String = "") {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.maximumLength else { return nil }
        var name = Array(prefix.utf8)
        for (index, byte) in bytes.enumerated() {
            let next = bytes[(index + 1)...].prefix(2)
            let looksEscaped = byte == UInt8(ascii: "#") && next.count == 2 && next.allSatisfy(\.isHexDigit)
            if Self.isAllowed(byte), !looksEscaped {
                name.append(byte)
            } else {
                name += [UInt8(ascii: "#"), UInt8(hexDigit: byte >> 4), UInt8(hexDigit: byte & 15)]
            }
        }
        self.init(String(decoding: name, as: UTF8.self))
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        Tag.isAllowed(byte) && byte != UInt8(ascii: ":")
    }

    /// The audit's name for an actor on the server's own machine, with the name of the actor's
    /// system user: `local root`.
    ///
    /// No account has such a name: names of accounts contain no blank.
    package static func local(_ name: String) -> Username {
        Username(unchecked: "local \(name)")
    }

    private init(unchecked text: String) {
        self.description = text
        self.key = text.lowercased()
    }

    /// Whether both names have the same bytes, which is how some other systems compare names.
    package func isSpelled(like other: Username) -> Bool {
        self.description.utf8.elementsEqual(other.description.utf8)
    }

    package static func == (lhs: Username, rhs: Username) -> Bool {
        lhs.key == rhs.key
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.key)
    }
}

/// The role of a user, which determines the user's rights.
package enum Role: String, Sendable, CaseIterable {
    /// The user may register its own devices, send to itself and fetch its own notifications.
    case device
    /// The rights of `device`. The user may also see other users, and their devices and
    /// deliveries, but no payloads and handles.
    case viewer
    /// The rights of `device`. The user may also send to any user or tag.
    case publisher
    /// All rights of the other roles. The user may also manage users and devices.
    case admin

    /// Whether a user with this role may do all that a user with the role `other` may do.
    package func includes(_ other: Role) -> Bool {
        self == other || self == .admin || other == .device
    }

    /// Whether a user with this role may see other users, and their devices and deliveries.
    package var seesAll: Bool { self.includes(.viewer) }
}
