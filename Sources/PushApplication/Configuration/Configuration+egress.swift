import CurlHTTP
import Foundation
import PushCore
import PushSenders

extension Configuration.Proxy {
    /// The proxy; `nil` if no URL is configured. Throws `ConfigurationError` for a URL that cannot
    /// be that of a proxy.
    init?(_ section: ConfigurationSection) throws {
        let credentialsFile = try section.string("credentialsFile")
        let includesDeviceHosts = try section.bool("deviceHosts") ?? false
        let url = try section.string("url")
        try section.finish()
        guard let url else {
            guard credentialsFile == nil else {
                throw section.error("credentialsFile", nil, "has no meaning without proxy.url")
            }
            return nil
        }
        guard OutboundURL(url).flatMap({ OutboundProxy($0) }) != nil else {
            throw section.error("url", nil, "must be http:// or https://, a host and a port")
        }
        self.init(url: url, credentialsFile: credentialsFile, includesDeviceHosts: includesDeviceHosts)
    }
}

extension Configuration {
    /// The proxy through which a sender makes its calls, if there is one. Throws
    /// `ConfigurationError` if the proxy's credentials cannot be used.
    func egress(of sender: Platform) throws -> Egress {
        try self.directSenders.contains(sender) ? Egress() : self.egress
    }

    /// The proxy of all calls that are not configured as direct, if there is one. Throws
    /// `ConfigurationError` if the proxy's credentials cannot be used.
    var egress: Egress {
        get throws {
            guard let proxy else { return Egress() }
            let key = "proxy.credentialsFile"
            let credentials = try proxy.credentialsFile.map {
                try SecretFile.text(of: $0, key: key).trimmingCharacters(in: .whitespacesAndNewlines)
            }
            guard let url = OutboundURL(proxy.url), let proxy = OutboundProxy(url, credentials: credentials) else {
                let file = proxy.credentialsFile ?? ""
                throw ConfigurationError("\(key): \(file) must have a name, a colon and a password on its only line")
            }
            return Egress(proxy: proxy, includesDeviceHosts: self.proxy?.includesDeviceHosts == true)
        }
    }
}
