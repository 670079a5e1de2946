#if Operator
import Foundation
import HandstampCommandLine
import HandstampPostgres
import HandstampRegistry
import HandstampServer
import HandstampSupport
import Logging

typealias ServeSetting = Setting<ServeSettings>

extension ServeSettings: SettingGroup {
  static let prefix = "HANDSTAMP_SERVE_"
  static let help = "handstamp-server serve --help"
  /// Every setting, in the order of help and `--check`.
  static let all: [ServeSetting] = declared

  private static let formerURL = "use an https URL, as the former system publishes it"
  private static let scopeHint = "use names of scopes, such as profile,read"
  private static let ownFile = "use a file that only the server's user may read"
  private static let appleID = SettingParser<String>.text("an ID of ten letters and digits") { id in
    id.wholeMatch(of: /[A-Z0-9]{10}/) != nil
  }

  @SettingList private static var declared: [ServeSetting] {
    ServeSetting(
      "data", "folder for the keys and, without --database, the sessions; created if missing",
      hint: "use a folder for this server only", needsRestart: true, .newFolder)
    ServeSetting(
      "database", "PostgreSQL database for the sessions, e.g. postgresql://db.example.org/handstamp",
      unset: "a file in the data folder",
      hint: "use a connection string as psql takes it, such as postgresql://db.example.org/handstamp",
      needsRestart: true, .anything(because: "ServerDatabase reads it, and does not show its password"))
    ServeSetting(
      "database-connections", "most connections to PostgreSQL", default: "\(PostgresDatabase.standardConnections)",
      hint: "use a number from 5 to 500; the database's max_connections is for all servers together",
      needsRestart: true, .number(in: 5...500), to: \.databaseConnections)
    ServeSetting(
      "host", "address to listen on", default: "127.0.0.1",
      hint: "use an IP address or a name of this machine, such as 127.0.0.1", needsRestart: true,
      .text("a valid address", where: \.isHost), to: \.host)
    ServeSetting(
      "port", "port to listen on, 0 for any free one", default: "8080",
      hint: "use a number from 0 to 65535; 0 picks a free port", needsRestart: true, .number(in: 0...65_535), to: \.port
    )
    ServeSetting(
      "issuer", "public https URL of the server", unset: "the address it listens on",
      hint: "use an https URL without a trailing slash, such as https://id.example.org", needsRestart: true,
      .text("a valid issuer") { issuer in
        guard let parts = URLComponents(string: issuer), ["http", "https"].contains(parts.scheme),
          let host = parts.host, host.isHost, host == host.lowercased(), (1...65_535).contains(parts.port ?? 443)
        else { return false }
        return parts.query == nil && parts.fragment == nil && !issuer.hasSuffix("/") && !issuer.contains(" ")
      }, to: \.configuration.issuer)
    ServeSetting(
      "issuer-slash",
      "yes publishes the issuer with a slash at its end, for programs that write it so, such as MCP servers of FastMCP",
      default: "no",
      hint: "use yes only for a new server whose issuer has no path: a changed issuer signs everyone out",
      needsRestart: true, .yesOrNo, to: \.configuration.hasIssuerSlash)
    ServeSetting(
      "tls-certificate", "certificate chain in PEM, to serve HTTPS",
      hint: "use a chain in PEM, such as certbot's fullchain.pem", needsRestart: true, isPath: true,
      .anything(because: "the listener reads it"))
    ServeSetting(
      "tls-key", "private key of the certificate, in PEM",
      hint: "use a private key in PEM, such as certbot's privkey.pem", needsRestart: true, isPath: true,
      .anything(because: "the listener reads it"))
    ServeSetting(
      "allow-cleartext", "yes serves plain HTTP beyond loopback", default: "no",
      hint: "use yes only if nothing else can read the network", needsRestart: true, .yesOrNo,
      to: \.configuration.listener.allowsCleartext)
    ServeSetting(
      "hsts-subdomains", "yes tells browsers that all hosts below the issuer's have HTTPS, too", default: "no",
      hint: "use yes only if they all do: browsers remember it for two years", needsRestart: true,
      .yesOrNo(TransportSecurity(includesSubdomains: true), TransportSecurity()), to: \.configuration.transportSecurity)
    ServeSetting(
      "trusted-proxies", "addresses of proxies that name the clients, e.g. 10.0.0.0/8,::1,unix", unset: "no proxies",
      hint: "use the addresses of your proxies, such as 10.0.0.0/8,::1, and unix for Unix domain sockets",
      .list("a list of addresses") { TrustedProxies($0) }, to: \.configuration.trustedProxies)
    ServeSetting(
      "proxy-header", "the header field that these proxies write: x-forwarded-for or forwarded",
      default: "x-forwarded-for", hint: "use the header field that your proxies write: x-forwarded-for or forwarded",
      .choice, to: \.configuration.trustedProxies.field)
    ServeSetting(
      "access-token-life", "lifetime of access tokens, at most 24h", default: "10m",
      .duration(upTo: .seconds(86_400)), to: \.configuration.accessTokenLife)
    ServeSetting(
      "idle-limit", "end a session after this long without use", default: "90d", .duration(), to: \.limits.idleLimit)
    ServeSetting(
      "absolute-limit", "end a session this long after sign-in", default: "365d", .duration(),
      to: \.limits.absoluteLimit)
    ServeSetting(
      "browser-idle-limit", "end a browser's session after this long without use", default: "14d", .duration(),
      to: \.limits.browserIdleLimit)
    ServeSetting(
      "guest-idle-limit",
      "end a guest's session after this long without use; its account is deleted when the session is",
      unset: "as idle-limit", .duration(), to: \.limits.guestIdleLimit)
    ServeSetting(
      "ephemeral-idle-limit",
      "end a session of an app that stores nothing after this long without use; OAuth clients keep the absolute limit, too",
      default: "1d", .duration(), to: \.limits.ephemeralIdleLimit)
    ServeSetting(
      "browser-absolute-limit", "end a browser's session this long after sign-in", default: "90d", .duration(),
      to: \.limits.browserAbsoluteLimit)
    ServeSetting(
      "max-sessions", "most sessions of an account; one more ends the session unused for longest", unset: "unlimited",
      hint: "use a number such as 20, or omit it for no limit", .number(in: 1...1_000_000), to: \.limits.maxSessions)
    ServeSetting(
      "reauthenticate-after", "how long after sign-in a session may end others without the password", default: "15m",
      .duration(), to: \.configuration.reauthentication)
    ServeSetting(
      "end-repeated-codes",
      "yes ends the session of an authorization code that comes again even from its own client at once", default: "no",
      hint: "use yes only if no client ever reloads its callback", .yesOrNo, to: \.configuration.endsRepeatedCodes)
    ServeSetting(
      "require-assurance",
      "least strength of sign-ins by account group, e.g. staff=phr,*=mfa: phr (passkey) or mfa (two factors); * stands for all",
      unset: "any sign-in", hint: "use GROUP=mfa or GROUP=phr, separated by commas, such as staff=phr,*=mfa",
      .list("a list of groups and strengths") { AssuranceRequirement(settings: $0) },
      to: \.configuration.requiredAssurance)
    ServeSetting(
      "retention", "how long to keep ended sessions and events", default: "30d", .duration(), to: \.limits.retention)
    ServeSetting(
      "sign-up", "open, confirmed (by mail) or closed",
      unset: "open if only this machine can reach it, else confirmed", hint: "use open, confirmed or closed",
      .choice, to: \.configuration.signUp)
    ServeSetting(
      "minimum-password", "least length of new passwords, 8 to 64", default: "8",
      hint: "use a number from 8 to 64, such as 15 where passwords are the only factor", .number(in: 8...64),
      to: \.configuration.passwords.policy.minimumLength)
    ServeSetting(
      "breached-passwords", "folder with the range files of Pwned Passwords, to refuse those",
      hint: "use a folder with files such as 21BD1.txt", isPath: true, .folder,
      to: \.configuration.passwords.policy.breachedPasswords)
    ServeSetting(
      "rate-limits", "limits on sign-ins, sign-ups, mails and so on: standard or none", default: "standard",
      hint: "use standard, or none on a private network", .choice(["standard": .standard, "none": .none]),
      to: \.configuration.limits)
    ServeSetting(
      "mail-folder", "folder for mails that no setting sends", unset: "mail in the data folder",
      hint: "use a folder for mails; it is created if missing", .newFolder, to: \.mailFolder)
    ServeSetting(
      "sendmail", "program to send mails by, e.g. /usr/sbin/sendmail",
      hint: "use the system's mail program, such as /usr/sbin/sendmail", isPath: true,
      .text("an executable program") { path in
        path.hasPrefix("/") && access(path, X_OK) == 0 && !FileFacts.isFolder(path)
      }, to: \.sendmail)
    ServeSetting(
      "smtp", "mail server to send mails by, e.g. smtps://mail.example.org or smtp://mail.example.org:587",
      hint: "use smtps://HOST or smtp://HOST:PORT, which requires STARTTLS", .anything(because: "SMTPMailer reads it"))
    ServeSetting(
      "smtp-user", "user name at the mail server", hint: "use it together with the password",
      .anything(because: "the mail server decides"))
    ServeSetting(
      "smtp-password", "password at the mail server", hint: "use it together with --smtp-user",
      .anything(because: "the mail server decides", .secret))
    ServeSetting(
      "smtp-password-file", "file with the password at the mail server", hint: ownFile, isPath: true, .secretFile)
    ServeSetting(
      "ca-certificates",
      "authorities of the certificates of mail server, clients and Apple, in PEM, instead of the system's",
      unset: "SSL_CERT_FILE, or the system's", hint: "use a file in PEM", needsRestart: true, isPath: true,
      .anything(because: "authorities() reads it, or that of the environment"))
    ServeSetting(
      "smtp-cleartext", "yes sends mails to the mail server without TLS", default: "no",
      hint: "use yes only for a mail server on this machine", .yesOrNo, to: \.allowsCleartextMail)
    ServeSetting(
      "mail-from", "sender of mails", unset: "handstamp@ followed by the issuer's host",
      hint: "use an address such as accounts@example.org",
      .text("a plain email address") { Mailbox($0) != nil }, to: \.configuration.mail.from)
    ServeSetting(
      "mail-link", "template for links in mails, with {token} and {action}", unset: "the server's own pages",
      hint: "use a URL of your app or page, such as https://app.example.org/{action}#{token}",
      .link("a URL with {token}, and nothing else in braces than {action}", with: ["token", "action"]),
      to: \.configuration.mail.link)
    ServeSetting(
      "notices",
      "what accounts are notified of by mail: \(AccountNotice.allCases.map(\.rawValue).joined(separator: ", ")), all or none",
      default: "all", hint: "use all, none, or a list such as new-device,token-theft",
      .list("a list of notices") { names in
        if names == ["all"] { return Set(AccountNotice.allCases) }
        let notices = names == ["none"] ? [] : names.map { AccountNotice(rawValue: $0) }
        return notices.contains(nil) ? nil : Set(notices.compactMap { $0 })
      }, to: \.configuration.mail.notices)
    ServeSetting(
      "devices-link", "address of the users' devices, for these mails", unset: "the server's own page",
      hint: "use an https URL of your app or page",
      .link("the URL of a page or an app"), to: \.configuration.mail.devicesLink)
    ServeSetting(
      "client-documents",
      "scopes that clients may request which publish a metadata document at their client ID, such as clients of the Model Context Protocol",
      unset: "none, such clients are refused", hint: scopeHint, .scopes, to: \.clientDocumentScopes)
    ServeSetting(
      "client-registration",
      "scopes that programs on the users' own machines may request which register themselves (RFC 7591)",
      unset: "none, no client registers itself", hint: scopeHint, .scopes, to: \.registrationScopes)
    ServeSetting(
      "client-document-audiences",
      "APIs, as absolute URIs, that clients with documents, and those that register, may request tokens for",
      unset: "none", hint: "use the URLs of APIs, such as https://api.example.org/mcp",
      .list("a list of absolute URIs") { uris in
        // RFC 8707 section 2.
        let areURIs = uris.allSatisfy { URL(string: $0)?.scheme != nil && !$0.contains(/[#\s]/) }
        return areURIs ? uris : nil
      }, to: \.clientDocumentAudiences)
    ServeSetting(
      "web-origins", "origins of browser applications that may use the server with its cookie", unset: "none",
      hint: "use origins without a path, such as https://app.example.com", .list("a list of origins") { $0 },
      to: \.configuration.webOrigins)
    ServeSetting(
      "passkey-domain", "domain that passkeys belong to, or none", unset: "the issuer's host",
      hint: "use the issuer's host or a domain above it, such as example.com; or none for a server without passkeys",
      .init("a domain") { $0.isEmpty ? nil : $0 == "none" ? PasskeyDomain.none : .domain($0.lowercased()) },
      to: \.configuration.passkeys)
    ServeSetting(
      "apple-apps", "App IDs of your apps on Apple's systems, which may use passkeys and passwords of the host",
      hint: "use App ID prefix and bundle ID, such as ABCDE12345.org.example.forum",
      .list("a list of App IDs") { texts in
        let apps = texts.compactMap { AppleApp($0) }
        return apps.count == texts.count ? apps : nil
      }, to: \.configuration.appleApps)
    ServeSetting(
      "android-apps", "the same for Android: the package and the fingerprint of its certificate",
      hint: "use org.example.forum=14:6D:…, with the SHA-256 that keytool -list -v prints",
      .list("a list of packages with the SHA-256 of their certificates") { texts in
        let apps = texts.compactMap { AndroidApp($0) }
        return apps.count == texts.count ? apps : nil
      }, to: \.configuration.androidApps)
    ServeSetting(
      "site-name", "name of the service on its pages", unset: "the issuer's host", hint: "use a short name",
      .text("a name of 1 to 80 characters") { (1...80).contains($0.count) }, to: \.configuration.pages.name)
    ServeSetting(
      "site-logo", "image on the pages, in SVG, PNG, JPEG or WebP",
      hint: "use a file that ends in .svg, .png, .jpg or .webp, of at most 256 KiB", isPath: true, .image,
      to: \.configuration.pages.logo)
    ServeSetting(
      "accent", "color of buttons and links on the pages, such as #3355aa", unset: "#3451d1",
      hint: "use a color written as # and six hexadecimal digits", .anything(because: "the pages read it"),
      to: \.configuration.pages.accent)
    ServeSetting(
      "pages", "folder with templates and texts that replace those of the pages",
      hint: "use a folder with files named like those of the server, such as sign_in.mustache or fr.json",
      .folder, to: \.configuration.pages.folder)
    ServeSetting(
      "clients", "JSON file with the OAuth clients that users may authorize", hint: ClientFile.hint, isPath: true,
      .anything(because: "ClientFile reads it")
    ) { values, settings throws(CommandError) in
      if let file = values["clients"] { settings.configuration.clients = try ClientFile.clients(at: file.text) }
    }
    ServeSetting(
      "providers", "JSON file with the providers that people can sign in with", hint: ProviderFile.hint, isPath: true,
      .anything(because: "ProviderFile reads it")
    ) { values, settings throws(CommandError) in
      if let file = values["providers"] { settings.configuration.providers = try ProviderFile.providers(at: file.text) }
    }
    ServeSetting(
      "app-config", "file with the JSON object served at /v1/app-config", unset: "{}",
      hint: "use a file with a JSON object", isPath: true, .content, to: \.configuration.appConfig)
    ServeSetting(
      "apple-client-id", "accept Sign in with Apple for this app ID, or several separated by commas",
      hint: "use the bundle ID of your app, or several separated by commas",
      .list("a list of app IDs") { ids in
        ids.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(\.isUnreserved) } ? Set(ids) : nil
      }, to: \.appleClientIDs)
    ServeSetting(
      "apple-team-id", "ID of the team at Apple that the key belongs to",
      hint: "use the ten letters and digits of your membership",
      appleID, to: \.appleTeam)
    ServeSetting(
      "apple-key-id", "ID of the key for Sign in with Apple", hint: "use the ten letters and digits of the key's name",
      appleID, to: \.appleKeyID)
    ServeSetting(
      "apple-key", "file with that key, which revokes Apple's tokens when an account is deleted",
      hint: "use the file AuthKey_….p8 that Apple gives out once", isPath: true, .content, to: \.appleKey)
    ServeSetting(
      "apple-issuer", "issuer of Apple's tokens", unset: "Apple's",
      hint: "omit it, or use the issuer of a test server's tokens", isHidden: true, .secureURL,
      to: \.appleIssuer)
    ServeSetting(
      "apple-keys-url", "URL of Apple's keys", unset: "Apple's",
      hint: "omit it, or use the URL of a test server's keys", isHidden: true, .secureURL, to: \.appleKeysURL)
    ServeSetting(
      "former-sessions", "yes takes over the sessions of a former system whose tokens were imported", default: "no",
      hint: "use yes after handstamp-server admin sessions import", needsRestart: true,
      .yesOrNo, to: \.hasFormerTable)
    ServeSetting(
      "former-issuer", "issuer in the identities of accounts that came from the former system",
      unset: "accounts have the IDs of the former system", hint: "use the issuer that the import has written",
      needsRestart: true, .anything(because: "it is compared with that of the import"), to: \.former.issuer)
    ServeSetting(
      "former-subject", "member of the former system's responses with the user's ID", default: "sub",
      hint: "use the name of a member, such as sub or username", needsRestart: true,
      .anything(because: "members may have any name"), to: \.former.subject)
    ServeSetting(
      "former-introspection-url", "introspection endpoint of the former system (RFC 7662)", hint: formerURL,
      needsRestart: true, .secureURL, to: \.former.introspectionURL)
    ServeSetting(
      "former-token-url", "token endpoint of the former system, if it does not introspect refresh tokens",
      hint: formerURL, needsRestart: true, .secureURL, to: \.former.tokenURL)
    ServeSetting(
      "former-userinfo-url", "userinfo endpoint of the former system", hint: formerURL, needsRestart: true, .secureURL,
      to: \.former.userInfoURL)
    ServeSetting(
      "former-revocation-url", "revocation endpoint of the former system (RFC 7009)", hint: formerURL,
      needsRestart: true, .secureURL, to: \.former.revocationURL)
    ServeSetting(
      "former-gotrue-url", "base URL of a GoTrue (Supabase Auth) that sessions are taken over from", hint: formerURL,
      needsRestart: true, .secureURL, to: \.former.goTrueURL)
    ServeSetting(
      "former-client-id", "client ID by which the former system is asked, usually that of the apps",
      hint: "use the client ID that the apps had there", needsRestart: true,
      .anything(because: "the former system decides"), to: \.former.clientID)
    ServeSetting(
      "former-app-ids", "client IDs of the apps, as the former system's introspection names them",
      unset: "that of --former-client-id", hint: "use a client ID, or several separated by commas", needsRestart: true,
      .list("a list of client IDs") { $0.contains("") ? nil : Set($0) }, to: \.former.appIDs)
    ServeSetting(
      "former-client-secret", "secret of that client, or the API key of a GoTrue",
      hint: "use it together with --former-client-id or --former-gotrue-url", needsRestart: true,
      .anything(because: "the former system decides", .secret)
    ) { values, settings throws(CommandError) in
      settings.former.clientSecret = try values.secret("former-client-secret")
    }
    ServeSetting(
      "former-client-secret-file", "file with the secret of that client", hint: ownFile, needsRestart: true,
      isPath: true, .secretFile)
    ServeSetting(
      "keys", "the full text of a keys.json, to use instead of that file",
      hint: "set it to the full text of a keys.json", needsRestart: true,
      .anything(because: "KeyFile reads it", .secret)
    ) { values, settings throws(CommandError) in settings.keys = try values.keys() }
    ServeSetting(
      "keys-file", "file with the text of a keys.json outside the data folder", hint: ownFile, needsRestart: true,
      isPath: true, .secretFile)
    ServeSetting(
      "admin-token", "token of the administrator at /admin/v1, at least 32 characters",
      hint: "use the output of: openssl rand -hex 32", .anything(because: "Administrator reads it", .secret)
    ) { values, settings throws(CommandError) in
      guard let token = try values.secret("admin-token") else { return }
      do throws(ServerConfigurationError) {
        settings.configuration.administrators = [try Administrator(name: "admin", token: token)]
      } catch {
        throw CommandError(
          .usage, "the administrator's token is not at least 32 printable characters", hint: hint(of: "admin-token"))
      }
    }
    ServeSetting(
      "admin-token-file", "file with the token of the administrator", hint: ownFile, isPath: true, .secretFile)
    ServeSetting(
      "audit-retention", "how long to keep the audit log", default: "365d", .duration(), to: \.limits.auditRetention)
    ServeSetting(
      "address-retention",
      "how long the audit log keeps a client's whole IP address, of which then the network is left", default: "30d",
      .duration(), to: \.limits.addressRetention)
    ServeSetting(
      "audit-to-log", "yes writes each entry of the audit log to the server's log as well", default: "yes",
      hint: "use no only if the audit log is exported elsewhere", needsRestart: true, .yesOrNo,
      to: \.configuration.logsAudit)
    ServeSetting(
      "metrics-address", "address and port of the page for Prometheus, e.g. 127.0.0.1:9464",
      hint: "use an address and a port, such as 127.0.0.1:9464; the page shows it to everyone who can reach it",
      needsRestart: true, .init("an address and a port") { ListeningAddress($0) }, to: \.metrics)
    ServeSetting(
      "shutdown-delay",
      "how long to go on serving after the signal to stop; /ready says 503 meanwhile, for load balancers",
      unset: "0s", hint: "use a few times the interval at which the load balancer asks, such as 5s; at most 5m",
      needsRestart: true, .duration(upTo: .seconds(300)), to: \.configuration.shutdownDelay)
    ServeSetting(
      "log-level", "trace, debug, info, notice, warning or error", default: "info",
      hint: "use one of trace, debug, info, notice, warning, error",
      .choice(.init(uniqueKeysWithValues: Logger.Level.allCases.map { ($0.rawValue, $0) })), to: \.logLevel)
  }
}
#endif
