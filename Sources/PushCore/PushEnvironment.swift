/// An environment of Apple's push service. A device token belongs to one environment, but the
/// token does not show this environment.
package enum PushEnvironment: String, Sendable, CaseIterable {
    /// The environment of apps from the App Store and TestFlight.
    case production
    /// The environment of apps that Xcode has installed.
    case sandbox

    package var other: PushEnvironment {
        switch self {
        case .production: .sandbox
        case .sandbox: .production
        }
    }

    /// The environment to which a lane (queue of pushes) of the platform sends; `lane` is the
    /// lane's `description`.
    package init(ofLane lane: String, on platform: Platform) {
        self = lane == Lane(platform, in: .sandbox).description ? .sandbox : .production
    }
}

extension Lane {
    /// The lane (queue of pushes) for a platform's devices in `environment`.
    package init(_ platform: Platform, in environment: PushEnvironment) {
        self.init(platform, part: environment == .production ? nil : environment.rawValue)
    }
}
