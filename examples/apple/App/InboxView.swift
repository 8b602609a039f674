import PushAPI
import SwiftUI

/// The messages, with the date of the last sync if they may be out of date.
struct InboxView: View {
    let model: InboxModel

    var body: some View {
        List {
            if let item = self.model.opened {
                Section {
                    MessageRow(item: item, text: self.model.text(of: item))
                    Button("Close") { self.model.close() }
                } footer: {
                    Text("Opened from its notification.")
                }
            }
            Section {
                ForEach(self.model.notifications) { item in
                    MessageRow(item: item, text: self.model.text(of: item)).swipeActions {
                        Button("Dismiss", role: .destructive) { Task { await self.model.dismiss(item) } }
                        Button(item.isRead ? "Mark as new" : "Mark as read") {
                            Task { await self.model.markRead(item) }
                        }
                    }
                }
                if self.model.hasOlder { Button("Older messages") { Task { await self.model.showOlder() } } }
            } footer: {
                Text([self.age, self.model.advice].compactMap { $0 }.joined(separator: " "))
            }
            if self.model.fingerprint != nil {
                NavigationLink("Devices") { DevicesView(model: self.model) }
            }
        }
        .refreshable { await self.model.sync() }
        .navigationTitle("Messages")
        .toolbar {
            Button("Sign out") { Task { await self.model.signOut() } }
        }
    }

    private var age: String {
        switch self.model.age {
        case .notLoaded: "Not loaded yet."
        case .upToDate: self.model.notifications.isEmpty ? "Nothing here." : "Up to date."
        case .asOf(let date): "As of \(date.formatted())."
        }
    }
}

struct MessageRow: View {
    let item: NotificationItem
    let text: String?

    var body: some View {
        VStack(alignment: .leading) {
            Text(self.item.createdAt.formatted()).font(.caption)
            // The list has no payload for a read-once message, and this device may not be able to
            // open an end-to-end payload.
            Text(self.text ?? "There is something to read.").font(self.item.isRead ? nil : .headline)
        }
    }
}
