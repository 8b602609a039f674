package import HTTPTypes
internal import PushAPI

extension HTTPField.Name {
    package static let myToken = Self(constant: MyToken.fieldName)
    static let requestID = Self(constant: "X-Request-Id")
    static let contentTypeOptions = Self(constant: "X-Content-Type-Options")

    private init(constant name: String) {
        guard let parsed = Self(name) else { preconditionFailure("\(name) is not a field name") }
        self = parsed
    }
}
