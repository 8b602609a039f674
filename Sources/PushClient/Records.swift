internal import Foundation
internal import PushAPI

/// The kept values of one server and account.
///
/// A client that requires signatures does not read answers that were verified by their `MyToken` only.
struct Records: Sendable {
    private let store: any KeyValueStore
    private let account: String
    private let proof: String

    init(_ store: AnswerStore, server: String, account: String, isSigned: Bool) {
        self.store = store.values
        self.account = "\(server)\n\(account)"
        self.proof = isSigned ? "signed" : "echoed"
    }

    func item(_ id: Int64, now: Date) -> KeptItem? {
        let name = self.name(of: id)
        guard let item: KeptItem = self.read(name) else { return nil }
        guard item.item.map({ $0.id == id && $0.expiresAt > now }) == true else {
            self.store.remove(name)
            return nil
        }
        return item
    }

    func keep(_ item: KeptItem, as id: Int64) {
        self.write(item, as: self.name(of: id))
    }

    func forget(_ id: Int64) {
        self.store.remove(self.name(of: id))
    }

    var inbox: InboxState? { self.read(self.inboxName) }

    /// Returns whether it was written.
    @discardableResult
    func keep(_ inbox: InboxState) -> Bool { self.write(inbox, as: self.inboxName) }

    /// When the server last said that the inbox is complete.
    var confirmation: Confirmation? { self.read(self.confirmationName) }

    func keep(_ confirmation: Confirmation) {
        self.write(confirmation, as: self.confirmationName)
    }

    var registration: KeptRegistration? {
        get { self.read(self.registrationName) }
        nonmutating set {
            guard let newValue else { return self.store.remove(self.registrationName) }
            self.write(newValue, as: self.registrationName)
        }
    }

    func forgetAll() {
        self.store.removeAll(of: self.account)
    }

    // MARK: - Private

    private func name(of id: Int64) -> ValueName {
        ValueName(account: self.account, name: "\(self.proof)/\(id)", isEvictable: true)
    }

    private var inboxName: ValueName {
        ValueName(account: self.account, name: "\(self.proof)/inbox", isEvictable: false)
    }
    private var confirmationName: ValueName {
        ValueName(account: self.account, name: "\(self.proof)/confirmation", isEvictable: false)
    }
    private var registrationName: ValueName {
        ValueName(account: self.account, name: "registration", isEvictable: false)
    }

    private func read<Value: Decodable>(_ name: ValueName) -> Value? {
        guard let bytes = self.store.read(name) else { return nil }
        do {
            return try PropertyListDecoder().decode(Value.self, from: bytes)
        } catch {
            // Another version wrote it.
            self.store.remove(name)
            return nil
        }
    }

    @discardableResult
    private func write(_ value: some Encodable, as name: ValueName) -> Bool {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        do {
            try self.store.write(encoder.encode(value), as: name)
            return true
        } catch {
            // A full disk, or a device that was not unlocked yet: the next call fetches the value again.
            return false
        }
    }
}
