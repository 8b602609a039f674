internal import PostgreSQL
internal import Reactor
internal import Synchronization

/// Gathers what a server announces to the other servers of its database: at most one message in 20
/// ms.
///
/// Messages are hints, which may be lost. Each makes the receiver read the database, which it also
/// does without messages, only later. Each message is a transaction of its own, since `pg_notify`
/// takes a lock of the whole server until its commit.
final class Announcements: Sendable {
    private static let interval = Duration.milliseconds(20)
    static let notify = "select pg_notify('sealpost', $1)"

    private struct State {
        var message: ServerMessage?
        var sentAt: ContinuousClock.Instant?
    }

    private let database: ConnectionPool
    private let loop: EventLoop
    private let state = Mutex(State())

    init(_ database: ConnectionPool, on loop: EventLoop) {
        (self.database, self.loop) = (database, loop)
    }

    /// Announces something to the other servers soon: immediately if no message was sent recently.
    /// Any thread may call it.
    func add(_ news: ServerMessage.News, from sender: Int64) {
        let pause = self.state.withLock { state -> Duration? in
            // A message that already waits to be sent includes this, too.
            defer { state.message = (state.message ?? ServerMessage(sender: sender)).with(news) }
            guard state.message == nil else { return nil }
            return state.sentAt.map { max(.zero, $0 + Self.interval - .now) } ?? .zero
        }
        guard let pause else { return }
        self.loop.execute {
            // The loop keeps the timer until it has fired.
            LoopTimer(loop: self.loop) { self.send() }.arm(at: .now + pause)
        }
    }

    private func send() {
        let message = self.state.withLock { state in
            defer {
                state.message = nil
                state.sentAt = .now
            }
            return state.message
        }
        guard let message else { return }
        // If the message is lost, the other servers find the changes at their next poll.
        self.database.control(Self.notify, message.description) { _ in }
    }
}

/// A message between servers: the sending server's number, and a word for each thing that it
/// announces.
struct ServerMessage: Sendable, Hashable, CustomStringConvertible {
    enum News: Sendable, Hashable {
        /// Credentials have ended.
        case ends
        /// Streams of devices that also have a stream at another server have received events.
        case events
        /// A server was fenced; any server may take over its leases.
        case freed
        /// These lanes have new pushes.
        case work(Set<String>)
    }

    /// PostgreSQL limits a message to less than 8,000 bytes.
    private static let maximumBytes = 7000

    let sender: Int64
    private(set) var hasEnds = false
    private(set) var hasEvents = false
    private(set) var hasFreed = false
    /// The lanes with new pushes; an asterisk stands for any.
    private(set) var lanes: Set<String> = []

    var hasWork: Bool { !self.lanes.isEmpty }

    init(sender: Int64) {
        self.sender = sender
    }

    /// `nil` if the text is not a message; skips unknown words, since a newer version may send
    /// more.
    init?(_ text: String) {
        let words = text.split(separator: " ")
        guard let sender = words.first.flatMap({ Int64($0) }) else { return nil }
        self.sender = sender
        for word in words.dropFirst() {
            if word == "ends" { self.hasEnds = true }
            if word == "events" { self.hasEvents = true }
            if word == "freed" { self.hasFreed = true }
            if word.hasPrefix("work="), word.count > 5 { self.lanes.insert(String(word.dropFirst(5))) }
        }
    }

    func with(_ news: News) -> ServerMessage {
        var message = self
        switch news {
        case .ends: message.hasEnds = true
        case .events: message.hasEvents = true
        case .freed: message.hasFreed = true
        case .work(let lanes): message.lanes.formUnion(lanes)
        }
        return message
    }

    var description: String {
        let head =
            [String(self.sender)] + (self.hasEnds ? ["ends"] : []) + (self.hasEvents ? ["events"] : [])
            + (self.hasFreed ? ["freed"] : [])
        let full = (head + self.lanes.sorted().map { "work=\($0)" }).joined(separator: " ")
        return full.utf8.count <= Self.maximumBytes ? full : (head + ["work=*"]).joined(separator: " ")
    }
}
