package import PushCore

/// A user to add, who belongs to the apps `apps`.
package struct NewUser: Sendable {
    package let name: Username
    package let role: Role
    package let apps: Set<AppName>
    package let requiresEncryption: Bool
    package let password: PasswordHash

    package init(
        _ name: Username,
        role: Role,
        apps: Set<AppName> = [.usual],
        requiresEncryption: Bool = false,
        password: PasswordHash
    ) {
        (self.name, self.role, self.apps) = (name, role, apps)
        (self.requiresEncryption, self.password) = (requiresEncryption, password)
    }
}
