internal import Foundation
internal import Glibc
internal import PostgreSQL
internal import PushCore
internal import Reactor
internal import Synchronization

/// This process among those that share the database.
///
/// It has a number, under which it leases pushes, and renews it each second. A process that is silent for some seconds is fenced
/// by another one: what it has leased is anybody's, and its number is never renewed, so that it takes another one when it comes
/// back.
final class Node: Sendable {
    /// How often the number is renewed.
    static let interval = Duration.seconds(1)
    /// How long a number is good without renewal, by the database's clock, in milliseconds.
    static let lease: Int64 = 5000
    /// How long after the last renewal, counted from when it was sent, this process may begin to send pushes: less than the
    /// lease, so that a process that was stopped and goes on has stopped sending by itself.
    static let confidence = Duration.seconds(4)
    /// How long this process's renewals must have been answered before it fences others: after a failover all seem to be late.
    static let patience = Duration.seconds(10)

    private struct State {
        var number: Int64
        /// Until when pushes may be sent.
        var goodUntil: ContinuousClock.Instant
        /// Since when all renewals were answered.
        var answeredSince: ContinuousClock.Instant?
        var isEnded = false
    }

    private let release: String
    private let vault: Vault
    private let database: ConnectionPool
    private let loop: EventLoop
    private let state: Mutex<State>

    init(_ number: Int64, release: String, vault: Vault, _ database: ConnectionPool, on loop: EventLoop) {
        self.release = release
        self.vault = vault
        self.database = database
        self.loop = loop
        self.state = Mutex(State(number: number, goodUntil: .now + Self.confidence))
    }

    /// The process's number, which was given out once. Another one after it was fenced.
    var number: Int64 { self.state.withLock { $0.number } }

    /// Whether pushes that are leased under the number may be sent; `false` if it was not renewed in time.
    var isAlive: Bool { self.state.withLock { !$0.isEnded && .now < $0.goodUntil } }

    /// The machine and the process, for operators.
    static var name: String {
        var name = [CChar](repeating: 0, count: 256)
        // Without a name the process's number is left.
        guard gethostname(&name, name.count - 1) == 0 else { return "process \(getpid())" }
        return "\(String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)) \(getpid())"
    }

    /// Begins to renew the number, until `end`.
    func begin() {
        self.loop.execute { self.wait() }
    }

    /// Renews the number no more. What is leased under it stays so until others notice.
    func abandon() {
        self.state.withLock { $0.isEnded = true }
    }

    /// Gives the number up, and with it what is leased under it.
    func end() async {
        let number = self.state.withLock { state in
            state.isEnded = true
            return state.number
        }
        // If this fails, others do it some seconds later.
        _ = try? await self.database.query("update node set is_fenced = true where number = $1", number)
    }

    // MARK: - Private

    /// On the loop.
    private func wait() {
        guard !self.state.withLock({ $0.isEnded }) else { return }
        // The loop keeps the timer until it has fired.
        LoopTimer(loop: self.loop) { self.renew() }.arm(at: .now + Self.interval)
    }

    private func renew() {
        let (number, isEnded) = self.state.withLock { ($0.number, $0.isEnded) }
        if isEnded { return }
        let start = ContinuousClock.now
        self.database.submit(Self.renewing, values: [number]) { outcome in
            switch outcome {
            case .success(let rows) where rows.changed == 1: self.noteRenewal(at: start)
            case .success: self.rejoin()
            case .failure:
                self.state.withLock { $0.answeredSince = nil }
                self.wait()
            }
        }
    }

    private func noteRenewal(at start: ContinuousClock.Instant) {
        let mayFence = self.state.withLock { state in
            state.goodUntil = start + Self.confidence
            let since = state.answeredSince ?? start
            state.answeredSince = since
            return .now - since >= Self.patience
        }
        guard mayFence else { return self.wait() }
        self.database.submit(Self.fencing, values: [self.number]) { _ in self.wait() }
    }

    /// Takes another number, after the last one was fenced.
    private func rejoin() {
        let start = ContinuousClock.now
        let values: [any Bindable] = [Self.name, self.release, Int64(self.vault.keyring.sealing)]
        self.database.submit(Self.joining, values: values) { outcome in
            // A failure is tried again with the next renewal.
            if case .success(let rows) = outcome, let number = try? rows.first?.integer(0) {
                self.state.withLock { state in
                    state.number = number
                    state.goodUntil = start + Self.confidence
                }
            }
            self.wait()
        }
    }
}

extension Node {
    private static let clock = "(extract(epoch from clock_timestamp()) * 1000)::int8"

    /// Gives out a number: the process's name, its release, and the key that it seals with.
    static let joining = """
        insert into node (name, release, started_at, until, sealing)
        values ($1, $2, \(clock), \(clock) + \(lease), $3) returning number
        """

    /// Deletes those that were fenced a day ago: a number without a row is nobody's, too.
    static let forgetting = """
        delete from node where is_fenced and until < \(clock) - 86400000
        """

    static let renewing = """
        update node set until = \(clock) + \(lease) where number = $1 and not is_fenced
        """

    /// Fences those that are late, for the process with this number.
    static let fencing = """
        update node set is_fenced = true where not is_fenced and number <> $1 and until < \(clock)
        """
}
