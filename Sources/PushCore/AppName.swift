internal import Bytes

/// The name of an app for which the server sends pushes, as in the configuration. Each app has
/// push senders of its own.
package struct AppName: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The default app. A push sender belongs to it if the configuration names no other app.
    package static let usual = AppName(known: "default")

    /// The default app alone, which is the only app of most accounts.
    package static let usualOnly: Set<AppName> = [.usual]

    package let description: String

    /// Returns `nil` unless the text consists of 1 to 64 characters of `a-z 0-9 - _`.
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
