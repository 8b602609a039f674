internal import Foundation

/// The stored registration of this device, for one account of one server.
struct Records: Sendable {
    let account: Account

    init(_ store: PushClient.Store, server: String, account: String, isSigned: Bool) {
        self.account = Account(store.entries, name: "\(server)\n\(account)", proof: isSigned ? .signed : .echoed)
    }

    var registration: StoredRegistration? {
        get {
            self.account.adoptEarlier()
            // An unreadable index counts as an index without a registration.
            return (try? self.account.read())?.index.registration
        }
        nonmutating set {
            self.account.adoptEarlier()
            // After a sign-out the account stores no registration.
            try? self.account.change { $0.index.registration = newValue }
        }
    }
}

extension Records {
    /// Stores a registration that the server has just accepted. Throws `PushClientError.signedOut`
    /// if the account was signed out meanwhile.
    func store(_ registration: StoredRegistration) throws {
        self.account.adoptEarlier()
        do {
            try self.account.change { $0.index.registration = registration }
        } catch PushClientError.signedOut {
            throw PushClientError.signedOut
        } catch {
            // A registration that cannot be stored now is sent again by the next call that
            // registers.
        }
    }
}

extension Account {
    /// Moves the values of an earlier version of this library into the current format, if there
    /// are any.
    func adoptEarlier() {
        guard let values = self.files.earlier(of: self.name, proof: self.proof) else { return }
        // Values that cannot be written now are moved later.
        guard (try? self.changeFiles { $0.adopt(values) }) != nil else { return }
        self.files.removeEarlier(of: self.name)
    }
}
