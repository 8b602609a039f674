#if canImport(UserNotifications) && !os(tvOS)
    internal import UserNotifications

    extension ShownNotifications {
        static var system: ShownNotifications? {
            ShownNotifications(
                all: {
                    await withCheckedContinuation { continuation in
                        UNUserNotificationCenter.current().getDeliveredNotifications { shown in
                            continuation.resume(
                                returning: shown.map(\.request).compactMap { request in
                                    PushMessage(userInfo: request.content.userInfo).map {
                                        Entry(identifier: request.identifier, push: $0)
                                    }
                                }
                            )
                        }
                    }
                },
                remove: {
                    UNUserNotificationCenter.current().removeDeliveredNotifications(withIdentifiers: $0)
                },
                setBadge: { count in
                    #if !os(watchOS)
                        // The user may have denied badges.
                        try? await UNUserNotificationCenter.current().setBadgeCount(count)
                    #endif
                }
            )
        }
    }

    extension PushClient {
        /// Removes from the notification centre the shown notifications with these ids, such as
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
