#if canImport(BackgroundTasks) && !os(macOS)
    internal import BackgroundTasks
    internal import Foundation

    extension BackgroundRefresh {
        /// Asks the system to wake the app after at least `interval`. Call it again at each
        /// wake-up.
        ///
        /// The identifier must be in the app's `BGTaskSchedulerPermittedIdentifiers`. Throws
        /// `BGTaskScheduler.Error`, for example in a simulator, or if the user has switched
        /// background refresh off.
        public static func schedule(_ identifier: String, after interval: Duration = .seconds(3600)) throws {
            let request = BGAppRefreshTaskRequest(identifier: identifier)
            request.earliestBeginDate = Date(timeIntervalSinceNow: TimeInterval(interval.components.seconds))
            try BGTaskScheduler.shared.submit(request)
        }
    }
#endif

#if canImport(UIKit) && !os(watchOS)
    public import UIKit

    extension UIBackgroundFetchResult {
        /// Converts the outcome into the result that
        /// `application(_:didReceiveRemoteNotification:)` returns to the system.
        public init(_ outcome: BackgroundRefresh.Outcome) {
            switch outcome {
            case .newData: self = .newData
            case .noData: self = .noData
            case .failed: self = .failed
            }
        }
    }
#endif
