import Cryptography
import CurlHTTP
import Foundation
import PushCore
import PushSenders
import Testing

/// Values that tests share. The keys are made in each run, so that no key is ever stored.
enum Samples {
    static let now = Date(timeIntervalSince1970: 1_800_000_000)
    static let key = P256.Signing.PrivateKey()
    static let rsaKey = try? RSA.Signing.PrivateKey()

    static func push(
        id: Int64 = 7,
        handle: String = "ABCDEF0123456789",
        expiresIn: TimeInterval = 86_400,
        priority: Push.Priority = .normal,
        sharedCollapseID: String? = nil,
        confirmation: ConfirmationCode? = nil,
        alert: PushAlert? = nil,
        sharedBy registration: RegistrationID? = nil
    ) throws -> Push {
        var push = Push(
            notification: try #require(NotificationID(rawValue: id)),
            handle: handle,
            attemptID: try #require(UUID(uuidString: "8C2F9F43-7D2D-4D8B-9A55-0C1E8E6C2A11")),
            expiresAt: self.now + expiresIn,
            priority: priority,
            sharedCollapseID: sharedCollapseID,
            sharedBy: registration
        )
        (push.confirmation, push.alert) = (confirmation, alert)
        return push
    }

    static var serviceAccountFields: [String: String] {
        [
            "type": "service_account",
            "project_id": "sample-1",
            "client_email": "push@sample-1.iam.gserviceaccount.com",
            "private_key": self.rsaKey?.pemRepresentation ?? "",
            "private_key_id": "k1",
            "token_uri": "https://oauth2.googleapis.com/token",
        ]
    }

    static func json(_ fields: [String: String]) throws -> Secret<String> {
        Secret(String(decoding: try JSONEncoder().encode(fields), as: UTF8.self))
    }

    static func response(
        _ status: Int,
        _ body: String = "",
        _ headers: [String: String] = [:]
    ) -> OutboundResponse {
        let headers = headers.map { OutboundRequest.Header($0.key, $0.value) }
        return OutboundResponse(status: status, headers: headers, body: Array(body.utf8))
    }
}

extension HandleRule {
    /// Returns whether the rule accepts a text as a handle.
    func takes(_ text: String) -> Bool {
        // The reason for a refusal does not matter here.
        (try? self.address(text)) != nil
    }
}

extension OutboundRequest {
    var bodyText: String { String(decoding: self.body, as: UTF8.self) }
}

/// The decoded parts of a JWT. The signature is not checked.
struct DecodedToken {
    /// The JSON text of the header, byte for byte.
    let header: String
    let claims: String
    let signedText: Data
    let signature: Data

    init(_ text: String) throws {
        let parts = text.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        self.header = String(decoding: try Self.data(parts[0]), as: UTF8.self)
        self.claims = String(decoding: try Self.data(parts[1]), as: UTF8.self)
        self.signedText = Data((parts[0] + "." + parts[1]).utf8)
        self.signature = try Self.data(parts[2])
    }

    private static func data(_ text: String) throws -> Data {
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        return try #require(Data(base64Encoded: base64 + padding))
    }
}
