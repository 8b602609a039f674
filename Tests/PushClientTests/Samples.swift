import Foundation
import PushAPI
import PushClient
import Synchronization
import Testing

enum Samples {
    static func item(
        _ id: Int64,
        _ payload: String = "secret",
        isRead: Bool = false,
        expires: String = "2099-01-01T00:00:00Z"
    ) -> String {
        #"{"Id":\#(id),"Payload":"\#(payload)","Read":\#(isRead),"CreatedAt":"2026-01-01T00:00:0\#(id % 10)Z","#
            + #""ExpiresAt":"\#(expires)"}"#
    }

    static func list(_ items: [String], deleted: [Int64] = [], cursor: String, more: Bool = false) -> String {
        let deleted = deleted.map(String.init).joined(separator: ",")
        return #"{"Notifications":[\#(items.joined(separator: ","))],"Deleted":[\#(deleted)],"#
            + #""Cursor":"\#(cursor)","More":\#(more)}"#
    }
}

/// The interference that a call ends with.
func interference(
    of call: () async throws -> some Any,
    sourceLocation: SourceLocation = #_sourceLocation
) async -> Interference? {
    do {
        _ = try await call()
        Issue.record("it was believed", sourceLocation: sourceLocation)
    } catch PushClientError.interference(let interference) {
        return interference
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
    return nil
}

/// Numbers from 0 on.
final class Counter: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        self.count.withLock { count in
            defer { count += 1 }
            return count
        }
    }
}
