internal import Bytes

/// One header line.
package struct HeaderField: Sendable, Hashable {
    /// The name as received: always lower case over HTTP/2.
    package let name: String
    /// The value as received.
    package let value: String

    /// A header line with this name and value.
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
    /// The header lines in the order of arrival, without the pseudo-headers of HTTP/2.
    package var headers: [HeaderField]
    /// The whole body.
    package var body: [UInt8]
    /// The number of the connection on which the simulator has received the request. The first
    /// connection is number 1; a request that a test has constructed has the number 0.
    package internal(set) var connection = 0

    /// Creates a request with these parts.
    package init(method: String = "POST", path: String, headers: [HeaderField] = [], body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
    }

    /// The value of the first header with that name, in any case.
    package func header(_ name: String) -> String? {
        self.headers.first { $0.isNamed(name) }?.value
    }
}

/// A simulator's answer.
package struct SimulatedResponse: Sendable, Hashable {
    /// The HTTP status.
    package var status: Int
    /// The header lines; over HTTP/2 their names are sent in lower case.
    package var headers: [HeaderField]
    /// The body.
    package var body: [UInt8]
    /// Whether the request has authenticated the client, so that its connection may now carry more
    /// concurrent requests.
    var provesClient = false
    /// The fault that replaces or accompanies the answer.
    var fault: Fault?

    /// Creates an answer with these parts; the server adds `content-length`.
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
