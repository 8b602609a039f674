#if canImport(UserNotifications) && !os(tvOS)
    internal import UserNotifications

    extension PushClient {
        /// Removes the shown notifications with these ids from the notification centre, such as
        /// ``Inbox/deleted`` after a sync.
        public static func removeDelivered(_ ids: Set<Int64>) {
            if ids.isEmpty { return }
            UNUserNotificationCenter.current().getDeliveredNotifications { shown in
                let gone = shown.map(\.request).filter { request in
                    PushMessage(userInfo: request.content.userInfo).map { ids.contains($0.id) } ?? false
                }
                UNUserNotificationCenter.current().removeDeliveredNotifications(
                    withIdentifiers: gone.map(\.identifier)
                )
            }
        }
    }
#endif
