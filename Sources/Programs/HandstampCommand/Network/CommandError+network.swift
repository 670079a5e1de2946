#if Command
import HandstampCommandLine
import HandstampSupport
import HandstampTransports

extension CommandError {
  /// Describes settings of a network that cannot be used.
  init(_ error: NetworkSettingsError, as exit: ExitReason = .configuration) {
    self.init(exit, plain("\(error)"), hint: NetworkFailure.invalidSettings.hint, code: NetworkFailure.settingsCode)
  }
}

extension NetworkFailure {
  /// The stable code of failures that another setting prevents.
  static let settingsCode = "network_settings"

  /// The exit status: trying again later helps only with the proxy's own failures.
  var exit: ExitReason {
    switch self {
    case .proxyUnreachable, .proxyRefuses, .proxySilent, .proxyLost: .network
    case .proxyWantsCredentials, .proxyRefusesCredentials, .socksWantsCredentials, .credentialsUnreadable, .intercepted,
      .wantsCertificate, .certificateUntrusted, .certificateExpired, .certificateUnverified, .certificateOfAnotherHost,
      .authoritiesUnreadable, .certificateUnreadable, .certificateMismatch, .invalidSettings, .notInBuild:
      .configuration
    }
  }

  /// The check of `doctor` that fails with it.
  var check: String {
    switch self {
    case .proxyUnreachable, .proxyRefuses, .proxySilent, .proxyLost, .proxyWantsCredentials, .proxyRefusesCredentials,
      .socksWantsCredentials, .credentialsUnreadable:
      "proxy"
    case .intercepted, .wantsCertificate, .certificateUntrusted, .certificateExpired, .certificateUnverified,
      .certificateOfAnotherHost, .authoritiesUnreadable, .certificateUnreadable, .certificateMismatch:
      "certificate"
    case .invalidSettings, .notInBuild: "network"
    }
  }

  /// The advice for the terminal.
  var hint: String {
    switch self {
    case .proxyUnreachable, .proxySilent, .proxyLost:
      "run: handstamp status, which shows the proxy; then correct HTTPS_PROXY, or run: handstamp login --proxy URL"
    case .proxyRefuses:
      "ask the proxy's operator to allow CONNECT to this server, or except it with NO_PROXY"
    case .proxyWantsCredentials, .proxyRefusesCredentials:
      "use HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT, or: handstamp login --proxy URL --proxy-credentials-file FILE"
    case .socksWantsCredentials:
      "use a SOCKS proxy that wants none, or an HTTP proxy: HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT"
    case .credentialsUnreadable: "run: handstamp doctor"
    case .intercepted: "set SSL_CERT_FILE to a file in PEM with the authority of the network that inspects TLS"
    case .certificateUntrusted:
      "set SSL_CERT_FILE to a file in PEM with the server's authority; be sure that it is, or others can read along"
    case .certificateExpired:
      "check the clock of this machine; if it is right, ask the server's operator for a new certificate"
    case .certificateOfAnotherHost: "check the address: use the name that the server's operator gave you"
    case .certificateUnverified:
      "ask the server's operator whether it has expired; set SSL_CERT_FILE if its authority is not a public one"
    case .authoritiesUnreadable: "set SSL_CERT_FILE to a file in PEM that you can read, or run: unset SSL_CERT_FILE"
    case .wantsCertificate: "run: handstamp login --client-certificate FILE --client-key FILE"
    case .certificateUnreadable:
      "use files in PEM that you can read; a key with a passphrase needs --client-key-passphrase-file FILE"
    case .certificateMismatch:
      "use the key of that certificate: handstamp login --client-certificate FILE --client-key FILE"
    case .invalidSettings:
      "use http://HOST:PORT or socks5://HOST:PORT, or unset the variable; see: handstamp login --help"
    case .notInBuild: BuildPart.hint(building: CommandProgram.name)
    }
  }
}
#endif
