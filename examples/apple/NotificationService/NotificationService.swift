import PushClient
import UserNotifications

/// Fetches the notification that a push names, before the system shows it. After any failure the
/// system shows the push's own constant text.
final class NotificationService: UNNotificationServiceExtension {
    private let helper = NotificationServiceHelper(
        clients: { NotificationService.clients },
        // Without keys the system shows the push's own text.
        deviceKeys: { [try? Place.messages.deviceKeys()].compactMap { $0 } },
        senders: Place.messages.senders
    ) { item, content in
        content.body = item.text ?? content.body
    }

    override func didReceive(
        _ request: UNNotificationRequest,
        withContentHandler handler: @escaping (UNNotificationContent) -> Void
    ) {
        self.helper.didReceive(request, withContentHandler: handler)
    }

    override func serviceExtensionTimeWillExpire() {
        self.helper.expire()
    }

    private static var clients: [PushClient] {
        var place = Place.messages
        // The extension fetches one notification, and has little memory and time.
        place.options.answerLimit = 256 << 10
        place.options.timeout = .seconds(12)
        return [try? place.client()].compactMap { $0 }
    }
}
