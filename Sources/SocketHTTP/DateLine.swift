internal import CivilTime
internal import Glibc

/// The `Date` field line, computed once a second.
struct DateLine {
    private var second: Int?
    private var line: [UInt8] = []

    /// The line for `second`, in seconds since 1970, with its CRLF.
    mutating func bytes(at second: Int) -> [UInt8] {
        if second != self.second {
            self.second = second
            self.line = Array("Date: \(HTTPDate(seconds: second))\r\n".utf8)
        }
        return self.line
    }

    /// Seconds since 1970, from the clock that needs no system call.
    static var now: Int { max(0, time(nil)) }
}
