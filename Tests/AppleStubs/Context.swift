// Declarations only: see README.md in this folder.
// swift-format-ignore-file
// Names that the snippets of the guides use without declaring them.
import Cryptography
import Foundation
import FoundationNetworking
import HTTPSignatures
import PushAPI
import PushClient
import PushClientTesting
import SwiftUI
import UserNotifications

var url: URL { fatalError() }
var server: URL { fatalError() }
var name: String { fatalError() }
var password: String { fatalError() }
var session: Session { fatalError() }
var token: Data { fatalError() }
var deviceToken: String { fatalError() }
var secureId: Int64 { fatalError() }
var current: VerificationKey { fatalError() }
var next: VerificationKey { fatalError() }
var keys: [VerificationKey] { fatalError() }
var pinnedKey: VerificationKey { fatalError() }
var folder: URL { fatalError() }
var sharedFolder: URL { fatalError() }
var key: SymmetricKey { fatalError() }
var keyFromKeychain: SymmetricKey { fatalError() }
var client: PushClient { fatalError() }
var clients: [PushClient] { fatalError() }
var store: PushClient.Store { fatalError() }
var item: NotificationItem { fatalError() }
var id: Int64 { fatalError() }
var storedKeys: Data { fatalError() }
var deviceKeys: DeviceKeys { fatalError() }
var sender: String { fatalError() }
var traceparent: String { fatalError() }
var request: UNNotificationRequest { fatalError() }

func show(_ text: String) {}
func alert(_ item: NotificationItem) {}
@MainActor var status = ""
func show(_ inbox: Inbox) {}
func show(_ inbox: Fetched<Inbox>) {}
func show(_ inbox: Inbox, asOf date: Date, _ advice: String) {}
func show(_ inbox: Inbox, note: String) {}

enum Shared {
    static var clients: [PushClient] { [] }
    static var deviceKeys: [DeviceKeys] { [] }
}

enum Trouble: Error {
    case noGroup
}

enum backend {
    static func pushToken(renewing refused: String?) async throws -> String { "" }
}

enum index {
    static func update(_ arrived: Set<Int64>, removing deleted: Set<Int64>) throws {}
}

@MainActor enum banner {
    static var text = ""
}

@MainActor var list: [NotificationItem] = []

/// The payload of a notification in the guides, about the result of a medical test.
struct Result: Decodable {
    let title: String
    let text: String
    let patient: String
}

struct ContentView: View {
    var body: some View { Text("") }
}

/// Names in the snippets about `PushAPI` and `HTTPSignatures`, which use a request and its answer
/// without declaring them.
struct ExchangeSnippets {
    var request: URLRequest {
        get { fatalError() }
        nonmutating set {}
    }
    var response: HTTPURLResponse { fatalError() }
    var token: String { fatalError() }
    var pinned: VerificationKey { fatalError() }
    var status: Int { fatalError() }
    var body: Data { fatalError() }

    func lines(of name: String) -> [String] { [] }
}

struct NotFromTheServer: Error {}
