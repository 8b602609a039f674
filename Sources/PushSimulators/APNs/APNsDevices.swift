internal import Synchronization

/// The environments of Apple's push service.
package enum APNsEnvironment: Sendable {
    case production, sandbox
}

/// The devices that Apple knows: the environment and the app of each token. The simulators of both
/// environments share this object.
///
/// A token for which `issue` was not called is valid in every environment and for every app, so
/// that tests may invent tokens.
package final class APNsDevices: Sendable {
    private struct Origin {
        let environment: APNsEnvironment
        let topic: String
    }

    private struct State {
        var origins: [String: Origin] = [:]
        /// Prefixes of tokens, each with the origin of these tokens; the first prefix that matches
        /// counts.
        var beginnings: [(text: String, origin: Origin)] = []

        func origin(of token: String) -> Origin? {
            self.origins[token] ?? self.beginnings.first { token.hasPrefix($0.text) }?.origin
        }
    }

    // A lock protects `state`: any thread may call `issue`. The lock is held only briefly.
    private let state = Mutex(State())

    package init() {}

    /// Makes the token valid only in this environment and for this topic.
    package func issue(_ token: String, in environment: APNsEnvironment, topic: String) {
        self.state.withLock { $0.origins[token.lowercased()] = Origin(environment: environment, topic: topic) }
    }

    /// Makes all tokens with this prefix valid only in this environment and for this topic. Tokens
    /// that are issued individually, and prefixes of earlier calls, have precedence.
    package func issue(beginningWith text: String, in environment: APNsEnvironment, topic: String) {
        let origin = Origin(environment: environment, topic: topic)
        self.state.withLock { $0.beginnings.append((text.lowercased(), origin)) }
    }

    /// Throws the refusal of APNs if the token, in lower case, belongs to another environment or
    /// app.
    func check(_ token: String, in environment: APNsEnvironment, topic: String) throws(APNsRefusal) {
        guard let origin = self.state.withLock({ $0.origin(of: token) }) else { return }
        // Apple answers in the same way for a token of the other environment and for an invented
        // token.
        guard origin.environment == environment else { throw APNsRefusal(.badDeviceToken) }
        guard origin.topic == topic else { throw APNsRefusal(.deviceTokenNotForTopic) }
    }
}
