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

    init(_ database: ConnectionPool, on loop: EventLoop) { (self.database, self.loop) = (database, loop) }

    /// Announces something to the other servers: immediately, or soon if a message was sent
    /// recently. Any thread may call it.
    func add(_ message: ServerMessage) {
        let pause = self.state.withLock { state -> Duration? in
            guard let waiting = state.message else {
                state.message = message
                return state.sentAt.map { max(.zero, $0 + Self.interval - .now) } ?? .zero
            }
            state.message = waiting.merged(with: message)
            return nil
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
    enum News: String, Sendable, CaseIterable {
        /// Credentials have ended, such as a session.
        case ends
        /// Streams at this server have received events, and their devices also have a stream at
        /// another server, which needs to know.
        case events
        /// A server was fenced, so any server may take over the pushes that it had leased.
        case freed
    }

    /// The maximum length of a message in bytes. PostgreSQL allows less than 8,000.
    private static let maximumBytes = 7000

    let sender: Int64
    private(set) var news: Set<News> = []
    /// The lanes (providers' queues) with new pushes; an asterisk means that any lane may have
    /// some.
    private(set) var lanes: Set<String> = []

    init(sender: Int64, _ news: Set<News> = [], workIn lanes: Set<String> = []) {
        (self.sender, self.news, self.lanes) = (sender, news, lanes)
    }

    /// Reads a message; `nil` if the text is not one. Skips unknown words, since a server of a
    /// newer version may send them.
    init?(_ text: String) {
        let words = text.split(separator: " ")
        guard let sender = words.first.flatMap({ Int64($0) }) else { return nil }
        self.sender = sender
        for word in words.dropFirst() {
            if let news = News(rawValue: String(word)) { self.news.insert(news) }
            if word.hasPrefix("work="), word.count > 5 { self.lanes.insert(String(word.dropFirst(5))) }
        }
    }

    func merged(with other: ServerMessage) -> ServerMessage {
        ServerMessage(sender: self.sender, self.news.union(other.news), workIn: self.lanes.union(other.lanes))
    }

    var description: String {
        let head = [String(self.sender)] + News.allCases.filter(self.news.contains).map(\.rawValue)
        let full = (head + self.lanes.sorted().map { "work=\($0)" }).joined(separator: " ")
        return full.utf8.count <= Self.maximumBytes ? full : (head + ["work=*"]).joined(separator: " ")
    }
}
