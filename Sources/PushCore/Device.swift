internal import Bytes

/// A platform: the name of an app's push sender in the configuration. Devices register for a
/// platform.
package struct Platform: Sendable, Hashable, CustomStringConvertible {
    package let name: String
    package let app: AppName

    /// Reads the name that a client has sent; `gcm` is the old name of `fcm`.
    package init(_ name: String, of app: AppName = .usual) {
        self.name = name == "gcm" ? "fcm" : name
        self.app = app
    }

    /// Reads a platform's `description`.
    package init(stored text: String) {
        let parts = text.split(separator: ":", maxSplits: 1)
        if parts.count == 2, let app = AppName(String(parts[0])) {
            self.init(String(parts[1]), of: app)
        } else {
            self.init(text)
        }
    }

    /// The name that distinguishes the platform from the platforms of other apps. The database,
    /// logs and metrics use it: `apns` for the default app, and `bank:apns` for the app `bank`.
    /// Neither part contains a colon.
    package var description: String {
        self.app == .usual ? self.name : "\(self.app):\(self.name)"
    }
}

/// A device's address at its provider, normalised for comparison.
package struct DeviceHandle: Sendable, Hashable {
    package static let maximumLength = 4096

    package let value: String

    /// Returns `nil` if the text is empty or too long, or if it contains blanks or control
    /// characters, which no provider's address has.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard (1...Self.maximumLength).contains(bytes.count), bytes.allSatisfy(\.isVisible) else {
            return nil
        }
        // A phone may send the same hexadecimal token once in upper and once in lower case.
        self.value = bytes.allSatisfy(\.isHexDigit) ? text.lowercased() : text
    }

    /// The first and the last characters of the handle. They suffice for users to distinguish
    /// their own devices, but not to send a push to a device.
    package var masked: String {
        self.value.count <= 12 ? "…" : "\(self.value.prefix(4))…\(self.value.suffix(4))"
    }
}

/// Identifies one registration of a device; clients put the id into the path of a URL without
/// percent-encoding.
package struct RegistrationID: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    /// Returns `nil` unless the text consists of 1 to 128 characters of `A-Z a-z 0-9 - _ .`. The
    /// texts `.` and `..` are refused, because they have a meaning in paths.
    package init?(_ text: String) {
        guard
            (1...128).contains(text.utf8.count), text != ".", text != "..",
            text.utf8.allSatisfy({ $0.isLetterOrDigit || "-_.".utf8.contains($0) })
        else { return nil }
        self.description = text
    }

    /// A new id: 128 random bits, in hexadecimal.
    package static func random() -> RegistrationID {
        let bits = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
        guard let id = RegistrationID(withUnsafeBytes(of: bits) { Hexadecimal.text(of: $0) }) else {
            preconditionFailure("hexadecimal digits are allowed")
        }
        return id
    }

    /// Whether the id has the form of the ids that `random` makes.
    package var isRandom: Bool { self.description.utf8.count == 32 && self.description.utf8.allSatisfy(\.isHexDigit) }
}
