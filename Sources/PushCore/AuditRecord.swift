package import Foundation

/// An action in the audit: never a payload, a password or a token.
package struct AuditRecord: Sendable, Hashable {
    package enum Action: String, Sendable, CaseIterable {
        case beginSession = "session.begin"
        case addUser = "user.add"
        case changeUser = "user.change"
        case deleteUser = "user.delete"
        /// An operator has got all data of a user.
        case exportUser = "user.export"
        /// Tags were given to a user, or taken away.
        case setTags = "user.tags"
        /// A code was made that gives a device of the user a token, once.
        case enrol = "user.enrol"
        case addToken = "token.add"
        /// Also the end of a session by its user.
        case revokeToken = "token.revoke"
        case registerDevice = "device.register"
        /// A user has requested a handle that can be guessed; it is registered once it is
        /// confirmed.
        case claimDevice = "device.claim"
        /// A registration ended because another account, the actor, has registered its handle.
        case moveDevice = "device.move"
        case unregisterDevice = "device.unregister"
        case testDevice = "device.test"
        case send = "notification.send"
        /// A recipient has got a read-once payload for the first time.
        case take = "notification.take"
        /// The recipient confirmed that the payload has arrived.
        case confirm = "notification.confirm"
        case dismiss = "notification.dismiss"
        case recall = "notification.recall"
        /// The sender or an administrator cancelled a single push, or had it sent at once.
        case cancelPush = "notification.cancel"
        case retryPush = "notification.retry"
        /// The server read another keyring at the operator's command.
        case changeKeys = "keys.change"
        /// A command had the server add a data key to the keyring's file, or remove one from it.
        case rotateKeys = "keys.rotate"
        case removeKey = "keys.remove"
        /// The server wrote a copy of the database to a file.
        case backUp = "database.backup"
        /// An operator has confirmed the machine's clock.
        case acceptClock = "clock.accept"
    }

    /// The actor, and how it was identified.
    package struct Actor: Sendable, Hashable {
        /// The user; `nil` for the operator at the command line.
        package let name: Username?
        /// The token that the actor presented; `nil` if it presented the user's password, or an
        /// equivalent.
        package let token: TokenPrefix?
        /// The client's numeric address, `unix` or `unknown`.
        package let client: String
        /// The request's id; empty at the command line.
        package let request: String

        package init(name: Username?, token: TokenPrefix?, client: String, request: String) {
            self.name = name
            self.token = token
            self.client = client
            self.request = request
        }

        /// The operator at the command line, or by a signal.
        package static let commandLine = Actor(name: nil, token: nil, client: "unknown", request: "")
    }

    package let actor: Actor
    package let action: Action
    /// The object of the action: a user's name, or a registration's or notification's id.
    package let subject: String
    /// A text about the change, without secrets; may be empty.
    package var detail: String
    package let at: Date

    package init(_ action: Action, of subject: String, detail: String = "", by actor: Actor, at: Date) {
        self.action = action
        self.subject = subject
        self.detail = detail
        self.actor = actor
        self.at = at
    }

    /// Another action of the same actor at the same time.
    package func another(_ action: Action, of subject: String, detail: String) -> AuditRecord {
        AuditRecord(action, of: subject, detail: detail, by: self.actor, at: self.at)
    }

    /// The record of an operator's action, at the command line or by a signal.
    package init(_ action: Action, of subject: String, detail: String = "", at: Date) {
        self.init(action, of: subject, detail: detail, by: .commandLine, at: at)
    }
}
