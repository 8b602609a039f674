internal import PostgreSQL
internal import Reactor
internal import Synchronization

/// Collects what a server announces to the other servers that share its database. It sends at most
/// one message in 20 ms.
///
/// A message only makes its receivers read the database sooner than they would anyway, so it may
/// be lost. Each message is a transaction of its own: `pg_notify` takes a lock of the whole
/// database server until the commit.
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

    /// Announces something to the other servers: immediately, or soon if a message was sent
    /// recently. Any thread may call it.
    func add(_ news: ServerMessage.News, from sender: Int64) {
        let pause = self.state.withLock { state -> Duration? in
            // If a message already waits to be sent, this news becomes part of it.
            defer { state.message = (state.message ?? ServerMessage(sender: sender)).with(news) }
            guard state.message == nil else { return nil }
            return state.sentAt.map { max(.zero, $0 + Self.interval - .now) } ?? .zero
        }
        guard let pause else { return }
        self.loop.execute {
            // The event loop keeps the timer in memory until it fires.
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
        // If this message is lost, the other servers find the changes when they next poll the
        // database.
        self.database.control(Self.notify, message.description) { _ in }
    }
}

/// A message from one server to the others: the number of the sending server, and a word for each
/// piece of news.
struct ServerMessage: Sendable, Hashable, CustomStringConvertible {
    enum News: Sendable, Hashable {
        /// Credentials have ended, such as a session.
        case ends
        /// Streams at this server have received events, and their devices also have a stream at
        /// another server, which needs to know.
        case events
        /// A server was fenced, so any server may take over the pushes that it had leased.
        case freed
        /// There are new pushes in these lanes (providers' queues).
        case work(Set<String>)
    }

    /// The maximum length of a message in bytes. PostgreSQL allows less than 8,000.
    private static let maximumBytes = 7000

    let sender: Int64
    private(set) var hasEnds = false
    private(set) var hasEvents = false
    private(set) var hasFreed = false
    /// The lanes (providers' queues) with new pushes; an asterisk means that any lane may have
    /// some.
    private(set) var lanes: Set<String> = []

    var hasWork: Bool { !self.lanes.isEmpty }

    init(sender: Int64) {
        self.sender = sender
    }

    /// Reads a message; `nil` if the text is not one. Skips unknown words, since a server of a
    /// newer version may send them.
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
