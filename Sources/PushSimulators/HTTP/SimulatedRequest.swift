internal import Bytes

/// One header line.
package struct HeaderField: Sendable, Hashable {
    /// The name as it came: always lower case over HTTP/2.
    package let name: String
    /// The value as it came.
    package let value: String

    /// A header line of this name and value.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A request as a simulator received it.
package struct SimulatedRequest: Sendable, Hashable {
    /// The method, such as `POST`.
    package var method: String
    /// Path and query, not decoded.
    package var path: String
    /// The header lines in the order in which they came, without the pseudo-headers of HTTP/2.
    package var headers: [HeaderField]
    /// The body, whole.
    package var body: [UInt8]
    /// Which of the simulator's connections it came on, counted from 1; 0 if it was made by hand.
    package internal(set) var connection = 0

    /// A request of these parts.
    package init(method: String = "POST", path: String, headers: [HeaderField] = [], body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
    }

    /// The first header of that name, in whatever case.
    package func header(_ name: String) -> String? {
        self.headers.first { $0.isNamed(name) }?.value
    }
}

/// What a simulator answers.
package struct SimulatedResponse: Sendable, Hashable {
    /// The HTTP status.
    package var status: Int
    /// The header lines; over HTTP/2 their names are sent in lower case.
    package var headers: [HeaderField]
    /// The body.
    package var body: [UInt8]
    /// Whether the request proved who the client is, so that the connection may carry more at a time.
    var provesClient = false
    /// What happens in place of the answer, or besides.
    var fault: Fault?

    /// An answer of these parts; `content-length` is added by itself.
    package init(status: Int, headers: [HeaderField] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

extension HeaderField {
    func isNamed(_ name: String) -> Bool {
        let mine = self.name.utf8
        let theirs = name.utf8
        return mine.count == theirs.count
            && zip(mine, theirs).allSatisfy { $0.lowercased == $1.lowercased }
    }
}
