import CivilTime
import Foundation
import HTTPTypes
import SocketHTTP
import Testing

@testable import PushServer

/// The order of preconditions in RFC 9110 section 13.2.2, with a row for each case.
@Suite(.timeLimit(.minutes(5))) struct PreconditionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        enum Expected: Sendable { case proceed, unchanged, failed }

        let fields: [String]
        let get: Expected
        /// The expected result of a DELETE. For a HEAD, the same result is expected as for a GET.
        let delete: Expected

        init(_ fields: String..., get: Expected, delete: Expected) {
            self.fields = fields
            self.get = get
            self.delete = delete
        }

        var testDescription: String { self.fields.joined(separator: " | ") }
    }

    /// The representation has the entity tag `"a"` and last changed at second 1000. The current
    /// time is second 2000.
    static let rows: [Row] = [
        // If-Match compares entity tags strongly.
        Row(#"If-Match: "a""#, get: .proceed, delete: .proceed),
        Row("If-Match: *", get: .proceed, delete: .proceed),
        Row(#"If-Match: "b""#, get: .failed, delete: .failed),
        Row(#"If-Match: W/"a""#, get: .failed, delete: .failed),
        Row(#"If-Match: W/"a", "a""#, get: .proceed, delete: .proceed),
        Row(#"If-Match: "b", "a""#, get: .proceed, delete: .proceed),
        Row(#"If-Match: "b""#, #"If-Match: "a""#, get: .proceed, delete: .proceed),
        Row(#"if-match: "a""#, get: .proceed, delete: .proceed),
        Row("If-Match: a", get: .failed, delete: .failed),
        Row(#"If-Match: "A""#, get: .failed, delete: .failed),
        Row("If-Match:", get: .failed, delete: .failed),
        Row(#"If-Match: "a"#, get: .failed, delete: .failed),
        Row(#"If-Match: "aa", "a,a", "a""#, get: .proceed, delete: .proceed),
        Row(#"If-Match: "b", "c""#, get: .failed, delete: .failed),
        // If-Unmodified-Since counts only without If-Match.
        Row("If-Unmodified-Since: @1001", get: .proceed, delete: .proceed),
        Row("If-Unmodified-Since: @2000", get: .proceed, delete: .proceed),
        Row("If-Unmodified-Since: @9000", get: .proceed, delete: .proceed),
        Row("If-Unmodified-Since: @1000", get: .failed, delete: .failed),
        Row("If-Unmodified-Since: @999", get: .failed, delete: .failed),
        Row("If-Unmodified-Since: @0", get: .failed, delete: .failed),
        Row("If-Unmodified-Since: yesterday", get: .proceed, delete: .proceed),
        Row("If-Unmodified-Since:", get: .proceed, delete: .proceed),
        Row("If-Unmodified-Since: @0", "If-Unmodified-Since: @0", get: .proceed, delete: .proceed),
        Row(#"If-Match: "a""#, "If-Unmodified-Since: @0", get: .proceed, delete: .proceed),
        Row(#"If-Match: "b""#, "If-Unmodified-Since: @2000", get: .failed, delete: .failed),
        Row("If-Match: *", "If-Unmodified-Since: @0", get: .proceed, delete: .proceed),
        // If-None-Match compares entity tags weakly.
        Row(#"If-None-Match: "a""#, get: .unchanged, delete: .failed),
        Row(#"If-None-Match: W/"a""#, get: .unchanged, delete: .failed),
        Row("If-None-Match: *", get: .unchanged, delete: .failed),
        Row(#"If-None-Match: "b""#, get: .proceed, delete: .proceed),
        Row(#"If-None-Match: W/"b""#, get: .proceed, delete: .proceed),
        Row(#"If-None-Match: "b", W/"a""#, get: .unchanged, delete: .failed),
        Row(#"If-None-Match: "b""#, #"If-None-Match: "a""#, get: .unchanged, delete: .failed),
        Row("If-None-Match:", get: .proceed, delete: .proceed),
        Row("If-None-Match: a", get: .proceed, delete: .proceed),
        Row(#"If-None-Match: w/"a""#, get: .proceed, delete: .proceed),
        // If-Modified-Since counts only for reads, and only without If-None-Match.
        Row("If-Modified-Since: @1001", get: .unchanged, delete: .proceed),
        Row("If-Modified-Since: @2000", get: .unchanged, delete: .proceed),
        Row("If-Modified-Since: @9000", get: .unchanged, delete: .proceed),
        Row("If-Modified-Since: @1000", get: .proceed, delete: .proceed),
        Row("If-Modified-Since: @0", get: .proceed, delete: .proceed),
        Row("If-Modified-Since: yesterday", get: .proceed, delete: .proceed),
        Row("If-Modified-Since: @2000", "If-Modified-Since: @2000", get: .proceed, delete: .proceed),
        Row(#"If-None-Match: "a""#, "If-Modified-Since: @0", get: .unchanged, delete: .failed),
        Row(#"If-None-Match: "b""#, "If-Modified-Since: @2000", get: .proceed, delete: .proceed),
        Row("If-None-Match:", "If-Modified-Since: @2000", get: .proceed, delete: .proceed),
        // Combinations. `If-Match` or `If-Unmodified-Since` decides whether the request may run.
        // The other fields decide whether it is necessary.
        Row(#"If-Match: "a""#, #"If-None-Match: "a""#, get: .unchanged, delete: .failed),
        Row(#"If-Match: "b""#, #"If-None-Match: "a""#, get: .failed, delete: .failed),
        Row(#"If-Match: "a""#, #"If-None-Match: "b""#, get: .proceed, delete: .proceed),
        Row(#"If-Match: "b""#, "If-Modified-Since: @2000", get: .failed, delete: .failed),
        Row(#"If-Match: "a""#, "If-Modified-Since: @2000", get: .unchanged, delete: .proceed),
        Row("If-Unmodified-Since: @2000", #"If-None-Match: "a""#, get: .unchanged, delete: .failed),
        Row("If-Unmodified-Since: @0", #"If-None-Match: "a""#, get: .failed, delete: .failed),
        Row("If-Unmodified-Since: @2000", #"If-None-Match: "b""#, get: .proceed, delete: .proceed),
        Row("If-Unmodified-Since: @2000", "If-Modified-Since: @2000", get: .unchanged, delete: .proceed),
        Row("If-Unmodified-Since: @0", "If-Modified-Since: @2000", get: .failed, delete: .failed),
        Row("If-Unmodified-Since: yesterday", "If-Modified-Since: @2000", get: .unchanged, delete: .proceed),
        Row("If-Match: *", "If-None-Match: *", get: .unchanged, delete: .failed),
        Row(
            #"If-Match: "a""#,
            "If-Unmodified-Since: @0",
            #"If-None-Match: "b""#,
            "If-Modified-Since: @2000",
            get: .proceed,
            delete: .proceed
        ),
        Row(
            #"If-Match: "a""#,
            "If-Unmodified-Since: @0",
            #"If-None-Match: "a""#,
            "If-Modified-Since: @0",
            get: .unchanged,
            delete: .failed
        ),
        // Fields that are no preconditions for the server.
        Row("If-Range: \"b\"", get: .proceed, delete: .proceed),
        Row("If-Else: \"a\"", get: .proceed, delete: .proceed),
        Row("X-If-Match: \"b\"", get: .proceed, delete: .proceed),
    ]

    private let tag = EntityTag(description: "\"a\"")

    private func head(_ method: HTTPRequest.Method, _ fields: [String]) throws -> RequestHead {
        let lines =
            ["\(method.rawValue) / HTTP/1.1", "Host: x"]
            + fields.map { field in
                guard let at = field.firstIndex(of: "@"), let second = Int(field[at...].dropFirst()) else {
                    return field
                }
                return "\(field[..<at])\(HTTPDate(seconds: second))"
            }
        return try #require(RequestHead(lines.joined(separator: "\r\n") + "\r\n\r\n"))
    }

    private func outcome(
        _ method: HTTPRequest.Method,
        _ fields: [String],
        _ validators: Validators?
    ) throws -> Preconditions.Outcome {
        Preconditions(try self.head(method, fields)).outcome(
            for: validators,
            now: Date(timeIntervalSince1970: 2000.5)
        )
    }

    @Test func theTableHasAtLeastSixtyRows() {
        #expect(Self.rows.count >= 60)
    }

    @Test(arguments: rows) func eachRowFollowsTheRFC(row: Row) throws {
        let changed = Date(timeIntervalSince1970: 1000.25)
        let validators = Validators(tags: [self.tag], lastModified: HTTPDate(lastModified: changed))
        let methods: [(HTTPRequest.Method, Row.Expected)] = [
            (.get, row.get), (.head, row.get), (.delete, row.delete), (.patch, row.delete),
        ]
        for (method, expected) in methods {
            let outcome = try self.outcome(method, row.fields, validators)
            switch expected {
            case .proceed: #expect(outcome == .proceed, "\(method)")
            case .unchanged: #expect(outcome == .unchanged(self.tag), "\(method)")
            case .failed: #expect(outcome == .failed, "\(method)")
            }
        }
    }

    @Test func datesAreIgnoredWithoutALastModified() throws {
        let validators = Validators(tags: [self.tag], lastModified: nil)
        #expect(try self.outcome(.get, ["If-Modified-Since: @9000"], validators) == .proceed)
        #expect(try self.outcome(.get, ["If-Unmodified-Since: @0"], validators) == .proceed)
    }

    @Test func aChangeInTheCurrentSecondIsNeverNotModified() throws {
        let changed = Date(timeIntervalSince1970: 2000.25)
        let validators = Validators(tags: [self.tag], lastModified: HTTPDate(lastModified: changed))
        for second in [2000, 2001, 9000] {
            #expect(try self.outcome(.get, ["If-Modified-Since: @\(second)"], validators) == .proceed)
        }
    }

    @Test func anEntityTagIsComparedByteForByte() {
        // Swift's `String` treats the KELVIN SIGN as equal to K; entity tags must not.
        #expect(EntityTag(description: "\"K\"").isNamed(by: "\"K\""))
        #expect(!EntityTag(description: "\"K\"").isNamed(by: "\"\u{212A}\""))
    }

    @Test func notModifiedNamesTheEntityTagThatTheClientHas() throws {
        let other = EntityTag(description: "\"a-gzip\"")
        let validators = Validators(tags: [other, self.tag], lastModified: nil)
        #expect(try self.outcome(.get, [#"If-None-Match: "a""#], validators) == .unchanged(self.tag))
        #expect(try self.outcome(.get, [#"If-None-Match: "a-gzip""#], validators) == .unchanged(other))
        #expect(try self.outcome(.get, ["If-None-Match: *"], validators) == .unchanged(other))
    }

    @Test func ifMatchFailsWithoutARepresentation() throws {
        #expect(try self.outcome(.delete, ["If-Match: *"], nil) == .failed)
        #expect(try self.outcome(.delete, ["If-None-Match: *"], nil) == .proceed)
        #expect(try self.outcome(.delete, ["If-Unmodified-Since: @0"], nil) == .proceed)
    }

    @Test(arguments: [
        ("If-Match", true), ("IF-X", true), ("if-none-match", true), ("If-", false), ("Iff-Match", false),
        ("Via", false),
        ("X-If-Match", false), ("I", false),
    ])
    func conditionalHeadsAreRecognised(name: String, isOne: Bool) throws {
        #expect(try self.head(.get, ["\(name): x"]).isConditional == isOne)
    }

    // MARK: Codings

    @Test(arguments: [
        ("gzip", true), ("GZIP", true), ("x-gzip", true), ("gzip, deflate, br", true), ("deflate, gzip;q=0.5", true),
        ("*", true), ("identity, gzip", true), ("gzip;q=1.000", true), ("gzip; q=0.001", true),
        ("br;q=1.0,gzip;q=0.8,*;q=0.1", true),
        ("gzip ;\tq=1", true), ("gzip;Q=1", true), ("identity;q=0, *", true), ("identity;q=0.5, gzip;q=0.5", true),
        ("", false), (" ", false), ("identity", false), ("br", false), ("gzip;q=0", false), ("gzip;q=0.000", false),
        ("*;q=0", false), ("gzip;q=0, *", false), ("identity;q=1, gzip;q=0.5", false), ("gzipp", false),
        ("gz ip", false),
        ("gzip;q=2", false), ("gzip;q=1.001", false), ("gzip;q=0.0001", false), ("gzip;q=-1", false),
        ("gzip;q=", false),
        ("gzip;q=x", false), ("gzip;level=9", false), ("gzip;q=1;x", false), (";q=1", false), ("gzip;q=0, gzip", false),
    ])
    func gzipIsSentOnlyToClientsThatPreferIt(field: String, prefers: Bool) {
        #expect(AcceptedCodings(field).prefersGzip == prefers)
    }

    @Test func aMissingAcceptEncodingGetsNoCoding() {
        #expect(!AcceptedCodings(nil).prefersGzip)
    }
}
