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

    // A lock: devices are issued from any thread, and each use is short.
    private let origins = Mutex<[String: Origin]>([:])

    package init() {}

    /// From now on the token is one of this environment and app only.
    package func issue(_ token: String, in environment: APNsEnvironment, topic: String) {
        self.origins.withLock { $0[token.lowercased()] = Origin(environment: environment, topic: topic) }
    }

    /// Throws what APNs answers if the token, in lower case, is of another environment or app.
    func check(_ token: String, in environment: APNsEnvironment, topic: String) throws(APNsRefusal) {
        guard let origin = self.origins.withLock({ $0[token] }) else { return }
        // Apple does not tell a token of the other environment from an invented one.
        guard origin.environment == environment else { throw APNsRefusal(.badDeviceToken) }
        guard origin.topic == topic else { throw APNsRefusal(.deviceTokenNotForTopic) }
    }
}
