// Declarations only: see README.md in this folder.
// swift-format-ignore-file
public import Foundation

open class UNNotificationContent: NSObject {
    public var title: String { "" }
    public var subtitle: String { "" }
    public var body: String { "" }
    public var badge: NSNumber? { nil }
    public var threadIdentifier: String { "" }
    public var categoryIdentifier: String { "" }
    public var userInfo: [AnyHashable: Any] { [:] }
}

open class UNMutableNotificationContent: UNNotificationContent {
    override public var title: String {
        get { "" }
        set {}
    }
    override public var subtitle: String {
        get { "" }
        set {}
    }
    override public var body: String {
        get { "" }
        set {}
    }
    override public var badge: NSNumber? {
        get { nil }
        set {}
    }
    override public var threadIdentifier: String {
        get { "" }
        set {}
    }
    override public var categoryIdentifier: String {
        get { "" }
        set {}
    }
}

public final class UNNotificationRequest: NSObject {
    public var identifier: String { "" }
    public var content: UNNotificationContent { UNNotificationContent() }
}

open class UNNotificationServiceExtension: NSObject {
    open func didReceive(
        _ request: UNNotificationRequest,
        withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {}
    open func serviceExtensionTimeWillExpire() {}
}

public struct UNAuthorizationOptions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let badge = UNAuthorizationOptions(rawValue: 1)
    public static let sound = UNAuthorizationOptions(rawValue: 2)
    public static let alert = UNAuthorizationOptions(rawValue: 4)
}

public final class UNUserNotificationCenter: NSObject, Sendable {
    public class func current() -> UNUserNotificationCenter { UNUserNotificationCenter() }
    public func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool { false }
    public func setBadgeCount(_ newBadgeCount: Int) async throws {}
    public func removeDeliveredNotifications(withIdentifiers identifiers: [String]) {}
}
