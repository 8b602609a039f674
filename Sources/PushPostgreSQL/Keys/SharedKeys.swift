internal import Foundation
internal import PushCore
internal import PushStore
internal import Synchronization

/// The keys of this server, which shares the database with others: the keys it has, the one it
/// encrypts with, and the one it will switch to.
///
/// The vault has the same keys, with the encrypting key first. Any thread may use it.
final class SharedKeys: Sendable {
    private struct State {
        /// The keyring whose first key encrypts.
        var keyring: Keyring
        /// The number of changes of the keyring.
        var exchanges = 0
        var wait: KeyWait?
        var reported: KeyWait?
        /// The reason why this server has stopped encrypting; `nil` if it has not.
        var lack: String?
        /// Whether the other servers have not yet seen which key this server encrypts with.
        var isUnreported = false
        var isChanging = false
    }

    /// The values with which this server joins the servers of the database.
    struct Entry: Sendable {
        let sealing: UInt32
        let checkValue: Data
        /// The keys that the server publishes.
        let held: Data
        fileprivate let exchanges: Int
    }

    let vault: Vault
    /// Set when `PostgreSQLStore.keepKeys` has something to do.
    let signal = Signal()
    private let isCommand: Bool
    private let onEvent: @Sendable (StoreEvent) -> Void
    private let state: Mutex<State>

    /// `wait` is set if the keyring's first key does not encrypt yet. The vault has the keyring,
    /// with the encrypting key first.
    init(_ keyring: Keyring, _ wait: KeyWait?, _ vault: Vault, _ options: StoreOptions) {
        self.vault = vault
        self.isCommand = !options.isListedAfterEnd
        self.onEvent = options.onEvent
        self.state = Mutex(State(keyring: keyring))
        self.record(wait)
    }

    /// The keyring of this server since its last replacement.
    var keyring: Keyring { self.state.withLock { $0.keyring } }

    /// The reason why the keyring's first key does not encrypt yet.
    var wait: KeyWait? { self.state.withLock { $0.wait } }

    /// The reason why this server has stopped encrypting.
    var lack: String? { self.state.withLock { $0.lack } }

    var isUnreported: Bool { self.state.withLock { $0.isUnreported } }

    /// The bytes that this server publishes for a keyring.
    func held(_ keyring: Keyring) -> Data { Self.held(keyring, isCommand: self.isCommand) }

    static func held(_ keyring: Keyring, isCommand: Bool) -> Data { isCommand ? Data() : HeldKeys(keyring).bytes }

    /// Runs `body` while no other change of the keys runs.
    func changing<Value>(_ body: () async throws -> Value) async throws -> Value {
        while !self.beginChange() { try await Task.sleep(for: .milliseconds(5)) }
        defer { self.endChange() }
        return try await body()
    }

    /// Uses a keyring from now on, and encrypts with its key `sealing`, which all servers have.
    func use(_ keyring: Keyring, sealing: UInt32, _ wait: KeyWait?) {
        let before = self.vault.keyring.sealing
        if let ordered = keyring.sealing(with: sealing), ordered != self.vault.keyring || !self.vault.isSealing {
            self.vault.replaceKeyring(ordered)
        }
        self.state.withLock { state in
            if state.keyring != keyring { state.exchanges += 1 }
            state.keyring = keyring
            state.lack = nil
            state.isUnreported = state.isUnreported || before != sealing
        }
        self.record(wait)
    }

    /// Records that the other servers know which key this server encrypts with. Only now can they
    /// delete the old key.
    func recordReported() {
        let event = self.state.withLock { state -> StoreEvent? in
            state.isUnreported = false
            guard state.wait == nil, state.reported != nil else { return nil }
            state.reported = nil
            return .keySeals(state.keyring.sealing)
        }
        if let event { self.onEvent(event) }
    }

    // MARK: Joining again

    /// The values with which this server joins again after it was fenced. `nil` has two causes. If
    /// the server lacks a key in use, it stops encrypting and does not join. If another change of
    /// the keys runs, the caller must retry.
    ///
    /// During a change, the vault encrypts with the new keys before `state` has them. So meanwhile
    /// this function must not decide by the old keys in `state`.
    func entry(_ agreement: KeyAgreement) -> Entry? {
        guard self.beginChange() else { return nil }
        defer { self.endChange() }
        let (keyring, exchanges) = self.state.withLock { ($0.keyring, $0.exchanges) }
        guard self.isWhole(keyring, agreement) else { return nil }
        let sealing = agreement.choice(keyring, besides: nil).sealing
        guard let checkValue = keyring.checkValue(of: sealing) else { return nil }
        return Entry(sealing: sealing, checkValue: checkValue, held: self.held(keyring), exchanges: exchanges)
    }

    /// Whether this server, which has joined under that number, may continue. If so, calls `body`
    /// before the next change of the keys. `agreement` was read after the server had joined.
    func confirm(_ entry: Entry, as server: Int64, _ agreement: KeyAgreement, _ body: () -> Void) -> Bool {
        guard self.beginChange() else { return false }
        defer { self.endChange() }
        let keyring = self.keyring
        guard self.isWhole(keyring, agreement) else { return false }
        let choice = agreement.choice(keyring, besides: server)
        let isCurrent = self.state.withLock { $0.exchanges == entry.exchanges }
        guard isCurrent, choice.sealing == entry.sealing else { return false }
        self.use(keyring, sealing: choice.sealing, choice.wait)
        self.recordReported()
        body()
        return true
    }

    // MARK: - Private

    private func beginChange() -> Bool {
        self.state.withLock { state in
            defer { state.isChanging = true }
            return !state.isChanging
        }
    }

    private func endChange() {
        self.state.withLock { $0.isChanging = false }
    }

    /// Whether the keyring has all keys in use. If not, this server does not join.
    private func isWhole(_ keyring: Keyring, _ agreement: KeyAgreement) -> Bool {
        do {
            try agreement.check(keyring)
            return true
        } catch {
            self.stopSealing("\(error)")
            return false
        }
    }

    private func stopSealing(_ reason: String) {
        let isNew = self.state.withLock { state in
            defer { state.lack = reason }
            return state.lack != reason
        }
        if self.vault.isSealing { self.vault.replaceKeyring(self.vault.keyring, isSealing: false) }
        if isNew { self.onEvent(.outWithoutKey(reason: reason)) }
    }

    private func record(_ wait: KeyWait?) {
        let isNew = self.state.withLock { state in
            defer { state.reported = wait ?? state.reported }
            state.wait = wait
            return wait != nil && wait != state.reported
        }
        if let wait, isNew { self.onEvent(.keyWaits(wait)) }
        self.signal.set()
    }
}
