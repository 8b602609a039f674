internal import Foundation
package import PushAPI
package import PushClient
package import Testing

package enum Samples {
    package static func item(
        _ id: Int64,
        _ payload: String = "secret",
        isRead: Bool = false,
        expires: String = "2099-01-01T00:00:00Z"
    ) -> String {
        #"{"Id":\#(id),"Payload":"\#(payload)","Read":\#(isRead),"CreatedAt":"2026-01-01T00:00:0\#(id % 10)Z","#
            + #""ExpiresAt":"\#(expires)"}"#
    }

    package static func list(_ items: [String], deleted: [Int64] = [], cursor: String, more: Bool = false) -> String {
        let deleted = deleted.map(String.init).joined(separator: ",")
        return #"{"Notifications":[\#(items.joined(separator: ","))],"Deleted":[\#(deleted)],"#
            + #""Cursor":"\#(cursor)","More":\#(more)}"#
    }
}

/// Returns the interference that the call throws, and records an issue if it throws none.
package func interference(
    of call: () async throws -> some Any,
    sourceLocation: SourceLocation = #_sourceLocation
) async -> Interference? {
    do {
        _ = try await call()
        Issue.record("it was accepted", sourceLocation: sourceLocation)
    } catch PushClientError.interference(let interference) {
        return interference
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// Returns the problem of a call whose credentials the server must refuse.
@discardableResult
package func unauthorized(
    sourceLocation: SourceLocation = #_sourceLocation,
    _ call: () async throws -> some Any
) async -> Problem? {
    do {
        _ = try await call()
        Issue.record("it was let in", sourceLocation: sourceLocation)
    } catch PushClientError.unauthorized(let problem) {
        return problem
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// Returns the client's advice for the error of a call; `nil` if the call succeeds.
package func advice(_ call: () async throws -> some Any) async -> PushClient.Advice? {
    do {
        _ = try await call()
        return nil
    } catch {
        return PushClient.Advice(for: error)
    }
}

/// Returns the numbers from 0 on.
package final class Counter: Sendable {
    private let number = Locked(0)

    package init() {}

    /// The number of numbers that `next` has returned.
    package var count: Int { self.number.withLock { $0 } }

    package func next() -> Int {
        self.number.withLock { count in
            defer { count += 1 }
            return count
        }
    }
}
