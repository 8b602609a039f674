internal import Bytes
package import PushCore

/// A device's address at APNs: the device token in hexadecimal.
package struct APNsHandleRule: HandleRule {
    package init() {}

    /// Nobody can guess a device token, which has 32 or more bytes that Apple has chosen.
    package var isGuessable: Bool { false }

    /// The device token in lower case, so that the same token always has the same text. Any length
    /// is accepted, because Apple does not specify it.
    package func address(_ handle: String) throws(HandleFlaw) -> String {
        let bytes = handle.utf8
        guard
            (2...400).contains(bytes.count), bytes.count.isMultiple(of: 2), bytes.allSatisfy(\.isHexDigit)
        else { throw .malformed("it must be a device token in hexadecimal") }
        return handle.lowercased()
    }
}
