internal import CPostgreSQL

/// An error or a notice of the server, without its detail, which may quote a row.
struct ServerReport {
    let severity: String
    /// The SQLSTATE; `nil` if libpq itself reports the error, because the connection is lost.
    let code: String?
    let message: String

    init(_ result: OpaquePointer) {
        // Field `V` has the severity in English; `S` has it in the server's language.
        self.severity = Self.field("V", of: result) ?? ""
        self.code = Self.field("C", of: result)
        let primary = Self.field("M", of: result) ?? Self.firstLine(PQresultErrorMessage(result))
        let isData = self.code?.hasPrefix("22") ?? false
        // Messages with a SQLSTATE of class 22 (data exception) quote the invalid value.
        var message = isData ? Self.withoutValues(primary) : primary
        if self.code == "23505", let constraint = Self.field("n", of: result), !message.contains(constraint) {
            message += " (\(constraint))"
        }
        self.message = message
    }

    /// Whether the connection is of no use after this report.
    var endsConnection: Bool {
        guard let code else { return true }
        // 25006 means read-only: the server was the primary, and has become a replica. Class 08
        // means that a pooler has lost its connection to the server.
        return ["FATAL", "PANIC"].contains(self.severity) || code.hasPrefix("57P") || code.hasPrefix("08")
            || code == "25006"
    }

    var isWarning: Bool { self.severity == "WARNING" }

    /// Whether a prepared statement is missing, or its name is taken. So a pooler has given this
    /// client a session of another client.
    var isOfSharedSession: Bool { self.code == "26000" || self.code == "42P05" }

    var error: DatabaseError {
        if self.isOfSharedSession { return .unusable(reason: GivenSession.sharedReason) }
        return .refused(code: self.code ?? "08006", message: self.message)
    }

    /// The first line of a text from libpq; further lines only explain the first.
    static func firstLine(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        return String(String(cString: text).prefix { $0 != "\n" })
    }

    private static func field(_ code: Unicode.Scalar, of result: OpaquePointer) -> String? {
        PQresultErrorField(result, Int32(code.value)).map { String(cString: $0) }
    }

    private static func withoutValues(_ message: String) -> String {
        let kept = message.prefix { $0 != "\"" && $0 != ":" }
        return kept.count == message.count ? message : kept + "…"
    }
}
