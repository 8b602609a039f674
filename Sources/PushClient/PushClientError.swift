public import Foundation
public import PushAPI

/// The reason for a failed call. A cancelled call throws `CancellationError` instead.
///
/// ``PushClient/Advice`` says what to tell the user.
public enum PushClientError: Error, Sendable, Hashable {
    /// There was no answer: no connection, an end inside the answer's head, or no answer in time,
    /// which has the code `timedOut`.
    case offline(URLError.Code)
    /// The answer is not the server's own answer to this request: somebody between client and
    /// server has invented, changed or replayed it. Or the server's certificate was refused.
    case interference(Interference)
    /// The server's own refusal.
    case problem(Problem)
    /// The server refuses for now (408, 429, a status from 500 on, or 409 while it works on the
    /// same message), and may say how long to wait.
    case busy(Problem, retryAfter: Duration?)
    /// The name or the password is wrong, or the token is no longer valid; the problem's code says
    /// which.
    case unauthorized(Problem)
    /// The account was signed out on this device since this client was created, or the client has
    /// no credentials. The client sent nothing, or stored nothing of the answer.
    case signedOut
    /// The call needs a registration of this device, but the device is not registered: register it
    /// first.
    case notRegistered
    /// The server lists other end-to-end keys for this device than its own: somebody has changed
    /// them at the server. Tell the user, and call ``PushClient/setDeviceKey(_:)``.
    case keyReplaced
    /// Too many tasks wait in the ``Outbox``, as after a long time without a network. The outbox
    /// did not accept the new task.
    case outboxFull
    /// The store cannot be read or written: the disk is full, or the device was not unlocked since
    /// its start. The associated text is for a log.
    case storage(String)
    /// Certificate keys are pinned on a system that gives no access to certificates, or with
    /// ``PushClient/Options/exchange``. The client has sent nothing.
    case pinningUnavailable
    /// The server's URL is not an HTTP URL with a host, or has a user, a password, a query or a
    /// fragment. The client has sent nothing.
    case invalidServer
    /// An impossible value of ``PushClient/Options``, an empty name of an account, a user name
    /// with a colon, a token with blanks or control characters, a malformed field of
    /// ``PushClient/Options/headers``, or an id that no device can have. The associated text names
    /// the value, for a log. The client has sent nothing.
    case invalidValue(String)
    /// The server's URL is `http`, which shows credentials to everybody on the way. The client
    /// accepts it only for this machine (`localhost`, 127.0.0.0/8, `::1`), and never with pinned
    /// keys. The client has sent nothing.
    case insecureServer
    /// The options pin an empty list of signature keys. Write ``PushClient/Signatures/unsigned``
    /// to go without signatures. The client has sent nothing.
    case noSignatureKeys
}

extension PushClientError {
    static let timedOut = PushClientError.offline(.timedOut)
    static let busyStore = PushClientError.storage("other processes change the store all the time")

    /// Runs work on the store, and converts the store's errors into ``storage(_:)``.
    static func storing<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as PushClientError {
            throw error
        } catch is Account.Busy {
            throw self.busyStore
        } catch {
            let error = error as NSError
            throw self.storage("\(error.domain) \(error.code)")
        }
    }
}
