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
    public var sound: UNNotificationSound? { nil }
    public var interruptionLevel: UNNotificationInterruptionLevel { .active }
    public var relevanceScore: Double { 0 }
    public var targetContentIdentifier: String? { nil }
    public var attachments: [UNNotificationAttachment] { [] }
}

public struct UNNotificationSoundName: Sendable {
    public init(_ rawValue: String) {}
}

public final class UNNotificationSound: NSObject, Sendable {
    public class var `default`: UNNotificationSound { UNNotificationSound(named: UNNotificationSoundName("")) }
    public init(named name: UNNotificationSoundName) {}
}

public enum UNNotificationInterruptionLevel: UInt, Sendable {
    case passive, active, timeSensitive, critical
}

public final class UNNotificationAttachment: NSObject {
    public init(identifier: String, url: URL, options: [AnyHashable: Any]? = nil) throws {}
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
    override public var userInfo: [AnyHashable: Any] {
        get { [:] }
        set {}
    }
    override public var sound: UNNotificationSound? {
        get { nil }
        set {}
    }
    override public var interruptionLevel: UNNotificationInterruptionLevel {
        get { .active }
        set {}
    }
    override public var relevanceScore: Double {
        get { 0 }
        set {}
    }
    override public var targetContentIdentifier: String? {
        get { nil }
        set {}
    }
    override public var attachments: [UNNotificationAttachment] {
        get { [] }
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

public final class UNNotification: NSObject {
    public var request: UNNotificationRequest { UNNotificationRequest() }
}

public final class UNNotificationResponse: NSObject {
    public var notification: UNNotification { UNNotification() }
}

public struct UNNotificationPresentationOptions: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) { self.rawValue = rawValue }

    public static let sound = UNNotificationPresentationOptions(rawValue: 2)
    public static let list = UNNotificationPresentationOptions(rawValue: 8)
    public static let banner = UNNotificationPresentationOptions(rawValue: 16)
}

public protocol UNUserNotificationCenterDelegate: NSObject {
    func userNotificationCenter(
        _ center: UNUserNotificationCenter,
        willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
    )
    func userNotificationCenter(
        _ center: UNUserNotificationCenter,
        didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void
    )
}

public final class UNUserNotificationCenter: NSObject, Sendable {
    public var delegate: (any UNUserNotificationCenterDelegate)? {
        get { nil }
        set {}
    }
    public func getDeliveredNotifications(completionHandler: @escaping @Sendable ([UNNotification]) -> Void) {}
    public class func current() -> UNUserNotificationCenter { UNUserNotificationCenter() }
    public func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool { false }
    public func setBadgeCount(_ newBadgeCount: Int) async throws {}
    public func removeDeliveredNotifications(withIdentifiers identifiers: [String]) {}
}
