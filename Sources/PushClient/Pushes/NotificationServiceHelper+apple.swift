#if canImport(UserNotifications) && !os(tvOS)
    internal import Foundation
    public import UserNotifications

    extension NotificationServiceHelper {
        /// Call this in `didReceive(_:withContentHandler:)` of the extension.
        public func didReceive(
            _ request: UNNotificationRequest,
            withContentHandler handler: @escaping (UNNotificationContent) -> Void
        ) {
            let copy = request.content.mutableCopy() as? UNMutableNotificationContent
            let content = copy ?? UNMutableNotificationContent()
            let shown = ShownContent(content: content, handler: handler)
            let push = PushMessage(userInfo: content.userInfo)
            // The delivery begins before the task starts, so that `expire()` finds it.
            let delivery = self.begin(NotificationContent(content)) { shown.show($0) }
            // The system's call is synchronous, so the work has no parent task. The limit and
            // `expire()` end it.
            Task { await self.finish(delivery, push) }
        }
    }

    /// The system's objects for one delivery. `@unchecked Sendable` is safe, because only the call
    /// that ends the delivery uses them later.
    private struct ShownContent: @unchecked Sendable {
        let content: UNMutableNotificationContent
        let handler: (UNNotificationContent) -> Void

        func show(_ shown: NotificationContent) {
            self.content.title = shown.title
            self.content.subtitle = shown.subtitle
            self.content.body = shown.body
            self.content.badge = shown.badge.map { NSNumber(value: $0) }
            self.content.threadIdentifier = shown.threadIdentifier
            self.content.categoryIdentifier = shown.categoryIdentifier
            if let sound = shown.sound { self.content.sound = sound.ofSystem }
            if let level = shown.interruptionLevel { self.content.interruptionLevel = level.ofSystem }
            if let score = shown.relevanceScore { self.content.relevanceScore = score }
            if let target = shown.targetContentIdentifier { self.content.targetContentIdentifier = target }
            self.content.userInfo.merge(shown.userInfo) { $1 }
            // A file that the system refuses is left out.
            self.content.attachments += shown.attachments.compactMap {
                try? UNNotificationAttachment(identifier: $0.identifier, url: $0.file)
            }
            self.handler(self.content)
        }
    }

    extension NotificationContent.Sound {
        fileprivate var ofSystem: UNNotificationSound? {
            switch self {
            case .standard: return .default
            case .silent: return nil
            case .named(let name):
                #if os(watchOS)
                    return .default
                #else
                    return UNNotificationSound(named: UNNotificationSoundName(name))
                #endif
            }
        }
    }

    extension NotificationContent.InterruptionLevel {
        fileprivate var ofSystem: UNNotificationInterruptionLevel {
            switch self {
            case .passive: .passive
            case .active: .active
            case .timeSensitive: .timeSensitive
            case .critical: .critical
            }
        }
    }

    extension NotificationContent {
        fileprivate init(_ content: UNNotificationContent) {
            self.init(
                title: content.title,
                subtitle: content.subtitle,
                body: content.body,
                badge: content.badge?.intValue,
                threadIdentifier: content.threadIdentifier,
                categoryIdentifier: content.categoryIdentifier
            )
        }
    }
#endif
