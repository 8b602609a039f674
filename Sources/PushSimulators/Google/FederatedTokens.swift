internal import Foundation
internal import Synchronization

/// The access tokens that federated identities have got, separately for each scope.
final class FederatedTokens: Sendable {
    private static let impersonation: Set<Substring> = [
        "https://www.googleapis.com/auth/cloud-platform", "https://www.googleapis.com/auth/iam",
    ]

    private let wide = AccessTokens()
    private let narrow = AccessTokens()
    // A lock protects `isSender`: tests set it from any thread.
    private let isSender = Mutex(false)

    /// Whether the federated identity itself may send messages, without a service account.
    var maySend: Bool { self.isSender.withLock { $0 } }

    func setMaySend(_ maySend: Bool) {
        self.isSender.withLock { $0 = maySend }
    }

    func issue(scope: Substring, now: Date) -> String {
        let tokens = Self.impersonation.contains(scope) ? self.wide : self.narrow
        return tokens.issue(now: now, until: now.addingTimeInterval(Double(FCMSimulator.tokenLife)))
    }

    func authorizes(_ authorization: String?, now: Date) -> Bool {
        self.mayImpersonate(authorization, now: now) || self.narrow.authorize(authorization, now: now)
    }

    /// Whether the token's scope allows its holder to request a token of a service account.
    func mayImpersonate(_ authorization: String?, now: Date) -> Bool {
        self.wide.authorize(authorization, now: now)
    }
}
