package import Foundation
package import HTTPSignatures
internal import PushAPI
internal import PushClient

/// A user's notifications, as a server stores them, behind a network that loses answers. The
/// server signs its answers, and sometimes forgets cursors.
package final class ModelServer: Sendable {
    package struct Entry: Sendable {
        package var payload: String
        package var isRead = false
        package var isDeleted = false
        package var expiresAt: Date
        package var version: Int
        /// The time of the notification's last change.
        package var changedAt: Date
    }

    /// The server's state. The cost of each method grows with its result, and not with the number
    /// of past changes.
    package struct State {
        /// The ids of sent notifications, by their idempotency key.
        package private(set) var sent: [String: Int64] = [:]
        /// The ids of all notifications that requests wanted to mark as read, whether or not the
        /// requests succeeded.
        package var marked: Set<Int64> = []
        package private(set) var entries: [Int64: Entry] = [:]
        package private(set) var version = 0
        /// The ids of notifications that are not deleted, though some may have expired.
        package private(set) var undeleted: Set<Int64> = []
        /// The ids in the order of their changes; only the latest change of an id counts.
        private var changes: [(version: Int, id: Int64)] = []
        package var generation = 0
        /// Whether answers are lost, cursors are forgotten, and notifications are added, changed
        /// and deleted with each request.
        package var isTurbulent = false
        /// The highest id so far.
        private var lastID: Int64 = 0

        package mutating func change(_ id: Int64, _ change: (inout Entry) -> Void) {
            guard var entry = self.entries[id], !entry.isDeleted else { return }
            change(&entry)
            self.version += 1
            entry.version = self.version
            entry.changedAt = Date()
            self.entries[id] = entry
            self.changes.append((self.version, id))
            if entry.isDeleted { self.undeleted.remove(id) }
        }

        package mutating func add(_ payload: String, lasting seconds: TimeInterval) {
            // The ids are far apart, like those of the real server.
            self.lastID += .random(in: 1...1 << 30)
            self.version += 1
            self.entries[self.lastID] = Entry(
                payload: payload,
                // The time is in whole seconds, so that no form drops a part of it: answers state
                // times in milliseconds, and signatures in seconds.
                expiresAt: Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + seconds).rounded()),
                version: self.version,
                changedAt: Date()
            )
            self.changes.append((self.version, self.lastID))
            self.undeleted.insert(self.lastID)
        }

        /// Sends a notification, but only once for each idempotency key. Returns its id.
        package mutating func send(_ payload: String, key: String) -> Int64 {
            if let id = self.sent[key] { return id }
            self.add(payload, lasting: 3600)
            self.sent[key] = self.lastID
            return self.lastID
        }

        /// Returns the notifications that changed after a version, in the order of their latest
        /// changes.
        package func changed(after version: Int) -> [(id: Int64, entry: Entry)] {
            let last = self.changes.partitioningIndex { $0.version > version }
            return self.changes[last...].compactMap { change in
                self.entries[change.id].flatMap { $0.version == change.version ? (change.id, $0) : nil }
            }
        }

        /// Makes a random change to a user's notifications, and keeps between thirty and
        /// forty-five of them.
        package mutating func happen() {
            let ids = self.liveIDs
            let what = Int.random(in: 0..<8)
            guard let id = ids.randomElement(), ids.count >= 30, ids.count >= 45 || what >= 4 else {
                // Some notifications expire soon.
                let seconds = Bool.random() ? 3600 : TimeInterval.random(in: 1...4)
                return self.add("text \(UInt64.random(in: 0 ... .max))", lasting: seconds)
            }
            self.change(id) { entry in if what < 7 { entry.isDeleted = true } else { entry.isRead.toggle() } }
        }

        package func json(_ id: Int64, _ entry: Entry) -> String {
            #"{"Id":\#(id),"Payload":"\#(entry.payload)","Read":\#(entry.isRead),"#
                + #""CreatedAt":"2026-01-01T00:00:00Z","ExpiresAt":"\#(entry.expiresAt.rfc3339)"}"#
        }
    }

    package let key = SigningKey()
    private let state = Locked(State())

    package init() {}

    package func change<Value>(_ change: (inout State) throws -> Value) rethrows -> Value {
        try self.state.withLock { try change(&$0) }
    }

    package var script: PeerScript {
        { request, _ in
            self.state.withLock { state in
                if state.isTurbulent { for _ in 0..<Int.random(in: 1...3) { state.happen() } }
                var answer = Self.answer(request, &state, self.key)
                guard state.isTurbulent, Int.random(in: 0..<8) == 0 else { return .answer(answer) }
                // The server has carried out the request, and the network loses the whole answer
                // or its end.
                if Bool.random() || answer.body.isEmpty { return .hangUp }
                answer.framing = .wrongLength(answer.body.count + 1)
                answer.hangsUp = true
                return .answer(answer)
            }
        }
    }

    /// Returns the number of the last change before a cursor.
    package static func version(of cursor: String) -> Int { cursor.split(separator: "-").last.flatMap { Int($0) } ?? 0 }

    private static func answer(_ request: PeerRequest, _ state: inout State, _ key: SigningKey) -> PeerAnswer {
        if request.path == Paths.notifications, request.method == "POST" {
            let name = (request.fields["idempotency-key"] ?? "").filter { $0 != "\"" }
            let id = state.send(request.body.filter { $0 != "\"" }, key: name)
            let body = state.entries[id].map { state.json(id, $0) } ?? ""
            return PeerAnswer(to: request, status: 201, body: body, key: key)
        }
        if request.path == Paths.notifications { return Self.list(request, &state, key) }
        if request.path == Paths.readNotifications {
            let text = request.body.filter { $0.isNumber || $0 == "," }
            let asked = text.split(separator: ",").compactMap { Int64($0) }
            state.marked.formUnion(asked)
            let ids = asked.filter { state.isLive($0) }
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
            if state.isTurbulent, Int.random(in: 0..<60) == 0 { state.generation += 1 }
            guard since.hasPrefix("c\(state.generation)-") else {
                return PeerAnswer(to: request, .invalidCursor, key: key)
            }
            start = Self.version(of: String(since))
        }
        let changes = state.changed(after: start).filter { id, entry in
            state.isLive(id) || since != nil && entry.isDeleted
        }
        // A long page fills boxes of the client's store.
        let page = changes.prefix(Bool.random() ? 7 : 40)
        let isLast = changes.count <= page.count
        let last = isLast ? state.version : page.last?.entry.version ?? start
        let cursor = "c\(state.generation)-\(page.isEmpty && since != nil ? start : last)"
        let fields = [(name: "ETag", value: "\"\(page.isEmpty ? cursor : "page-\(cursor)-\(start)")\"")]
        if page.isEmpty, request.fields["if-none-match"] == "\"\(cursor)\"" {
            return PeerAnswer(to: request, status: 304, fields: fields, key: key)
        }
        let body = Samples.list(
            page.filter { !$0.entry.isDeleted }.map { state.json($0.id, $0.entry) },
            deleted: page.filter { $0.entry.isDeleted }.map(\.id),
            cursor: cursor,
            more: !isLast
        )
        return PeerAnswer(to: request, fields: fields, body: body, key: key)
    }
}

extension ModelServer.State {
    /// Whether a request would find the notification at this moment.
    package func isLive(_ id: Int64) -> Bool {
        self.entries[id].map { !$0.isDeleted && $0.expiresAt > Date() } ?? false
    }

    package var liveIDs: [Int64] { self.undeleted.filter(self.isLive) }
}

extension Array {
    /// Returns the index of the first element for which the condition holds. The condition must
    /// hold for all later elements, too.
    fileprivate func partitioningIndex(_ isAfter: (Element) -> Bool) -> Int {
        var (low, high) = (0, self.count)
        while low < high {
            let middle = (low + high) / 2
            if isAfter(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
