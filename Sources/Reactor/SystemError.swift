internal import Glibc

/// A system call that failed, with its `errno`.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    package let call: String
    package let code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    package var description: String {
        "\(self.call): \(String(cString: strerror(self.code)))"
    }

    /// Runs a system call and turns -1 into an error.
    @discardableResult
    package static func check(_ name: String, _ call: () -> Int32) throws(SystemError) -> Int32 {
        let result = call()
        guard result != -1 else { throw SystemError(call: name, code: errno) }
        return result
    }
}
