import Foundation
import PushAPI
import Synchronization
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Clients that follow published documents other than the tutorial of `TutorialClientTests`. One
/// checks `MyToken`, one answers challenges, and one shows its stored data while the server cannot
/// be reached.
@Suite(.timeLimit(.minutes(5))) struct PublishedClientTests {
    @Test func answersOfEachStatusEchoTheCalculatedToken() async throws {
        try await Stack.run { stack in
            let paths = ["/api/register": 200, "/api/notifications/1": 404, "/healthz": 200, "/nothing": 404]
            for (path, status) in paths {
                let sent = Int32.random(in: 0..<1_000_000)
                var request = try stack.request("GET", path)
                request.setValue(String(sent), forHTTPHeaderField: "mytoken")
                let answer = try await stack.send(request)
                #expect(answer.status == status)
                #expect(answer.response.value(forHTTPHeaderField: "MyToken") == String(sent * 17 + 3))
            }
        }
    }

    @Test func aChallengeIsAnsweredOnce() async throws {
        try await Stack.run { stack in
            let delegate = Delegate(password: Stack.password)
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            var request = try stack.request("GET", "/api/register")
            request.setValue(nil, forHTTPHeaderField: "Authorization")
            let answer = try await stack.send(request, over: session)
            #expect(answer.status == 200)
            #expect(delegate.challenges == [.init(method: NSURLAuthenticationMethodHTTPBasic, failures: 0)])
        }
    }

    @Test func aWrongPasswordFailsAtTheSecondChallenge() async throws {
        try await Stack.run { stack in
            let delegate = Delegate(password: "wrong horse battery")
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            var request = try stack.request("GET", "/api/register")
            request.setValue(nil, forHTTPHeaderField: "Authorization")
            await #expect(throws: URLError.self) { try await stack.send(request, over: session) }
            #expect(delegate.challenges.map(\.failures) == [0, 1])
        }
    }

    @Test func aFetchedNotificationIsShownAsOldWithoutTheServer() async throws {
        let cache = AnswerCache()
        let request = try await Stack.run { stack in
            let id = try #require(
                try await stack.send(stack.request("POST", "/api/notifications", body: #""kept""#)).member("Id")
            )
            let request = try stack.request("GET", "/api/notifications/\(id)")
            let fresh = try await cache.load(request)
            #expect(fresh.payload == "kept")
            #expect(fresh.keptSince == nil)
            // The published client stores an answer only if the server permits it.
            let answer = try await stack.send(request).response
            #expect(answer.value(forHTTPHeaderField: "Cache-Control") == "private, max-age=60")
            #expect(answer.value(forHTTPHeaderField: "Expires") != nil)
            return request
        }
        let old = try await cache.load(request)
        #expect(old.payload == "kept")
        #expect(old.keptSince != nil)
    }
}

/// Answers a challenge with the user's password, and gives up after a refusal.
private final class Delegate: NSObject, URLSessionTaskDelegate {
    struct Challenge: Hashable {
        let method: String
        let failures: Int
    }

    private let password: String
    private let seen = Mutex<[Challenge]>([])

    var challenges: [Challenge] { self.seen.withLock { $0 } }

    init(password: String) {
        self.password = password
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let method = challenge.protectionSpace.authenticationMethod
        let failures = challenge.previousFailureCount
        self.seen.withLock { $0.append(Challenge(method: method, failures: failures)) }
        if failures > 0 {
            completionHandler(.cancelAuthenticationChallenge, nil)
        } else {
            let credential = URLCredential(user: "alice", password: self.password, persistence: .none)
            completionHandler(.useCredential, credential)
        }
    }
}

/// Stores each answer with its time, and returns both when the server cannot be reached.
private final class AnswerCache: Sendable {
    private let kept = Mutex<[URL: (payload: String, date: Date)]>([:])

    func load(_ request: URLRequest) async throws -> (payload: String?, keptSince: Date?) {
        let url = try #require(request.url)
        do {
            let (data, _) = try await URLSession.shared.data(for: request)
            let payload = try #require(try JSONValue(reading: data)["Payload"]?.text)
            self.kept.withLock { $0[url] = (payload, Date()) }
            return (payload, nil)
        } catch is URLError {
            let kept = self.kept.withLock { $0[url] }
            return (kept?.payload, kept?.date)
        }
    }
}
