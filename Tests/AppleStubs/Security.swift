// Declarations only: see README.md in this folder.
// swift-format-ignore-file
public import Foundation
public import FoundationNetworking

public typealias CFString = String
public typealias CFTypeRef = AnyObject
public typealias CFDictionary = [String: Any]
public typealias CFData = Data
public typealias CFArray = [AnyObject]
public typealias CFError = NSError
public typealias OSStatus = Int32

public final class SecTrust: Hashable {
    public static func == (one: SecTrust, other: SecTrust) -> Bool { one === other }
    public func hash(into hasher: inout Hasher) {}
}

public final class SecCertificate {}
public final class SecAccessControl {}
public struct SecAccessControlCreateFlags: Sendable {
    public static let privateKeyUsage = SecAccessControlCreateFlags()
}
public final class SecKey {}

public let errSecSuccess: OSStatus = 0
public let errSecItemNotFound: OSStatus = -25300
public let kSecAttrAccessGroup: CFString = "agrp"
public let kSecAttrAccessible: CFString = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
public let kSecAttrAccount: CFString = "acct"
public let kSecAttrKeyType: CFString = "type"
public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"
public let kSecAttrKeyTypeRSA: CFString = "42"
public let kSecAttrService: CFString = "svce"
public let kSecClass: CFString = "class"
public let kSecClassGenericPassword: CFString = "genp"
public let kSecReturnData: CFString = "r_Data"
public let kSecValueData: CFString = "v_Data"

public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { false }
public func CFErrorGetCode(_ error: CFError) -> Int { 0 }
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { nil }
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? { nil }
public func SecKeyCopyExternalRepresentation(_ key: SecKey, _ error: UnsafeMutablePointer<AnyObject?>?) -> CFData? {
    nil
}
public func SecKeyCopyAttributes(_ key: SecKey) -> NSDictionary? { nil }
public func SecAccessControlCreateWithFlags(
    _ allocator: AnyObject?,
    _ protection: CFString,
    _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<AnyObject?>?
) -> SecAccessControl? { nil }
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { 0 }

extension URLProtectionSpace {
    public var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    public convenience init(trust: SecTrust) { self.init(user: "", password: "", persistence: .none) }
}
