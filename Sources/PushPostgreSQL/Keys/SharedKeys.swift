internal import Foundation
internal import PushCore
internal import PushStore
internal import Synchronization

/// The keys of a server that shares the database with other servers: all its keys, the encrypting
/// key, and the next encrypting key.
///
/// The vault has the same keys in another order: the encrypting key is the first. Any thread may
/// use this object.
final class SharedKeys: Sendable {
    private struct State {
        /// The keyring; its first key encrypts, or will encrypt once all servers have it.
        var keyring: Keyring
        var wait: KeyWait?
        var reported: KeyWait?
        /// The reason why this server has stopped encrypting, because it lacks a key; `nil` if it
        /// has not stopped.
        var lack: String?
        /// Whether this server has yet to publish its encrypting key.
        var isUnreported = false
        var isChanging = false
    }

    /// The values that this server publishes when it joins the servers of the database.
    struct Entry: Sendable {
        let sealing: UInt32
        let checkValue: Data
        /// The published form of the server's keys.
        let held: Data
        fileprivate let keyring: Keyring
    }

    let vault: Vault
    /// Set when `PostgreSQLStore.keepKeys` has work.
    let signal = Signal()
    private let isCommand: Bool
    private let onEvent: @Sendable (StoreEvent) -> Void
    private let state: Mutex<State>

    /// `wait` is not `nil` if the keyring's first key does not encrypt yet. The vault already has
    /// the keys, with the encrypting key first.
    init(_ keyring: Keyring, _ wait: KeyWait?, _ vault: Vault, _ options: StoreOptions) {
        self.vault = vault
        self.isCommand = !options.cluster.isListedAfterEnd
        self.onEvent = options.onEvent
        self.state = Mutex(State(keyring: keyring))
        self.record(wait)
    }

    /// The keyring of this server after its last replacement.
    var keyring: Keyring { self.state.withLock { $0.keyring } }

    /// The reason why the keyring's first key does not encrypt yet; `nil` if it encrypts.
    var wait: KeyWait? { self.state.withLock { $0.wait } }

    var lack: String? { self.state.withLock { $0.lack } }

    var isUnreported: Bool { self.state.withLock { $0.isUnreported } }

    /// The bytes that this server publishes for a keyring; empty for a command.
    func held(_ keyring: Keyring) -> Data { Self.held(keyring, isCommand: self.isCommand) }

    static func held(_ keyring: Keyring, isCommand: Bool) -> Data { isCommand ? Data() : HeldKeys(keyring).bytes }

    /// Runs `body` once no other change of the keys is running, and prevents other changes
    /// meanwhile.
    func changing<Value>(_ body: () async throws -> Value) async throws -> Value {
        while !self.beginChange() { try await Task.sleep(for: .milliseconds(5)) }
        defer { self.endChange() }
        return try await body()
    }

    /// Uses a keyring from now on, and encrypts with its key number `sealing`, which all servers
    /// have.
    func use(_ keyring: Keyring, sealing: UInt32, _ wait: KeyWait?) {
        let before = self.vault.keyring.sealing
        if let ordered = keyring.sealing(with: sealing), ordered != self.vault.keyring || !self.vault.isSealing {
            self.vault.replaceKeyring(ordered)
        }
        self.state.withLock { state in
            state.keyring = keyring
            state.lack = nil
            state.isUnreported = state.isUnreported || before != sealing
        }
        self.record(wait)
    }

    /// Records that this server has published its encrypting key. Only from now on can other
    /// servers delete the old key.
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

    /// The values that this server publishes when it joins again after it was fenced. There are
    /// two reasons for `nil`. If the server lacks a key in use, it stops encrypting and does not
    /// join. If another change of the keys is running, the caller must try again.
    ///
    /// During such a change, the vault encrypts with the new keys before `state` has them. So this
    /// function must not decide by the old keys that are still in `state`.
    func entry(_ agreement: KeyAgreement) -> Entry? {
        guard self.beginChange() else { return nil }
        defer { self.endChange() }
        let keyring = self.keyring
        guard self.isWhole(keyring, agreement) else { return nil }
        let sealing = agreement.choice(keyring, besides: nil).sealing
        guard let checkValue = keyring.checkValue(of: sealing) else { return nil }
        return Entry(sealing: sealing, checkValue: checkValue, held: self.held(keyring), keyring: keyring)
    }

    /// Decides whether this server may continue after it has joined under the number `server`. If
    /// so, calls `body` before the next change of the keys. `agreement` must have been read after
    /// the server had joined.
    func confirm(_ entry: Entry, as server: Int64, _ agreement: KeyAgreement, _ body: () -> Void) -> Bool {
        guard self.beginChange() else { return false }
        defer { self.endChange() }
        let keyring = self.keyring
        guard self.isWhole(keyring, agreement) else { return false }
        let choice = agreement.choice(keyring, besides: server)
        guard keyring == entry.keyring, choice.sealing == entry.sealing else { return false }
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

    private func endChange() { self.state.withLock { $0.isChanging = false } }

    /// Whether the keyring has all keys in use. If it lacks one, this server stops encrypting and
    /// does not join.
    private func isWhole(_ keyring: Keyring, _ agreement: KeyAgreement) -> Bool {
        do {
            try agreement.check(keyring)
            return true
        } catch {
            let reason = "\(error)"
            let isNew = self.state.withLock { state in
                defer { state.lack = reason }
                return state.lack != reason
            }
            if self.vault.isSealing { self.vault.replaceKeyring(self.vault.keyring, isSealing: false) }
            if isNew { self.onEvent(.outWithoutKey(reason: reason)) }
            return false
        }
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
