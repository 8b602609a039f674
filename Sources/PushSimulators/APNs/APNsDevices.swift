internal import Synchronization

/// The environments of Apple's push service.
package enum APNsEnvironment: Sendable {
    case production, sandbox
}

/// The devices that Apple knows: the environment and the app of each token. The simulators of both
/// environments share them.
///
/// A token that nobody has issued is valid in every environment and app, so that tests may invent
/// tokens.
package final class APNsDevices: Sendable {
    private struct Origin {
        let environment: APNsEnvironment
        let topic: String
    }

    private struct State {
        var origins: [String: Origin] = [:]
        /// The prefixes of tokens that have an origin; the first match counts.
        var beginnings: [(text: String, origin: Origin)] = []

        func origin(of token: String) -> Origin? {
            self.origins[token] ?? self.beginnings.first { token.hasPrefix($0.text) }?.origin
        }
    }

    // A lock protects `state`: devices are issued from any thread, and each use is short.
    private let state = Mutex(State())

    package init() {}

    /// Restricts the token to this environment and topic from now on.
    package func issue(_ token: String, in environment: APNsEnvironment, topic: String) {
        self.state.withLock { $0.origins[token.lowercased()] = Origin(environment: environment, topic: topic) }
    }

    /// Restricts all tokens with this prefix. Earlier prefixes, and tokens that are issued
    /// individually, have precedence.
    package func issue(beginningWith text: String, in environment: APNsEnvironment, topic: String) {
        let origin = Origin(environment: environment, topic: topic)
        self.state.withLock { $0.beginnings.append((text.lowercased(), origin)) }
    }

    /// Throws the refusal of APNs if the token, in lower case, belongs to another environment or
    /// app.
    func check(_ token: String, in environment: APNsEnvironment, topic: String) throws(APNsRefusal) {
        guard let origin = self.state.withLock({ $0.origin(of: token) }) else { return }
        // For a token of the other environment, Apple gives the same answer as for an invented
        // token.
        guard origin.environment == environment else { throw APNsRefusal(.badDeviceToken) }
        guard origin.topic == topic else { throw APNsRefusal(.deviceTokenNotForTopic) }
    }
}
