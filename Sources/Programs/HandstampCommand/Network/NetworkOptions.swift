#if Command
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampSupport
import HandstampTransports

/// Options for how an account reaches its server, remembered with it.
struct NetworkOptions: ParsableArguments {
  @Option(help: "proxy of this account: http://HOST:PORT, socks5://HOST:PORT, none, or environment for HTTPS_PROXY")
  var proxy: String?
  @Option(help: "file, readable by its owner only, with NAME:PASSWORD for the proxy in its first line; - for stdin")
  var proxyCredentialsFile: String?
  @Option(help: "file in PEM with a client certificate and its chain; none forgets it") var clientCertificate: String?
  @Option(help: "file in PEM with the certificate's key (default: that of the certificate)") var clientKey: String?
  @Option(help: "file, readable by its owner only, with the key's passphrase in its first line")
  var clientKeyPassphraseFile: String?

  /// Whether the command line says anything about the network.
  var isGiven: Bool {
    [proxy, proxyCredentialsFile, clientCertificate, clientKey, clientKeyPassphraseFile].contains { $0 != nil }
  }

  /// Returns the network of the command line, completed with the account's stored one.
  ///
  /// - Parameter credentials: returns those of the stored proxy; called only if they are needed.
  func network(
    over known: NetworkRecord?, credentials: () async throws(CommandError) -> Secret?
  ) async throws(CommandError) -> (NetworkRecord?, Secret?) {
    if isGiven, !BuildPart.network.isHere { throw CommandError(.network) }
    var record = known ?? NetworkRecord()
    if let proxy { record.proxy = try parse(proxy) }
    var secret: Secret?
    if let proxyCredentialsFile {
      guard let proxy = record.proxy, proxy.hasPrefix("http") else {
        throw CommandError(
          .usage, "--proxy-credentials-file is for an HTTP proxy of this account",
          hint: "add --proxy http://HOST:PORT; for a proxy of the environment, put them into HTTPS_PROXY")
      }
      secret =
        proxyCredentialsFile == "-"
        ? try Terminal.secret("NAME:PASSWORD of the proxy")
        : try SecretFile.firstLine(of: proxyCredentialsFile, for: "--proxy-credentials-file", code: .failure)
      guard secret?.withExposedBytes({ $0.contains(UInt8(ascii: ":")) }) == true else {
        throw CommandError(
          .failure, "--proxy-credentials-file: no colon in its first line", hint: "write NAME:PASSWORD into it")
      }
    } else if known?.hasCredentials == true, record.proxy == known?.proxy {
      secret = try await credentials()
    }
    record.hasCredentials = secret == nil ? nil : true
    try setCertificate(of: &record)
    return record.isEmpty ? (nil, nil) : (record, secret)
  }

  private func parse(_ text: String) throws(CommandError) -> String? {
    if text == "environment" { return nil }
    if text == NetworkRecord.direct { return text }
    let server: ProxyServer
    do throws(NetworkSettingsError) { server = try ProxyServer(parsing: text) } catch {
      throw CommandError(NetworkSettingsError(error.reason, in: "--proxy"), as: .usage)
    }
    guard server.credentials == nil else {
      throw CommandError(
        .usage, "other users of this machine can read a password on the command line",
        hint: "leave it out, and add --proxy-credentials-file FILE, with NAME:PASSWORD in its first line")
    }
    return server.description
  }

  private func setCertificate(of record: inout NetworkRecord) throws(CommandError) {
    if let clientCertificate {
      guard clientCertificate != "none" else {
        (record.certificate, record.key, record.passphraseFile) = (nil, nil, nil)
        return
      }
      record.certificate = absolute(clientCertificate)
      record.key = record.certificate
      record.passphraseFile = nil
    }
    guard clientKey == nil && clientKeyPassphraseFile == nil || record.certificate != nil else {
      throw CommandError(.usage, "a key without a certificate", hint: "add --client-certificate FILE")
    }
    if let clientKey { record.key = absolute(clientKey) }
    if let clientKeyPassphraseFile { record.passphraseFile = absolute(clientKeyPassphraseFile) }
  }

  private func absolute(_ path: String) -> String { URL(fileURLWithPath: path).path }
}
#endif
