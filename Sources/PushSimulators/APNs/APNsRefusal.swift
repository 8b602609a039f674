package import Foundation

/// The reason why APNs refuses a push.
package struct APNsRefusal: Error, Hashable {
    /// The reason in the answer, from the list in Apple's "Handling notification responses from
    /// APNs".
    package enum Reason: String, Sendable {
        case badCollapseID = "BadCollapseId"
        case badDeviceToken = "BadDeviceToken"
        case badEnvironmentKeyIDInToken = "BadEnvironmentKeyIdInToken"
        case badExpirationDate = "BadExpirationDate"
        case badMessageID = "BadMessageId"
        case badPath = "BadPath"
        case badPriority = "BadPriority"
        case badTopic = "BadTopic"
        case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
        case duplicateHeaders = "DuplicateHeaders"
        case expiredToken = "ExpiredToken"
        case expiredProviderToken = "ExpiredProviderToken"
        case invalidProviderToken = "InvalidProviderToken"
        case invalidPushType = "InvalidPushType"
        case methodNotAllowed = "MethodNotAllowed"
        case missingDeviceToken = "MissingDeviceToken"
        case missingProviderToken = "MissingProviderToken"
        case missingTopic = "MissingTopic"
        case payloadEmpty = "PayloadEmpty"
        case payloadTooLarge = "PayloadTooLarge"
        case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
        case tooManyRequests = "TooManyRequests"
        case topicDisallowed = "TopicDisallowed"
        case unregistered = "Unregistered"
        /// The payload is not a JSON object. Apple documents no reason for this case, so this
        /// reason exists only in the simulator.
        case payloadNotJSON = "SimulatorPayloadNotJSON"
        /// A member of `aps` has another type than Apple documents. This reason, too, exists only
        /// in the simulator.
        case payloadInvalid = "SimulatorPayloadInvalid"
    }

    package let reason: Reason
    /// The time at which the token became invalid; only `unregistered` and `expiredToken` have it.
    package let retiredAt: Date?

    package init(_ reason: Reason, retiredAt: Date? = nil) {
        self.reason = reason
        self.retiredAt = retiredAt
    }

    package var status: Int {
        switch self.reason {
        case .badEnvironmentKeyIDInToken, .expiredProviderToken, .invalidProviderToken, .missingProviderToken: 403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .expiredToken, .unregistered: 410
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates, .tooManyRequests: 429
        default: 400
        }
    }

    /// The body of the answer; its time is in milliseconds, unlike every other time in APNs.
    package var json: String {
        guard let retiredAt else { return #"{"reason":"\#(self.reason.rawValue)"}"# }
        let milliseconds = Int((retiredAt.timeIntervalSince1970 * 1000).rounded())
        return #"{"reason":"\#(self.reason.rawValue)","timestamp":\#(milliseconds)}"#
    }
}
