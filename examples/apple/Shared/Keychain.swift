import Foundation
import Security

/// Secrets in the keychain, which app and extension share: give both targets the same keychain
/// group.
struct Keychain: Secrets {
    struct Failure: Error {
        let status: OSStatus
    }

    /// The keychain group with the team's prefix, such as `ABCDE12345.org.example.messages`.
    let group: String

    func read(_ name: String) throws -> Data? {
        var query = self.query(name)
        query[kSecReturnData as String] = true
        var found: CFTypeRef?
        switch SecItemCopyMatching(query as CFDictionary, &found) {
        case errSecSuccess: return found as? Data
        case errSecItemNotFound: return nil
        case let status: throw Failure(status: status)
        }
    }

    func write(_ secret: Data?, as name: String) throws {
        var item = self.query(name)
        let removed = SecItemDelete(item as CFDictionary)
        guard [errSecSuccess, errSecItemNotFound].contains(removed) else { throw Failure(status: removed) }
        guard let secret else { return }
        item[kSecValueData as String] = secret
        // A push may arrive while the phone is locked, but another device must not be able to read
        // it.
        item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        let added = SecItemAdd(item as CFDictionary, nil)
        guard added == errSecSuccess else { throw Failure(status: added) }
    }

    private func query(_ name: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "sealpost",
            kSecAttrAccount as String: name,
            kSecAttrAccessGroup as String: self.group,
        ]
    }
}
