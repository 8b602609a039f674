import Bytes
import Cryptography
import Foundation
import Testing

@testable import PushSenders

/// The sender's encryption gives the bytes of the examples in the RFCs.
@Suite(.timeLimit(.minutes(5))) struct WebPushEncryptionTests {
    /// The example of RFC 8291 section 5 and appendix A.
    private enum Example {
        static let plaintext = "V2hlbiBJIGdyb3cgdXAsIEkgd2FudCB0byBiZSBhIHdhdGVybWVsb24"
        static let secret = "BTBZMqHH6r4Tts7J_aSIgg"
        static let receiverPrivate = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
        static let receiverPublic =
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        static let senderPrivate = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
        static let salt = "DGv6ra1nlYgDCS1FRnbzlw"
        static let info =
            "V2ViUHVzaDogaW5mbwAEJXGyvs3942BVGq8e0PTNNmwRzr5VX4m8t7GGpTM5FzFo7OLr4BhZe9MEebhuPI-OztV3ylkYfpJGmQ22ggCL"
            + "DgT-M_SrDepxkU21WCP3O1SUj0EwbZIHMtu5pZpTKGSCIA5Zent7wmC6HCJ5mFgJkuk5cwAvMBKiiujwa7t45ewP"
        static let material = "S4lYMb_L0FxCeq0WhDx813KgSYqU26kOyzWUdsXYyrg"
        static let key = "oIhVW04MRdy2XN9CiKLxTg"
        static let nonce = "4h_95klXJ5E_qnoN"
        static let body =
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK"
            + "6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    }

    private func bytes(_ text: String) throws -> [UInt8] {
        try #require(Base64.bytes(inAnySpelling: text.utf8))
    }

    private func exampleSubscription() throws -> WebPushSubscription {
        try WebPushSubscription(
            #"{"endpoint":"https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV","keys":"#
                + #"{"p256dh":"\#(Example.receiverPublic)","auth":"\#(Example.secret)"}}"#
        )
    }

    @Test func rfc8291Section5ComesOutToTheByte() throws {
        let salt = try self.bytes(Example.salt)
        let encryption = WebPushEncryption(
            for: try self.exampleSubscription(),
            key: try P256.KeyAgreement.PrivateKey(rawRepresentation: self.bytes(Example.senderPrivate)),
            salt: salt
        )
        #expect(Base64.url.text(of: encryption.info) == Example.info)
        let material = try encryption.material()
        #expect(Base64.url.text(of: material.withUnsafeBytes { Array($0) }) == Example.material)
        let keys = EncryptedContent.Keys(material: material, salt: salt)
        #expect(Base64.url.text(of: keys.key.withUnsafeBytes { Array($0) }) == Example.key)
        #expect(Base64.url.text(of: keys.nonce) == Example.nonce)
        let plaintext = try self.bytes(Example.plaintext)
        let body = try encryption.seal(plaintext, paddedSize: plaintext.count)
        #expect(Base64.url.text(of: body) == Example.body)
        #expect(body.count == 144)
    }

    @Test func rfc8188Section31ComesOutToTheByte() throws {
        let material = SymmetricKey(data: try self.bytes("yqdlZ-tYemfogSmv7Ws5PQ"))
        let salt = try self.bytes("I1BsxtFttlv3u_Oo94xnmw")
        let keys = EncryptedContent.Keys(material: material, salt: salt)
        #expect(Base64.url.text(of: keys.key.withUnsafeBytes { Array($0) }) == "_wniytB-ofscZDh4tbSjHw")
        #expect(Base64.url.text(of: keys.nonce) == "Bcs8gkIRKLI8GeI8")
        let plaintext = Array("I am the walrus".utf8)
        let body = try EncryptedContent.seal(
            plaintext,
            paddedSize: plaintext.count,
            material: material,
            salt: salt,
            keyID: []
        )
        #expect(
            Base64.url.text(of: body) == "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg"
        )
    }

    @Test(arguments: [0, 1, 17, 126, 127])
    func everyMessageHasTheSameLength(count: Int) throws {
        let encryption = WebPushEncryption(for: try self.exampleSubscription())
        #expect(try encryption.seal([UInt8](repeating: 65, count: count)).count == 86 + 128 + 16)
    }

    @Test func aTooLongMessageIsRefused() throws {
        let encryption = WebPushEncryption(for: try self.exampleSubscription())
        #expect(throws: (any Error).self) { try encryption.seal([UInt8](repeating: 65, count: 128)) }
    }

    @Test func noKeyAndNoSaltIsUsedTwice() throws {
        let subscription = try self.exampleSubscription()
        let bodies = try (0..<50).map { _ in try WebPushEncryption(for: subscription).seal([1]) }
        #expect(Set(bodies.map { Array($0[..<16]) }).count == 50)
        #expect(Set(bodies.map { Array($0[21..<86]) }).count == 50)
    }
}
