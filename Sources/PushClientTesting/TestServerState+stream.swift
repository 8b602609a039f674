internal import Foundation
internal import PushAPI

/// The event streams that clients hold open.
struct TestStreams: Sendable {
    /// An open stream.
    struct Stream: Sendable {
        var pending: [UInt8]
        /// The stream's end; `nil` while it continues.
        var end: TestStreamEnd?
        /// Makes the client's side read the pending bytes.
        var wake: (@Sendable () -> Void)?
    }

    /// All open streams, including those whose `wake` is not set yet.
    var open: [Int: Stream] = [:]
    private var last = 0

    /// Whether the registered device has a stream: a device with a provider has none.
    var isForDevice = false
    /// The streams have reported all ids up to this one, and report none of them again.
    var announcedUpTo: Int64 = 0

    mutating func begin(_ text: String) -> Int {
        self.last += 1
        self.open[self.last] = Stream(pending: Array(text.utf8))
        return self.last
    }

    /// Reports a notification on all streams that have not ended; returns the closures that wake
    /// their clients.
    mutating func announce(_ id: Int64) -> [@Sendable () -> Void] {
        let going = self.open.filter { $0.value.end == nil }
        if going.isEmpty { return [] }
        self.announcedUpTo = max(self.announcedUpTo, id)
        for number in going.keys { self.open[number]?.pending += Array(Self.event(id).utf8) }
        return going.values.compactMap(\.wake)
    }

    /// Ends all streams; returns the closures that wake their clients.
    mutating func end(_ end: TestStreamEnd) -> [@Sendable () -> Void] {
        for number in self.open.keys { self.open[number]?.end = end }
        return self.open.values.compactMap(\.wake)
    }

    static func event(_ id: Int64) -> String { "id: \(id)\ndata: {\"secureId\":\"\(id)\"}\n\n" }
}

/// The cause of a stream's end.
enum TestStreamEnd: Sendable {
    case byServer
    case ofNetwork(URLError.Code)
}

extension TestServerState {
    /// Returns the head of a new stream and its number; or a refusal and `nil`.
    mutating func stream(_ request: TestRequest) -> (answer: TestAnswer, stream: Int?) {
        if self.isBusy || !self.takesCredentials { return (self.answer(request), nil) }
        let query = URLComponents(string: "?\(request.query ?? "")")?.queryItems ?? []
        let device = query.first { $0.name == "device" }?.value
        guard self.streams.isForDevice, let registration = self.registration, device ?? registration == registration
        else { return (Self.problem(.notFound), nil) }
        // The stream begins with the events that the client has not confirmed.
        let last = request.lastEvent.flatMap { Int64($0) } ?? self.streams.announcedUpTo
        let missed = self.items.map(\.id).filter { $0 > last }
        // Events that the network damages are sent again.
        if self.network == .fine { self.streams.announcedUpTo = max(self.streams.announcedUpTo, missed.last ?? 0) }
        let text = "retry: 20\n\n:\n\n" + missed.map(TestStreams.event).joined()
        let head = TestAnswer(200, fields: ["Content-Type": "text/event-stream"])
        return (head, self.streams.begin(text))
    }
}
