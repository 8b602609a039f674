import Foundation
import HTTPSignatures
import PushAPI
import Synchronization

/// A user's notifications, as the server keeps them, behind a network that loses answers; it signs, and forgets cursors now and
/// then.
final class ModelServer: Sendable {
    struct Entry: Sendable {
        var payload: String
        var isRead = false
        var isDeleted = false
        var expiresAt: Date
        var version: Int
        /// When it was last changed.
        var changedAt: Date
    }

    struct State {
        var entries: [Int64: Entry] = [:]
        var version = 0
        var generation = 0
        var loses = false
        /// The highest id that was given.
        var lastID: Int64 = 0

        mutating func change(_ id: Int64, _ change: (inout Entry) -> Void) {
            guard var entry = self.entries[id], !entry.isDeleted else { return }
            change(&entry)
            self.version += 1
            entry.version = self.version
            entry.changedAt = Date()
            self.entries[id] = entry
        }

        mutating func add(_ payload: String, lasting seconds: TimeInterval) {
            // Far from each other, as the server's are.
            self.lastID += .random(in: 1...1 << 30)
            self.version += 1
            self.entries[self.lastID] = Entry(
                payload: payload,
                // In whole seconds, as the wire has milliseconds and signatures seconds.
                expiresAt: Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + seconds).rounded()),
                version: self.version,
                changedAt: Date()
            )
        }

        func json(_ id: Int64, _ entry: Entry) -> String {
            #"{"Id":\#(id),"Payload":"\#(entry.payload)","Read":\#(entry.isRead),"#
                + #""CreatedAt":"2026-01-01T00:00:00Z","ExpiresAt":"\#(entry.expiresAt.rfc3339)"}"#
        }
    }

    static let pageSize = 7
    let key = SigningKey()
    private let state = Mutex(State())

    func change<Value>(_ change: (inout State) throws -> Value) rethrows -> Value {
        try self.state.withLock { try change(&$0) }
    }

    var script: ScriptedPeer.Script {
        { request, _ in
            self.state.withLock { state in
                var answer = Self.answer(request, &state, self.key)
                guard state.loses, Int.random(in: 0..<8) == 0 else { return .answer(answer) }
                // The server has acted.
                if Bool.random() || answer.body.isEmpty { return .hangUp }
                answer.framing = .wrongLength(answer.body.count + 1)
                answer.hangsUp = true
                return .answer(answer)
            }
        }
    }

    /// The number of the last change before a cursor.
    static func version(of cursor: String) -> Int { cursor.split(separator: "-").last.flatMap { Int($0) } ?? 0 }

    private static func answer(_ request: PeerRequest, _ state: inout State, _ key: SigningKey) -> PeerAnswer {
        if request.path == Paths.notifications { return Self.list(request, &state, key) }
        if request.path == Paths.readNotifications {
            let text = request.body.filter { $0.isNumber || $0 == "," }
            let ids = text.split(separator: ",").compactMap { Int64($0) }.filter { state.isLive($0) }
            for id in ids { state.change(id) { $0.isRead = true } }
            let body = #"{"Read":[\#(ids.map(String.init).joined(separator: ","))]}"#
            return PeerAnswer(to: request, body: body, key: key)
        }
        guard let id = request.path.split(separator: "/").last.flatMap({ Int64($0) }), state.isLive(id) else {
            return PeerAnswer(to: request, .notFound, key: key)
        }
        switch request.method {
        case "DELETE":
            state.change(id) { $0.isDeleted = true }
            return PeerAnswer(to: request, status: 204, key: key)
        case "PATCH": state.change(id) { $0.isRead = request.body.contains("true") }
        default: break
        }
        let json = state.entries[id].map { state.json(id, $0) } ?? ""
        return PeerAnswer(to: request, fields: [("ETag", "\"\(json.hashValue)\"")], body: json, key: key)
    }

    private static func list(_ request: PeerRequest, _ state: inout State, _ key: SigningKey) -> PeerAnswer {
        let since = request.query.split(separator: "&").first { $0.hasPrefix("since=") }?.dropFirst(6)
        var start = 0
        if let since {
            if state.loses, Int.random(in: 0..<60) == 0 { state.generation += 1 }
            guard since.hasPrefix("c\(state.generation)-") else {
                return PeerAnswer(to: request, .invalidCursor, key: key)
            }
            start = Self.version(of: String(since))
        }
        let changes = state.entries.filter { id, entry in
            entry.version > start && (state.isLive(id) || since != nil && entry.isDeleted)
        }.sorted { $0.value.version < $1.value.version }
        let page = changes.prefix(Self.pageSize)
        let isLast = changes.count <= page.count
        let last = isLast ? state.version : page.last?.value.version ?? start
        let cursor = "c\(state.generation)-\(page.isEmpty && since != nil ? start : last)"
        let fields = [(name: "ETag", value: "\"\(page.isEmpty ? cursor : "page-\(cursor)-\(start)")\"")]
        if page.isEmpty, request.fields["if-none-match"] == "\"\(cursor)\"" {
            return PeerAnswer(to: request, status: 304, fields: fields, key: key)
        }
        let body = Samples.list(
            page.filter { !$0.value.isDeleted }.map { state.json($0.key, $0.value) },
            deleted: page.filter { $0.value.isDeleted }.map(\.key),
            cursor: cursor,
            more: !isLast
        )
        return PeerAnswer(to: request, fields: fields, body: body, key: key)
    }
}

extension ModelServer.State {
    /// Whether it is there for those who ask now.
    func isLive(_ id: Int64) -> Bool { self.entries[id].map { !$0.isDeleted && $0.expiresAt > Date() } ?? false }

    var liveIDs: [Int64] { self.entries.keys.filter(self.isLive) }
}
