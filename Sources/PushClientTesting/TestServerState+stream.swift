internal import Foundation
internal import PushAPI

/// The event streams that clients hold open.
struct TestStreams: Sendable {
    /// One that is open.
    struct Stream: Sendable {
        var pending: [UInt8]
        /// How it ends, if it does: `nil` within for an end as a server makes it.
        var end: TestStreamEnd?
        /// Has the client's side take what is pending.
        var wake: (@Sendable () -> Void)?
    }

    /// Also of those that have not begun yet.
    var open: [Int: Stream] = [:]
    private var last = 0

    /// Whether the device that is registered has a stream: one that a provider reaches has none.
    var isForDevice = false
    /// The highest id that no stream need tell any more.
    var toldUpTo: Int64 = 0

    mutating func begin(_ text: String) -> Int {
        self.last += 1
        self.open[self.last] = Stream(pending: Array(text.utf8))
        return self.last
    }

    /// Tells all that are open and go on; returns what wakes them.
    mutating func tell(_ id: Int64) -> [@Sendable () -> Void] {
        let going = self.open.filter { $0.value.end == nil }
        if going.isEmpty { return [] }
        self.toldUpTo = max(self.toldUpTo, id)
        for number in going.keys { self.open[number]?.pending += Array(Self.event(id).utf8) }
        return going.values.compactMap(\.wake)
    }

    /// Ends all; returns what wakes them.
    mutating func end(_ end: TestStreamEnd) -> [@Sendable () -> Void] {
        for number in self.open.keys { self.open[number]?.end = end }
        return self.open.values.compactMap(\.wake)
    }

    static func event(_ id: Int64) -> String { "id: \(id)\ndata: {\"secureId\":\"\(id)\"}\n\n" }
}

/// How an open stream ends.
enum TestStreamEnd: Sendable {
    case byServer
    case ofNetwork(URLError.Code)
}

extension TestServerState {
    /// The number of a stream, whose head is that answer; or `nil` for a refusal.
    mutating func stream(_ request: TestRequest) -> (answer: TestAnswer, stream: Int?) {
        if self.isBusy || !self.takesCredentials { return (self.answer(request), nil) }
        let query = URLComponents(string: "?\(request.query ?? "")")?.queryItems ?? []
        let device = query.first { $0.name == "device" }?.value
        guard self.streams.isForDevice, let registration = self.registration, device ?? registration == registration
        else { return (Self.problem(.notFound), nil) }
        // What the client has not said that it has is sent once more.
        let last = request.lastEvent.flatMap { Int64($0) } ?? self.streams.toldUpTo
        let missed = self.items.map(\.id).filter { $0 > last }
        // What the network spoils is sent again.
        if self.network == .fine { self.streams.toldUpTo = max(self.streams.toldUpTo, missed.last ?? 0) }
        let text = "retry: 20\n\n:\n\n" + missed.map(TestStreams.event).joined()
        let head = TestAnswer(200, fields: ["Content-Type": "text/event-stream"])
        return (head, self.streams.begin(text))
    }
}
