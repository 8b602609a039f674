package import Foundation

/// An entry of the audit log. It never has a payload, a password or a token.
package struct AuditRecord: Sendable, Hashable {
    package enum Action: String, Sendable, CaseIterable {
        case beginSession = "session.begin"
        case addUser = "user.add"
        case changeUser = "user.change"
        case deleteUser = "user.delete"
        /// An operator has exported all data of a user.
        case exportUser = "user.export"
        /// The tags that were given to a user were replaced.
        case setTags = "user.tags"
        /// A one-time code was made; a device of the user gets a token with it.
        case enrol = "user.enrol"
        case addToken = "token.add"
        /// A token was revoked, or a user has ended a session.
        case revokeToken = "token.revoke"
        case registerDevice = "device.register"
        /// A user has asked to register a handle that others can guess. The server registers the
        /// handle after the user has confirmed it.
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
        /// An administrator, or the sender of a notification, has cancelled a push of the
        /// notification.
        case cancelPush = "notification.cancel"
        /// An administrator, or the sender of a notification, has made the server send a push of
        /// the notification at once.
        case retryPush = "notification.retry"
        /// At an operator's command, the server read another keyring.
        case changeKeys = "keys.change"
        /// At an operator's command, the server added a data key to the keyring's file.
        case rotateKeys = "keys.rotate"
        /// At an operator's command, the server removed a data key from the keyring's file.
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
        /// The token that the actor presented; `nil` for other credentials, such as the user's
        /// password.
        package let token: TokenPrefix?
        /// The numeric address of the client, or `unix` for the local admin socket, or `unknown`.
        package let client: String
        /// The request's id; empty at the command line.
        package let request: String

        package init(name: Username?, token: TokenPrefix?, client: String, request: String) {
            self.name = name
            self.token = token
            self.client = client
            self.request = request
        }

        /// An operator who has used the command line or sent a signal.
        package static let commandLine = Actor(name: nil, token: nil, client: "unknown", request: "")
    }

    package let actor: Actor
    package let action: Action
    /// The object of the action: the name of a user, or the id of a registration or a
    /// notification.
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

    /// The record of another action by the same actor at the same time.
    package func another(_ action: Action, of subject: String, detail: String) -> AuditRecord {
        AuditRecord(action, of: subject, detail: detail, by: self.actor, at: self.at)
    }

    /// The record of a replacement of the keyring.
    package init(replacementBy keyring: Keyring, by actor: Actor, at: Date) {
        self.init(.changeKeys, of: "key \(keyring.sealing)", by: actor, at: at)
    }

    /// The record of an action that an operator has requested at the command line or by a signal.
    package init(_ action: Action, of subject: String, detail: String = "", at: Date) {
        self.init(action, of: subject, detail: detail, by: .commandLine, at: at)
    }
}
