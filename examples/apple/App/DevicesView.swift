import PushClient
import SwiftUI

/// The fingerprint of this device, and the account's other devices, which this device can approve.
struct DevicesView: View {
    let model: InboxModel

    var body: some View {
        List {
            Section {
                Text(self.model.fingerprint ?? "")
            } footer: {
                Text("The fingerprint of this device.")
            }
            Section {
                ForEach(self.model.otherDevices) { device in
                    VStack(alignment: .leading) {
                        Text(device.key?.fingerprint ?? "")
                        if self.model.hasApproved(device) {
                            Text("Approved by this device").font(.caption)
                        } else {
                            Button("Approve") { Task { await self.model.approve(device) } }
                        }
                    }
                }
            } footer: {
                Text(self.model.advice ?? "Approve a device only if its screen shows the same digits.")
            }
        }
        .task { await self.model.loadDevices() }
        .navigationTitle("Devices")
    }
}
