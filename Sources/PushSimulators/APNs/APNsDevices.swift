internal import Synchronization

/// The environments of Apple's push service.
package enum APNsEnvironment: Sendable {
    case production, sandbox
}

/// The devices that Apple knows: of which environment and of which app their tokens are. The simulators of both
/// environments share them.
///
/// A token that nobody has issued is a good one of every environment and app, so that tests may invent tokens.
package final class APNsDevices: Sendable {
    private struct Origin {
        let environment: APNsEnvironment
        let topic: String
    }

    private struct State {
        var origins: [String: Origin] = [:]
        /// The beginnings of tokens that are of an origin; the first that fits counts.
        var beginnings: [(text: String, origin: Origin)] = []

        func origin(of token: String) -> Origin? {
            self.origins[token] ?? self.beginnings.first { token.hasPrefix($0.text) }?.origin
        }
    }

    // A lock: devices are issued from any thread, and each use is short.
    private let state = Mutex(State())

    package init() {}

    /// From now on the token is one of this environment and app only.
    package func issue(_ token: String, in environment: APNsEnvironment, topic: String) {
        self.state.withLock { $0.origins[token.lowercased()] = Origin(environment: environment, topic: topic) }
    }

    /// The same for all tokens that begin so, unless a call before has said something else of them.
    package func issue(beginningWith text: String, in environment: APNsEnvironment, topic: String) {
        let origin = Origin(environment: environment, topic: topic)
        self.state.withLock { $0.beginnings.append((text.lowercased(), origin)) }
    }

    /// Throws what APNs answers if the token, in lower case, is of another environment or app.
    func check(_ token: String, in environment: APNsEnvironment, topic: String) throws(APNsRefusal) {
        guard let origin = self.state.withLock({ $0.origin(of: token) }) else { return }
        // Apple does not tell a token of the other environment from an invented one.
        guard origin.environment == environment else { throw APNsRefusal(.badDeviceToken) }
        guard origin.topic == topic else { throw APNsRefusal(.deviceTokenNotForTopic) }
    }
}
