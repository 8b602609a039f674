import Foundation
import HTTPTypes
import PushAPI
import SocketHTTP
import Testing

@testable import PushServer

extension Response {
    /// The body as text.
    var text: String { String(decoding: self.body, as: UTF8.self) }

    /// The body as JSON.
    var json: JSONValue {
        get throws { try JSONValue(reading: self.body) }
    }

    /// The body as a problem; throws if the answer is not an error.
    var problem: Problem {
        get throws {
            #expect(self.fields[.contentType] == Problem.contentType)
            return try JSONDecoder().decode(Problem.self, from: Data(self.body))
        }
    }

    /// The field names as they were sent. `HTTPField.Name` ignores upper and lower case.
    var rawNames: [String] { self.fields.lines.map(\.name.rawName) }

    /// Checks that the response is a problem with this code, and that its detail contains `word`.
    func expectProblem(
        _ code: ProblemCode,
        _ word: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try #require(self.status.code == code.status, "\(self.text)", sourceLocation: sourceLocation)
        let problem = try self.problem
        #expect(problem.code == code, sourceLocation: sourceLocation)
        guard !word.isEmpty else { return }
        let detail = try #require(problem.detail, "no detail", sourceLocation: sourceLocation)
        #expect(detail.contains(word), "\(detail)", sourceLocation: sourceLocation)
    }

    /// Checks the fields that every answer must have, whatever its status.
    func expectEnvelope(sourceLocation: SourceLocation = #_sourceLocation) {
        let lines = self.fields.lines
        func values(_ name: HTTPField.Name) -> [String] { lines.filter { $0.name == name }.map(\.value) }
        for name in [HTTPField.Name.cacheControl, .requestID] {
            #expect(values(name).count == 1, "\(name)", sourceLocation: sourceLocation)
        }
        #expect(values(.myToken).count <= 1, sourceLocation: sourceLocation)
        // A response that a device may store belongs to one user, so it varies by `Authorization`.
        // A list may also vary by its compression.
        let isKept = values(.cacheControl).first?.hasPrefix("private") == true
        // If pages of other origins are allowed, all answers vary by `Origin`. Answers to strict
        // requests vary by `Prefer`.
        let vary = values(.vary).filter { !["Origin", "Prefer"].contains($0) }
        let isOneUsers = vary.first?.hasPrefix("Authorization") == true
        #expect(isOneUsers && vary.count == 1 || !isKept && vary.isEmpty, sourceLocation: sourceLocation)
        #expect(values(.contentTypeOptions) == ["nosniff"], sourceLocation: sourceLocation)
        #expect(values(.crossOriginResourcePolicy) == ["same-origin"], sourceLocation: sourceLocation)
        #expect(values(.referrerPolicy) == ["no-referrer"], sourceLocation: sourceLocation)
        let hasContent = !self.body.isEmpty || self.streamingBody != nil
        #expect(values(.contentType).isEmpty != hasContent, sourceLocation: sourceLocation)
        if self.status.code >= 400 { self.expectErrorForm(sourceLocation: sourceLocation) }
    }

    /// Errors follow RFC 9457 and are never cached.
    private func expectErrorForm(sourceLocation: SourceLocation) {
        #expect(self.fields[.cacheControl] == "no-store", sourceLocation: sourceLocation)
        #expect(self.fields[.eTag] == nil, sourceLocation: sourceLocation)
        do {
            let problem = try self.problem
            #expect(problem.status == self.status.code, sourceLocation: sourceLocation)
            #expect(problem.instance == self.fields[.requestID], sourceLocation: sourceLocation)
            let code = try #require(problem.code, "\(problem.type)", sourceLocation: sourceLocation)
            #expect(problem.title == code.title, sourceLocation: sourceLocation)
            #expect(code.status == self.status.code, sourceLocation: sourceLocation)
        } catch {
            Issue.record(error, "\(self.text)", sourceLocation: sourceLocation)
        }
    }
}
