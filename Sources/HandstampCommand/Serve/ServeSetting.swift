#if Command
import ArgumentParser
import Foundation
import HandstampPostgres
import HandstampRegistry

/// A setting of `handstamp serve`. It has one name everywhere: `tls-key` is the flag `--tls-key`, the variable
/// `HANDSTAMP_SERVE_TLS_KEY`, and the member `tls-key` of the configuration file.
enum ServeSetting: String, CaseIterable, Sendable {
  case data, database
  case databaseConnections = "database-connections"
  case host, port, issuer
  case tlsCertificate = "tls-certificate"
  case tlsKey = "tls-key"
  case allowCleartext = "allow-cleartext"
  case hstsSubdomains = "hsts-subdomains"
  case trustedProxies = "trusted-proxies"
  case proxyHeader = "proxy-header"
  case accessTokenLife = "access-token-life"
  case idleLimit = "idle-limit"
  case absoluteLimit = "absolute-limit"
  case browserIdleLimit = "browser-idle-limit"
  case guestIdleLimit = "guest-idle-limit"
  case browserAbsoluteLimit = "browser-absolute-limit"
  case maxSessions = "max-sessions"
  case reauthenticateAfter = "reauthenticate-after"
  case retention
  case signUp = "sign-up"
  case minimumPassword = "minimum-password"
  case breachedPasswords = "breached-passwords"
  case rateLimits = "rate-limits"
  case mailFolder = "mail-folder"
  case sendmail, smtp
  case smtpUser = "smtp-user"
  case smtpPassword = "smtp-password"
  case smtpPasswordFile = "smtp-password-file"
  case caCertificates = "ca-certificates"
  case smtpCleartext = "smtp-cleartext"
  case mailFrom = "mail-from"
  case mailLink = "mail-link"
  case notices
  case devicesLink = "devices-link"
  case webOrigins = "web-origins"
  case passkeyDomain = "passkey-domain"
  case siteName = "site-name"
  case siteLogo = "site-logo"
  case accent, pages
  case clients
  case appConfig = "app-config"
  case appleClientID = "apple-client-id"
  case appleIssuer = "apple-issuer"
  case appleKeysURL = "apple-keys-url"
  case keys
  case keysFile = "keys-file"
  case adminToken = "admin-token"
  case adminTokenFile = "admin-token-file"
  case auditRetention = "audit-retention"
  case addressRetention = "address-retention"
  case auditToLog = "audit-to-log"
  case metricsAddress = "metrics-address"
  case shutdownDelay = "shutdown-delay"
  case logLevel = "log-level"

  /// How a value is written, in a file and elsewhere.
  enum Shape: Sendable {
    case text, number, duration, yesOrNo
    /// Separated by commas; in a file also a list.
    case list
    /// A secret: only a variable, or a file of its own, whose path is another setting.
    case secret
  }

  struct Facts: Sendable {
    var about: String
    /// The default, in words; empty if the setting is off without a value.
    var fallback: String
    /// Valid values.
    var hint: String
    var shape = Shape.text
    /// Whether a running server takes a new value over when it is told to reload.
    var isReloaded = false
    /// For tests alone.
    var isHidden = false
  }

  static let prefix = "HANDSTAMP_SERVE_"

  var flag: String { "--" + rawValue }
  var variable: String {
    ServeSetting.prefix + rawValue.uppercased().replacingOccurrences(of: "-", with: "_")
  }
  var isSecret: Bool { if case .secret = facts.shape { true } else { false } }
  var hint: String { facts.hint }

  /// The help of the flag.
  var help: ArgumentHelp {
    let facts = facts
    guard !facts.isHidden else { return .hidden }
    return ArgumentHelp(stringLiteral: facts.about + (facts.fallback.isEmpty ? "" : " (default: \(facts.fallback))"))
  }

  /// Returns the setting that names a file with the value of this one.
  var inFile: ServeSetting? {
    switch self {
    case .keys: .keysFile
    case .smtpPassword: .smtpPasswordFile
    case .adminToken: .adminTokenFile
    default: nil
    }
  }
}

extension ServeSetting {
  var facts: Facts {
    switch self {
    case .data:
      Facts(
        about: "folder for the keys and, without --database, the sessions; created if missing", fallback: "",
        hint: "use a folder for this server only")
    case .database:
      Facts(
        about: "PostgreSQL database for the sessions, e.g. postgresql://db.example.org/handstamp",
        fallback: "a file in the data folder",
        hint: "use a connection string as psql takes it, such as postgresql://db.example.org/handstamp")
    case .databaseConnections:
      Facts(
        about: "most connections to PostgreSQL", fallback: "\(PostgresDatabase.standardConnections)",
        hint: "use a number from 5 to 500; the database's max_connections is for all servers together", shape: .number)
    case .host:
      Facts(
        about: "address to listen on", fallback: "127.0.0.1",
        hint: "use an IP address or a name of this machine, such as 127.0.0.1")
    case .port:
      Facts(
        about: "port to listen on, 0 for any free one", fallback: "8080",
        hint: "use a number from 0 to 65535; 0 picks a free port", shape: .number)
    case .issuer:
      Facts(
        about: "public https URL of the server", fallback: "the address it listens on",
        hint: "use an https URL without a trailing slash, such as https://id.example.org")
    case .tlsCertificate:
      Facts(
        about: "certificate chain in PEM, to serve HTTPS", fallback: "",
        hint: "use a chain in PEM, such as certbot's fullchain.pem")
    case .tlsKey:
      Facts(
        about: "private key of the certificate, in PEM", fallback: "",
        hint: "use a private key in PEM, such as certbot's privkey.pem")
    case .allowCleartext:
      Facts(
        about: "yes serves plain HTTP beyond loopback", fallback: "no",
        hint: "use yes only if nothing else can read the network", shape: .yesOrNo)
    case .hstsSubdomains:
      Facts(
        about: "yes tells browsers that all hosts below the issuer's have HTTPS, too", fallback: "no",
        hint: "use yes only if they all do: browsers remember it for two years", shape: .yesOrNo)
    case .trustedProxies:
      Facts(
        about: "addresses of proxies that name the clients, e.g. 10.0.0.0/8,::1,unix", fallback: "no proxies",
        hint: "use the addresses of your proxies, such as 10.0.0.0/8,::1, and unix for Unix domain sockets",
        shape: .list, isReloaded: true)
    case .proxyHeader:
      Facts(
        about: "the header field that these proxies write: x-forwarded-for or forwarded", fallback: "x-forwarded-for",
        hint: "use the header field that your proxies write: x-forwarded-for or forwarded", isReloaded: true)
    case .accessTokenLife:
      Facts(
        about: "lifetime of access tokens, at most 24h", fallback: "10m", hint: ServeSetting.durations,
        shape: .duration, isReloaded: true)
    case .guestIdleLimit:
      Facts(
        about: "end a guest's session after this long without use; its account is deleted when the session is",
        fallback: "as idle-limit", hint: ServeSetting.durations, shape: .duration, isReloaded: true)
    case .browserIdleLimit:
      Facts(
        about: "end a browser's session after this long without use", fallback: "14d", hint: ServeSetting.durations,
        shape: .duration, isReloaded: true)
    case .browserAbsoluteLimit:
      Facts(
        about: "end a browser's session this long after sign-in", fallback: "90d", hint: ServeSetting.durations,
        shape: .duration, isReloaded: true)
    case .webOrigins:
      Facts(
        about: "origins of browser applications that may use the server with its cookie", fallback: "none",
        hint: "use origins without a path, such as https://app.example.com", shape: .list, isReloaded: true)
    case .passkeyDomain:
      Facts(
        about: "domain that passkeys belong to, or none", fallback: "the issuer's host",
        hint: "use the issuer's host or a domain above it, such as example.com; or none for a server without passkeys",
        isReloaded: true)
    case .siteName:
      Facts(
        about: "name of the service on its pages", fallback: "the issuer's host", hint: "use a short name",
        isReloaded: true)
    case .siteLogo:
      Facts(
        about: "image on the pages, in SVG, PNG, JPEG or WebP", fallback: "",
        hint: "use a file that ends in .svg, .png, .jpg or .webp, of at most 256 KiB", isReloaded: true)
    case .accent:
      Facts(
        about: "colour of buttons and links on the pages, such as #3355aa", fallback: "#3451d1",
        hint: "use a colour written as # and six hexadecimal digits", isReloaded: true)
    case .pages:
      Facts(
        about: "folder with templates and texts that replace those of the pages", fallback: "",
        hint: "use a folder with files named like those of the server, such as sign_in.mustache or fr.json",
        isReloaded: true)
    case .idleLimit:
      Facts(
        about: "end a session after this long without use", fallback: "90d", hint: ServeSetting.durations,
        shape: .duration, isReloaded: true)
    case .absoluteLimit:
      Facts(
        about: "end a session this long after sign-in", fallback: "365d", hint: ServeSetting.durations,
        shape: .duration, isReloaded: true)
    case .maxSessions:
      Facts(
        about: "maximum sessions per account; beyond it, the least recently seen one ends", fallback: "unlimited",
        hint: "use a number such as 20, or omit it for no limit", shape: .number, isReloaded: true)
    case .reauthenticateAfter:
      Facts(
        about: "how long after sign-in a session may end others without the password", fallback: "15m",
        hint: ServeSetting.durations, shape: .duration, isReloaded: true)
    case .retention:
      Facts(
        about: "how long to keep ended sessions and events", fallback: "30d",
        hint: ServeSetting.durations, shape: .duration, isReloaded: true)
    case .signUp:
      Facts(
        about: "open, confirmed (by mail) or closed",
        fallback: "open if only this machine can reach it, else confirmed",
        hint: "use open, confirmed or closed", isReloaded: true)
    case .minimumPassword:
      Facts(
        about: "least length of new passwords, 8 to 64", fallback: "8",
        hint: "use a number from 8 to 64, such as 15 where passwords are the only factor", shape: .number,
        isReloaded: true)
    case .breachedPasswords:
      Facts(
        about: "folder with the range files of Pwned Passwords, to refuse those", fallback: "",
        hint: "use a folder with files such as 21BD1.txt", isReloaded: true)
    case .rateLimits:
      Facts(
        about: "limits on sign-ins, sign-ups, mails and so on: standard or none", fallback: "standard",
        hint: "use standard, or none on a private network", isReloaded: true)
    case .mailFolder:
      Facts(
        about: "folder to write mails to", fallback: "mail in the data folder",
        hint: "use a folder for mails; it is created if missing", isReloaded: true)
    case .sendmail:
      Facts(
        about: "program that sends mails instead, e.g. /usr/sbin/sendmail", fallback: "",
        hint: "use the system's mail program, such as /usr/sbin/sendmail", isReloaded: true)
    case .smtp:
      Facts(
        about: "mail server to send mails by instead, e.g. smtps://mail.example.org or smtp://mail.example.org:587",
        fallback: "", hint: "use smtps://HOST or smtp://HOST:PORT, which requires STARTTLS", isReloaded: true)
    case .smtpUser:
      Facts(
        about: "user name at the mail server", fallback: "", hint: "use it together with the password",
        isReloaded: true)
    case .smtpPassword:
      Facts(
        about: "password at the mail server", fallback: "", hint: "use it together with --smtp-user", shape: .secret,
        isReloaded: true)
    case .smtpPasswordFile:
      Facts(
        about: "file with the password at the mail server", fallback: "",
        hint: "use a file that only the server's user may read", isReloaded: true)
    case .caCertificates:
      Facts(
        about: "authorities of the certificates of mail server, clients and Apple, in PEM, instead of the system's",
        fallback: "SSL_CERT_FILE, or the system's", hint: "use a file in PEM")
    case .smtpCleartext:
      Facts(
        about: "yes sends mails to the mail server without TLS", fallback: "no",
        hint: "use yes only for a mail server on this machine", shape: .yesOrNo, isReloaded: true)
    case .mailFrom:
      Facts(
        about: "sender of mails", fallback: "handstamp@ followed by the issuer's host",
        hint: "use an address such as accounts@example.org", isReloaded: true)
    case .mailLink:
      Facts(
        about: "template for links in mails, with {token} and {action}", fallback: "the server's own pages",
        hint: "use a URL of your app or page, such as https://app.example.org/{action}#{token}", isReloaded: true)
    case .notices:
      Facts(
        about:
          "what accounts are told of by mail: \(AccountNotice.allCases.map(\.rawValue).joined(separator: ", ")), all or none",
        fallback: "all",
        hint: "use all, none, or a list such as new-device,token-theft", shape: .list, isReloaded: true)
    case .devicesLink:
      Facts(
        about: "address of the users' devices, for these mails", fallback: "the server's own page",
        hint: "use an https URL of your app or page", isReloaded: true)
    case .clients:
      Facts(
        about: "JSON file with the OAuth clients that users may authorize", fallback: "", hint: ClientFile.hint,
        isReloaded: true)
    case .appConfig:
      Facts(
        about: "file with the JSON object served at /v1/app-config", fallback: "{}",
        hint: "use a file with a JSON object", isReloaded: true)
    case .appleClientID:
      Facts(
        about: "accept Sign in with Apple for this app ID, or several separated by commas", fallback: "",
        hint: "use the bundle ID of your app, or several separated by commas", shape: .list, isReloaded: true)
    case .appleIssuer:
      Facts(
        about: "issuer of Apple's tokens", fallback: "Apple's",
        hint: "omit it, or use the issuer of a test server's tokens", isReloaded: true, isHidden: true)
    case .appleKeysURL:
      Facts(
        about: "URL of Apple's keys", fallback: "Apple's", hint: "omit it, or use the URL of a test server's keys",
        isReloaded: true, isHidden: true)
    case .keys:
      Facts(
        about: "the full text of a keys.json, to use instead of that file", fallback: "",
        hint: "set it to the full text of a keys.json", shape: .secret)
    case .keysFile:
      Facts(
        about: "file with the text of a keys.json outside the data folder", fallback: "",
        hint: "use a file that only the server's user may read")
    case .adminToken:
      Facts(
        about: "token of the administrator at /admin/v1, at least 32 characters", fallback: "",
        hint: "use the output of: openssl rand -base64 32", shape: .secret, isReloaded: true)
    case .adminTokenFile:
      Facts(
        about: "file with the token of the administrator", fallback: "",
        hint: "use a file that only the server's user may read", isReloaded: true)
    case .auditRetention:
      Facts(
        about: "how long to keep the audit log", fallback: "365d", hint: ServeSetting.durations, shape: .duration,
        isReloaded: true)
    case .addressRetention:
      Facts(
        about: "how long the audit log keeps a client's whole IP address, of which then the network is left",
        fallback: "30d", hint: ServeSetting.durations, shape: .duration, isReloaded: true)
    case .auditToLog:
      Facts(
        about: "yes writes each entry of the audit log to the server's log as well", fallback: "yes",
        hint: "use no only if the audit log is exported elsewhere", shape: .yesOrNo)
    case .metricsAddress:
      Facts(
        about: "address and port of the page for Prometheus, e.g. 127.0.0.1:9464", fallback: "",
        hint: "use an address and a port, such as 127.0.0.1:9464; the page shows it to everyone who can reach it")
    case .shutdownDelay:
      Facts(
        about:
          "how long to serve on when told to stop, while /ready says 503, so that a load balancer sends nothing more",
        fallback: "0s", hint: "use a few times the interval at which the load balancer asks, such as 5s; at most 5m",
        shape: .duration)
    case .logLevel:
      Facts(
        about: "trace, debug, info, notice, warning or error", fallback: "info",
        hint: "use one of trace, debug, info, notice, warning, error", isReloaded: true)
    }
  }

  private static let durations = "write it as 90s, 10m, 12h or 30d"
}
#endif
