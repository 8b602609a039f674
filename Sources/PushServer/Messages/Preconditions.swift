internal import CivilTime
internal import Foundation
internal import HTTPTypes
internal import SocketHTTP

/// The validators of a representation.
struct Validators: Sendable, Hashable {
    /// The entity tag of the answer, then the tags of the same state in other content codings.
    let tags: [EntityTag]
    /// The time of the last change; `nil` if it is not certain.
    let lastModified: HTTPDate?
}

/// The preconditions of a request (RFC 9110 section 13).
struct Preconditions: Sendable {
    enum Outcome: Sendable, Hashable {
        case proceed
        /// The client already has the representation with that entity tag.
        case unchanged(EntityTag)
        case failed
    }

    private let isReading: Bool
    private let match: String?
    private let unmodifiedSince: HTTPDate?
    private let noneMatch: String?
    private let modifiedSince: HTTPDate?

    init(_ head: RequestHead) {
        self.isReading = head.method == .get || head.method == .head
        self.match = head[.ifMatch]
        self.unmodifiedSince = Self.date(.ifUnmodifiedSince, of: head)
        self.noneMatch = head[.ifNoneMatch]
        self.modifiedSince = Self.date(.ifModifiedSince, of: head)
    }

    /// Evaluates the preconditions in the order of RFC 9110 section 13.2.2. `validators` is `nil`
    /// if the resource does not exist.
    func outcome(for validators: Validators?, now: Date) -> Outcome {
        if let match {
            guard validators?.tags.contains(where: { $0.isNamed(by: match, .strong) }) == true else { return .failed }
        } else if let unmodifiedSince, let lastModified = validators?.lastModified {
            guard lastModified <= unmodifiedSince else { return .failed }
        }
        guard let validators, let first = validators.tags.first else { return .proceed }
        if let noneMatch {
            guard let tag = validators.tags.first(where: { $0.isNamed(by: noneMatch) }) else { return .proceed }
            return self.isReading ? .unchanged(tag) : .failed
        }
        guard self.isReading, let modifiedSince, let lastModified = validators.lastModified else { return .proceed }
        // `lastModified` is rounded up. So the answer is not 304 for a state that changed within
        // the current second: the state may change again before the second ends.
        return lastModified <= min(modifiedSince, HTTPDate(now)) ? .unchanged(first) : .proceed
    }

    /// The date in a field; `nil` if the field is repeated or not a date. The server then ignores
    /// the field.
    private static func date(_ name: HTTPField.Name, of head: RequestHead) -> HTTPDate? {
        guard head.count(of: name) == 1 else { return nil }
        return head[name].flatMap(HTTPDate.init)
    }
}
