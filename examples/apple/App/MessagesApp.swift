import Foundation
import PushClient
import SwiftUI
import UserNotifications

@main struct MessagesApp: App {
    @UIApplicationDelegateAdaptor(AppDelegate.self) private var delegate

    var body: some Scene {
        WindowGroup {
            MessagesView(model: self.delegate.model)
        }
        .backgroundTask(.appRefresh("org.example.messages.refresh")) {
            // Scheduling fails if the user has switched background refresh off; then nothing wakes
            // the app.
            try? BackgroundRefresh.schedule("org.example.messages.refresh")
            _ = await BackgroundRefresh(clients: { AppDelegate.clients }).run()
        }
    }
}

final class AppDelegate: NSObject, UIApplicationDelegate {
    let model = InboxModel(.messages)

    nonisolated static var clients: [PushClient] {
        // Without a client, nobody is signed in, or the device was not unlocked since its start.
        [try? Place.messages.client()].compactMap { $0 }
    }

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        UNUserNotificationCenter.current().delegate = self
        self.model.onChange = { unread, gone in
            PushClient.removeDelivered(gone)
            // The user may have switched the number off.
            Task { try? await UNUserNotificationCenter.current().setBadgeCount(unread) }
        }
        try? BackgroundRefresh.schedule("org.example.messages.refresh")
        // The app registers at each start, because the system may have a new token for it.
        application.registerForRemoteNotifications()
        return true
    }

    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
        Task { await self.model.register(token) }
    }

    /// Handles a background push, such as one that only recalls a message.
    func application(
        _ application: UIApplication,
        didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult {
        UIBackgroundFetchResult(await BackgroundRefresh(clients: { Self.clients }).run())
    }
}

/// The system calls these methods on the main thread, and wants its answers there.
extension AppDelegate: UNUserNotificationCenterDelegate {
    /// Shows a notification while the app is open, too.
    nonisolated func userNotificationCenter(
        _ center: UNUserNotificationCenter,
        willPresent notification: UNNotification,
        withCompletionHandler completionHandler: @escaping (UNNotificationPresentationOptions) -> Void
    ) {
        completionHandler([.banner, .list, .sound])
    }

    /// Opens the message of a tapped notification.
    nonisolated func userNotificationCenter(
        _ center: UNUserNotificationCenter,
        didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void
    ) {
        let push = PushMessage(userInfo: response.notification.request.content.userInfo)
        MainActor.assumeIsolated {
            if let push { Task { await self.model.open(push) } }
        }
        completionHandler()
    }
}
