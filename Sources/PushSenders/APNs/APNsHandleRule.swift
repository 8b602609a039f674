internal import Bytes
package import PushCore

/// A device's address at APNs: the hexadecimal text of the bytes that the app was given.
package struct APNsHandleRule: HandleRule {
    package init() {}

    /// The device token in lower case, so that one device has one spelling; its length is Apple's to choose.
    package func address(_ handle: String) throws(HandleFlaw) -> String {
        let bytes = handle.utf8
        guard
            (2...400).contains(bytes.count), bytes.count.isMultiple(of: 2), bytes.allSatisfy(\.isHexDigit)
        else { throw .malformed("it must be a device token in hexadecimal") }
        return handle.lowercased()
    }
}
