internal import Bytes

/// A label of devices and users, for senders to address them: 1 to 120 characters of
/// `-_@#+.:A-Za-z0-9`, kept in lower case.
package struct Tag: Sendable, Hashable, CustomStringConvertible {
    package static let maximumPerDevice = 60
    package static let maximumPerUser = 60
    /// The rule for the text of a tag, as error messages state it.
    package static let rule = "1 to 120 characters of A-Z a-z 0-9 - _ @ # + . :"

    package let description: String

    /// `nil` if the text is not a tag.
    package init?(_ text: some StringProtocol) {
        guard (1...120).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.description = text.lowercased()
    }

    /// The tag that the server assigns to every device of a user.
    package init(of user: Username) {
        self.description = "username:\(user.key)"
    }

    /// Whether only the server may assign the tag, whatever the configuration says.
    package var isReserved: Bool {
        self.description.hasPrefix("username:") || self.description.hasPrefix("from:")
    }

    /// The user whose own tag this is; `nil` for any other tag.
    package var username: Username? {
        self.description.hasPrefix("username:") ? Username(String(self.description.dropFirst("username:".count))) : nil
    }

    static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || "-_@#+.:".utf8.contains(byte)
    }
}
