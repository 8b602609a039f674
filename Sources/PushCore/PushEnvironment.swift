/// An environment of Apple's push service. A device token belongs to one environment, and does not
/// name it.
package enum PushEnvironment: String, Sendable, CaseIterable {
    /// Apps from the App Store and TestFlight.
    case production
    /// Builds that Xcode has installed.
    case sandbox

    package var other: PushEnvironment {
        switch self {
        case .production: .sandbox
        case .sandbox: .production
        }
    }

    /// The environment of a platform's lane, by the lane's text.
    package init(ofLane lane: String, on platform: Platform) {
        self = lane == Lane(platform, in: .sandbox).description ? .sandbox : .production
    }
}

extension Lane {
    /// The lane of a platform's devices in that environment.
    package init(_ platform: Platform, in environment: PushEnvironment) {
        self.init(platform, part: environment == .production ? nil : environment.rawValue)
    }
}
