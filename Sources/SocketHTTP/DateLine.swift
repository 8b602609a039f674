internal import CivilTime
internal import Glibc

/// The field line `Date`, which is formatted only once a second.
struct DateLine {
    private var second: Int?
    private var line: [UInt8] = []

    /// The line with its CRLF. `second` counts from 1970.
    mutating func bytes(at second: Int) -> [UInt8] {
        if second != self.second {
            self.second = second
            self.line = Array("Date: \(HTTPDate(seconds: second))\r\n".utf8)
        }
        return self.line
    }

    /// Seconds since 1970, from a clock that is read without a system call.
    static var now: Int { max(0, time(nil)) }
}
