internal import Bytes
package import Foundation

extension UUID {
    /// The UUID in the text form of RFC 9562 section 4, in lower case. `uuidString` is in upper
    /// case, and takes ten times as long.
    package var text: String { self.text(dashesBefore: 0b0000_0101_0101_0000) }

    /// The text of the UUID without dashes.
    var digits: String { self.text(dashesBefore: 0) }

    /// `dashes` has a bit for each byte of the UUID before which the text has a dash.
    private func text(dashesBefore dashes: Int) -> String {
        String(unsafeUninitializedCapacity: 36) { text in
            var end = 0
            withUnsafeBytes(of: self.uuid) { bytes in
                for (index, byte) in bytes.enumerated() {
                    if dashes >> index & 1 == 1 {
                        text[end] = UInt8(ascii: "-")
                        end += 1
                    }
                    text[end] = UInt8(hexDigit: byte >> 4)
                    text[end + 1] = UInt8(hexDigit: byte & 15)
                    end += 2
                }
            }
            return end
        }
    }
}
