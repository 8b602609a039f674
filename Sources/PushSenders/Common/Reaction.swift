internal import CurlHTTP
internal import Foundation
internal import PushCore

/// What an answer asks of us: a row's right side in a provider's table.
enum Reaction: Sendable, Hashable {
    case accepted
    /// A fresh access token, and the same push once more.
    case renewToken
    /// The provider has a problem: this push later, at the earliest after `rest` if the answer names no time.
    case unavailable(rest: Duration? = nil)
    /// Nothing at all to this provider for as long as the answer says, or else for `rest`.
    case overloaded(rest: Duration)
    /// The same, but only if the answer says for how long; or else `unavailable` with `rest`.
    case overloadedIfTimed(rest: Duration? = nil)
    /// Nothing to this device for as long as the answer says, or else for `rest`.
    case deviceBusy(rest: Duration)
    case deviceGone
    case deviceUnknown
    case rejected
    case misconfigured
}

/// A provider's answers and what each means, as data; what stands first counts.
///
/// A row without a reason is for every reason that no row before it names.
struct ReactionTable: Sendable {
    struct Row: Sendable {
        let statuses: ClosedRange<Int>
        let reasons: [String]
        let reaction: Reaction
    }

    let rows: [Row]

    /// `statuses` of a row, its reasons, and the reaction.
    init(_ rows: [(ClosedRange<Int>, [String], Reaction)]) {
        self.rows = rows.map { Row(statuses: $0.0, reasons: $0.1, reaction: $0.2) }
    }

    /// What neither the provider nor a gateway is known to say is taken for trouble that passes.
    func reaction(to status: Int, _ reason: String?) -> Reaction {
        let row = self.rows.first {
            $0.statuses.contains(status) && ($0.reasons.isEmpty || reason.map($0.reasons.contains) ?? false)
        }
        return row?.reaction ?? .unavailable()
    }
}

extension Reaction {
    /// The failure that it stands for; `nil` for what is none.
    ///
    /// - Parameters:
    ///   - reason: The provider's words, made fit for a log.
    ///   - retryAfter: What the answer's `Retry-After` says.
    ///   - since: When the provider last saw that the device is no longer registered.
    func failure(reason: String, retryAfter: Duration?, since: Date? = nil) -> SendFailure? {
        switch self {
        case .accepted, .renewToken: nil
        case .unavailable(let rest): .unavailable(reason: reason, retryAfter: retryAfter ?? rest)
        case .overloaded(let rest): .overloaded(reason: reason, retryAfter: retryAfter ?? rest)
        case .overloadedIfTimed(let rest):
            if let retryAfter {
                .overloaded(reason: reason, retryAfter: retryAfter)
            } else {
                .unavailable(reason: reason, retryAfter: rest)
            }
        case .deviceBusy(let rest): .deviceBusy(reason: reason, retryAfter: retryAfter ?? rest)
        case .deviceGone: .deviceGone(reason: reason, since: since)
        case .deviceUnknown: .deviceUnknown(reason: reason)
        case .rejected: .rejected(reason: reason)
        case .misconfigured: .misconfigured(reason: reason)
        }
    }
}
