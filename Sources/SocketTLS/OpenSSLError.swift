internal import COpenSSL

/// A failed call to OpenSSL, with the text of its error queue.
package struct OpenSSLError: Error, Hashable, CustomStringConvertible {
    package let description: String

    /// Reads the newest error in the calling thread's error queue, and empties the queue.
    package init(_ call: String) {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0 else {
            self.description = call
            return
        }
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(code, &text, text.count)
        let end = text.firstIndex(of: 0) ?? text.endIndex
        self.description = "\(call): \(String(decoding: text[..<end].map(UInt8.init(bitPattern:)), as: UTF8.self))"
    }

    /// Turns a null pointer into an error.
    package static func check<Pointer>(_ call: String, _ result: Pointer?) throws(OpenSSLError) -> Pointer {
        guard let result else { throw OpenSSLError(call) }
        return result
    }

    /// Turns a result of zero or below into an error.
    package static func check(_ call: String, _ result: Int32) throws(OpenSSLError) {
        guard result > 0 else { throw OpenSSLError(call) }
    }
}
