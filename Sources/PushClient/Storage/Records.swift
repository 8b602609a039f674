internal import Foundation

/// The registration of this device, as it is kept of one account of one server.
struct Records: Sendable {
    let account: Account

    init(_ store: AnswerStore, server: String, account: String, isSigned: Bool) {
        self.account = Account(store.entries, name: "\(server)\n\(account)", proof: isSigned ? .signed : .echoed)
    }

    var registration: KeptRegistration? {
        get {
            self.account.adoptEarlier()
            // An unreadable entry counts as missing.
            return (try? self.account.read())?.index.registration
        }
        nonmutating set {
            self.account.adoptEarlier()
            // An account that was signed out meanwhile keeps none.
            try? self.account.change { $0.index.registration = newValue }
        }
    }
}

extension Records {
    /// Whether the account was signed out since this client was made.
    var isEnded: Bool {
        do {
            _ = try self.account.read()
            return false
        } catch {
            // What cannot be read now does not tell.
            return error as? PushClientError == .signedOut
        }
    }

    /// Keeps a registration that the server has just taken. Throws `PushClientError.signedOut` if
    /// the account was signed out meanwhile.
    func keep(_ registration: KeptRegistration) throws {
        self.account.adoptEarlier()
        do {
            try self.account.change { $0.index.registration = registration }
        } catch PushClientError.signedOut {
            throw PushClientError.signedOut
        } catch {
            // What cannot be kept now, the next registration asks for again.
        }
    }
}

extension Account {
    /// Moves over what an earlier version of this library has kept, if there is anything.
    func adoptEarlier() {
        guard let values = self.files.earlier(of: self.name, proof: self.proof) else { return }
        // What cannot be written now is moved later.
        guard (try? self.changeFiles { $0.adopt(values) }) != nil else { return }
        self.files.removeEarlier(of: self.name)
    }
}
