import Bytes
import Foundation
import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct VAPIDVerifierTests {
    /// The claims of a token, and the simulator's status. Each refused token is valid except for
    /// one value.
    @Test(arguments: [
        (#"{"aud":"AUD","exp":43200,"sub":"mailto:a@b.example"}"#, 200),
        (#"{"aud":"AUD","exp":86400,"sub":"https://b.example"}"#, 200),
        (#"{"aud":"AUD/","exp":43200,"sub":"mailto:a@b.example"}"#, 403),
        (#"{"aud":"https://other.example","exp":43200,"sub":"mailto:a@b.example"}"#, 403),
        (#"{"aud":"AUD","exp":86401,"sub":"mailto:a@b.example"}"#, 403),
        (#"{"aud":"AUD","exp":0,"sub":"mailto:a@b.example"}"#, 403),
        (#"{"aud":"AUD","exp":"43200","sub":"mailto:a@b.example"}"#, 403),
        (#"{"aud":"AUD","exp":43200,"sub":"a@b.example"}"#, 403), (#"{"aud":"AUD","exp":43200}"#, 403),
    ])
    func eachClaimIsChecked(claims: String, status: Int) throws {
        let (key, now) = (try SigningKey.p256(), Date(timeIntervalSince1970: 0))
        let verifier = VAPIDVerifier(audience: "https://localhost:1")
        let header = Base64.url.text(of: #"{"typ":"JWT","alg":"ES256"}"#.utf8)
        let text = header + "." + Base64.url.text(of: claims.replacing("AUD", with: "https://localhost:1").utf8)
        let token = text + "." + Base64.url.text(of: try key.signES256(Array(text.utf8)))
        let authorization = "vapid t=\(token), k=\(Base64.url.text(of: try key.publicPoint()))"
        do throws(WebPushRefusal) {
            _ = try verifier.signer(of: authorization, now: now)
            #expect(status == 200)
        } catch {
            #expect(error.status == status)
        }
    }
}
