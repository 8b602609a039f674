internal import CCurl

extension Transfer {
    /// Sets the options that stay for the life of the handle.
    static func configure(_ easy: UnsafeMutableRawPointer, _ settings: HTTPClientSettings) {
        let protocols = settings.allowsPlainHTTP ? "http,https" : "https"
        ccurl_set_text(easy, CURLOPT_PROTOCOLS_STR, protocols)
        ccurl_set_text(easy, CURLOPT_REDIR_PROTOCOLS_STR, protocols)
        ccurl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
        Self.configure(easy, settings.proxy)
        ccurl_set_long(easy, CURLOPT_PATH_AS_IS, 1)

        ccurl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        // With this option, libcurl waits for a connection that may support many streams. It does
        // not open a connection for each call.
        ccurl_set_long(easy, CURLOPT_PIPEWAIT, 1)
        // Providers ask clients to keep connections open for hours, even idle ones.
        ccurl_set_long(easy, CURLOPT_MAXAGE_CONN, 3600)
        // TCP's own probes are used, because libcurl sends HTTP/2's PING only in
        // curl_easy_upkeep(). That function does not reach the connections of a multi handle. With
        // the socket's TCP_USER_TIMEOUT, a peer that vanished is noticed within a minute.
        ccurl_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1)
        ccurl_set_long(easy, CURLOPT_TCP_KEEPIDLE, 30)
        ccurl_set_long(easy, CURLOPT_TCP_KEEPINTVL, 10)

        let connectTimeout = settings.connectTimeout.components
        let milliseconds = connectTimeout.seconds * 1000 + connectTimeout.attoseconds / 1_000_000_000_000_000
        ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(milliseconds))
        ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        // Without this option, giving up a call during its name lookup would block the loop until
        // the lookup ends.
        ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
        ccurl_set_long(easy, CURLOPT_MAXFILESIZE, settings.maximumResponseBody)

        ccurl_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let path = settings.unixSocket { ccurl_set_text(easy, CURLOPT_UNIX_SOCKET_PATH, path) }
        if !settings.verifiesServers {
            ccurl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 0)
            ccurl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 0)
        }
        if let caFile = settings.caFile {
            ccurl_set_text(easy, CURLOPT_CAINFO, caFile)
            // Debian's libcurl also trusts the system's directory of certificates unless this
            // option is unset.
            ccurl_set_text(easy, CURLOPT_CAPATH, nil)
        }
    }

    /// Environment variables such as https_proxy never choose a proxy.
    private static func configure(_ easy: UnsafeMutableRawPointer, _ proxy: OutboundProxy?) {
        ccurl_set_text(easy, CURLOPT_PROXY, proxy?.url.text ?? "")
        ccurl_set_text(easy, CURLOPT_NOPROXY, proxy == nil ? "*" : "")
        guard let proxy else { return }
        ccurl_set_long(easy, CURLOPT_HTTPPROXYTUNNEL, 1)
        ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        ccurl_set_long(easy, CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        guard let credentials = proxy.credentials else { return }
        ccurl_set_long(easy, CURLOPT_PROXYAUTH, 1)  // CURLAUTH_BASIC, a macro that is not imported
        // libcurl decodes percent escapes in the name and in the password.
        ccurl_set_text(easy, CURLOPT_PROXYUSERNAME, credentials.name.replacing("%", with: "%25"))
        ccurl_set_text(easy, CURLOPT_PROXYPASSWORD, credentials.password.replacing("%", with: "%25"))
    }
}
