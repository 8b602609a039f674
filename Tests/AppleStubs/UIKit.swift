// Declarations only: see README.md in this folder.
// swift-format-ignore-file
public import Foundation

public enum UIBackgroundFetchResult: UInt, Sendable {
    case newData, noData, failed
}

@MainActor open class UIApplication: NSObject {
    public struct LaunchOptionsKey: Hashable, Sendable {}

    public class var shared: UIApplication { UIApplication() }
    public func registerForRemoteNotifications() {}
}

@MainActor public protocol UIApplicationDelegate: NSObject {
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    func application(
        _ application: UIApplication,
        didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    )
    func application(
        _ application: UIApplication,
        didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult
}

extension UIApplicationDelegate {
    public func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool { true }
    public func application(
        _ application: UIApplication,
        didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    ) {}
    public func application(
        _ application: UIApplication,
        didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult { .noData }
}

// On Apple's systems, Foundation has this function.
extension ProcessInfo {
    public func performExpiringActivity(withReason: String, using block: @escaping @Sendable (Bool) -> Void) {}
}
