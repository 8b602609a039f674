package import HTTPTypes
internal import PushAPI

extension HTTPField.Name {
    package static let myToken = Self(constant: MyToken.fieldName)
    static let account = Self(constant: "Sealpost-Account")
    static let requestID = Self(constant: "X-Request-Id")
    static let traceParent = Self(constant: "traceparent")
    static let contentTypeOptions = Self(constant: "X-Content-Type-Options")
    static let accelBuffering = Self(constant: "X-Accel-Buffering")
    static let rateLimit = Self(constant: "RateLimit")
    static let rateLimitPolicy = Self(constant: "RateLimit-Policy")
    static let idempotencyKey = Self(constant: "Idempotency-Key")
    static let lastEventID = Self(constant: "Last-Event-ID")
    static let acceptSignature = Self(constant: "Accept-Signature")
    static let contentDigest = Self(constant: "Content-Digest")
    static let signature = Self(constant: "Signature")
    static let signatureInput = Self(constant: "Signature-Input")
    static let prefer = Self(constant: "Prefer")
    static let preferenceApplied = Self(constant: "Preference-Applied")
    static let secFetchSite = Self(constant: "Sec-Fetch-Site")
    static let secFetchDest = Self(constant: "Sec-Fetch-Dest")
    static let secFetchMode = Self(constant: "Sec-Fetch-Mode")
    static let forwarded = Self(constant: "Forwarded")
    static let xForwardedFor = Self(constant: "X-Forwarded-For")
    static let xForwardedHost = Self(constant: "X-Forwarded-Host")
    static let xForwardedProto = Self(constant: "X-Forwarded-Proto")
    static let xRealIP = Self(constant: "X-Real-IP")
    static let pageToken = Self(constant: "Page-Token")
    static let crossOriginOpenerPolicy = Self(constant: "Cross-Origin-Opener-Policy")
    static let referrerPolicy = Self(constant: "Referrer-Policy")

    private init(constant name: String) {
        guard let parsed = Self(name) else { preconditionFailure("\(name) is not a field name") }
        self = parsed
    }
}
