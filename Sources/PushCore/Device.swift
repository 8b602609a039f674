internal import Bytes

/// The name under which a sender is configured and devices register.
package struct Platform: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    /// Takes a name as the client wrote it; `gcm` is `fcm` under its old name.
    package init(_ name: String) {
        self.description = name == "gcm" ? "fcm" : name
    }
}

/// A device's address at its provider, normalised for comparison.
package struct DeviceHandle: Sendable, Hashable {
    package static let maximumLength = 4096

    package let value: String

    /// `nil` if it is empty, too long, or has blanks or control characters, which no provider's addresses have.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard (1...Self.maximumLength).contains(bytes.count), bytes.allSatisfy(\.isVisible) else {
            return nil
        }
        // Hexadecimal tokens come in either case from the same phone.
        self.value = bytes.allSatisfy(\.isHexDigit) ? text.lowercased() : text
    }

    /// Enough to tell one's own devices apart, too little to send to one.
    package var masked: String {
        self.value.count <= 12 ? "…" : "\(self.value.prefix(4))…\(self.value.suffix(4))"
    }
}

/// Names one registration of a device; clients put it into a path unescaped.
package struct RegistrationID: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    /// `nil` unless the text is 1 to 128 of `A-Z a-z 0-9 - _ .`; `.` and `..` have a meaning in paths and are refused.
    package init?(_ text: String) {
        guard
            (1...128).contains(text.utf8.count), text != ".", text != "..",
            text.utf8.allSatisfy({ $0.isLetterOrDigit || "-_.".utf8.contains($0) })
        else { return nil }
        self.description = text
    }

    /// 128 random bits, in hexadecimal.
    package static func random() -> RegistrationID {
        let bits = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
        guard let id = RegistrationID(withUnsafeBytes(of: bits) { Hexadecimal.text(of: $0) }) else {
            preconditionFailure("hexadecimal digits are allowed")
        }
        return id
    }
}
