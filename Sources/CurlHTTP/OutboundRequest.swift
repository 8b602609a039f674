/// One call to a provider.
package struct OutboundRequest: Sendable, Hashable {
    package enum Method: Sendable, Hashable {
        case get
        case post
    }

    /// One line of the header.
    package struct Header: Sendable, Hashable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package let method: Method
    package let url: OutboundURL
    package var headers: [Header]
    package let body: [UInt8]
    /// How long the call may take, waiting for a connection included.
    package let timeout: Duration

    package init(
        _ method: Method,
        _ url: OutboundURL,
        headers: [Header] = [],
        body: [UInt8] = [],
        timeout: Duration = .seconds(15)
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }

    /// The first value of a header. `name` must be in lower case; the stored names may be in any
    /// case.
    package func header(_ name: String) -> String? {
        self.headers.first { $0.name.lowercased() == name }?.value
    }
}

/// A response of any status.
package struct OutboundResponse: Sendable, Hashable {
    package let status: Int
    /// The headers, with their names in lower case.
    package let headers: [OutboundRequest.Header]
    package let body: [UInt8]

    package init(status: Int, headers: [OutboundRequest.Header] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The first value of a header; `name` must be in lower case.
    package func header(_ name: String) -> String? {
        self.headers.first { $0.name == name }?.value
    }
}
