/// An error in the form that clients receive: `application/problem+json`, RFC 9457.
public struct Problem: Error, Sendable, Hashable, Codable {
    /// The media type of the body.
    public static let contentType = "application/problem+json"

    /// A URI that names the code: `urn:sealpost:problem:` and the code.
    public var type: String
    /// The fixed title of the code.
    public var title: String
    /// The status of the answer.
    public var status: Int
    /// The cause of this error, as a text for people.
    public var detail: String?
    /// The request id.
    public var instance: String?

    /// A problem with this code, not yet tied to a request.
    public init(_ code: ProblemCode, _ detail: String? = nil) {
        self.type = code.type
        self.title = code.title
        self.status = code.status
        self.detail = detail
    }

    /// The code, if this version knows it.
    public var code: ProblemCode? {
        ProblemCode.allCases.first { $0.type == self.type }
    }

    /// The body, with its members in the order of RFC 9457.
    public var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("type", .string(self.type)),
            .init("title", .string(self.title)),
            .init("status", .number(self.status)),
        ]
        if let detail { members.append(.init("detail", .string(detail))) }
        if let instance { members.append(.init("instance", .string(instance))) }
        return .object(members)
    }
}
