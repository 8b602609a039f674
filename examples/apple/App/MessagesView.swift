import SwiftUI
import UserNotifications

/// The sign-in page, or the inbox.
struct MessagesView: View {
    let model: InboxModel

    var body: some View {
        NavigationStack {
            if self.model.isSignedIn {
                InboxView(model: self.model)
            } else {
                SignInView(model: self.model)
            }
        }
        // The task also starts after a sign-in.
        .task(id: self.model.isSignedIn) { await self.model.run() }
    }
}

struct SignInView: View {
    let model: InboxModel
    @State private var name = ""
    @State private var password = ""

    var body: some View {
        Form {
            Section {
                TextField("Name", text: self.$name).textContentType(.username)
                SecureField("Password", text: self.$password).textContentType(.password)
                Button("Sign in") {
                    Task {
                        await self.model.signIn(self.name, self.password)
                        self.password = ""
                        guard self.model.isSignedIn else { return }
                        // Asks for permission only now, when its purpose is clear. If the user
                        // refuses, the messages appear when the app is opened.
                        let center = UNUserNotificationCenter.current()
                        _ = try? await center.requestAuthorization(options: [.alert, .badge, .sound])
                    }
                }
                .disabled(self.name.isEmpty || self.password.isEmpty)
            } footer: {
                Text(self.model.advice ?? "")
            }
        }
        .navigationTitle("Sign in")
    }
}
