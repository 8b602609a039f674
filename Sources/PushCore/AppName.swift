internal import Bytes

/// The name of an app that the server sends for, as in the configuration: each app has its own
/// push senders.
package struct AppName: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The default app, which a sender belongs to if the configuration names no other.
    package static let usual = AppName(known: "default")

    /// The default app alone, which is the only app of most accounts.
    package static let usualOnly: Set<AppName> = [.usual]

    package let description: String

    /// `nil` unless the text is 1 to 64 of `a-z 0-9 - _`.
    package init?(_ text: String) {
        let isName = text.utf8.allSatisfy { $0.isLowercaseLetter || $0.isDigit || "-_".utf8.contains($0) }
        guard (1...64).contains(text.utf8.count), isName else { return nil }
        self.description = text
    }

    private init(known text: String) {
        self.description = text
    }

    package static func < (left: AppName, right: AppName) -> Bool { left.description < right.description }
}
