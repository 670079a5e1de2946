#if Server
/// A configuration that the server does not accept. It does not start with it, and a reload leaves the previous one in force.
public enum ServerConfigurationError: Error, Sendable, Hashable {
  /// The mount path is not a plain path such as `/auth`, or the issuer does not end with it.
  case mountPath(String, issuer: String)
  /// The configuration for apps is not a JSON object.
  case appConfig
  /// An origin that browsers do not write like this, such as one with a path or a slash at the end, or one without encryption.
  case webOrigin(String)
  /// A domain of passkeys that browsers do not accept on the issuer's pages: it is not the issuer's host, nor above it, or the issuer
  /// is neither an `https` URL nor on this machine.
  case passkeyDomain(String, issuer: String)
  /// People are required to have a second factor, and a server without passkeys offers none.
  case assuranceWithoutPasskeys(issuer: String)
  /// The folder for breached passwords has no range files: no password could be set.
  case breachedPasswords(String)
  /// The association file with the apps on Apple's systems would be longer than Apple's servers accept.
  case appleApps
  /// The color is not written as `#rrggbb`.
  case accent(String)
  /// A file of the folder of pages cannot be used.
  case pages(String)
  case client(ConfiguredClient.Defect)
  /// A provider that people would sign in with. The text says what is wrong.
  case provider(String)
  /// The former system cannot be asked. The text says why.
  case former(String)

  /// Sign-up has to be confirmed by mail, but there is no mailer.
  case noMailer
  /// The sender of mails is not a plain address.
  case mailSender
  /// A reload gives a mailer to a server that began without one, or takes it away.
  case mailerCannotChange
  /// The URL of a mail server is not `smtp://host` or `smtps://host`, optionally with a port.
  case mailServerURL
  /// The URL of a mail server contains a user name or a password.
  case mailServerURLWithUser
  /// The password of a mail server would be sent to another machine in clear.
  case mailPasswordInClear

  /// An app with an ``AccountDirectory`` confirms addresses itself, so sign-up must be `open` or `closed`.
  case directoryWithConfirmedSignUp
  /// Sign in with Apple creates accounts in the server's registry, not in an ``AccountDirectory``.
  case directoryWithAppleSignIn

  /// The name of an administrator has other characters than are allowed, or more than 64.
  case administratorName(String)
  /// The token of this administrator is shorter than 32 bytes, or has other characters than printable ASCII.
  case administratorToken(String)
  /// The hash of this administrator's token is not a SHA-256.
  case administratorHash(String)

  /// The text has no key of P-256, or something else than keys. The server must not replace the file with a new key.
  case signingKeys
  /// The signing key file is of another form: another version of Handstamp wrote it, or it is none. The server must not replace it.
  case signingKeyFormat
  /// An RSA key cannot be generated.
  case noRSAKey
}

extension ServerConfigurationError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .mountPath(let path, let issuer):
      "the issuer \(issuer) must end with the mount path, a plain path, not \(path)"
    case .appConfig: "the app configuration is not a JSON object"
    case .webOrigin(let text): "\(text) is not the https origin of a web application"
    case .passkeyDomain(let domain, let issuer): "pages of \(issuer) cannot have passkeys of \(domain)"
    case .assuranceWithoutPasskeys(let issuer):
      "no one can have the second factor that is required: \(issuer) has no passkeys, which authenticator apps need as well"
    case .breachedPasswords(let folder): "no range files of Pwned Passwords in \(folder)"
    case .appleApps: "the association file of the apps would be longer than 128 KiB"
    case .accent(let text): "the accent \(text) is not a color such as #3355aa"
    case .pages(let words): "the pages cannot be used: \(words)"
    case .client(let defect): "\(defect)"
    case .provider(let words): words
    case .former(let words): words
    case .noMailer: "sign-up is confirmed by mail, and there is no mailer"
    case .mailSender: "the sender of mails is not a plain address"
    case .mailerCannotChange: "a running server neither gets a mailer nor loses it"
    case .mailServerURL: "not the URL of a mail server"
    case .mailServerURLWithUser: "the URL of the mail server contains a user"
    case .mailPasswordInClear: "the password of the mail server would cross the network in clear"
    case .directoryWithConfirmedSignUp: "an app with its own accounts confirms sign-ups itself"
    case .directoryWithAppleSignIn: "an app with its own accounts has no Sign in with Apple here"
    case .administratorName(let name): "\(name) is not a name for an administrator"
    case .administratorToken(let name): "the token of \(name) is not at least 32 printable characters"
    case .administratorHash(let name): "the hash of the token of \(name) is not a SHA-256"
    case .signingKeys: "the signing key file has no usable P-256 key"
    case .signingKeyFormat: "the signing key file does not begin with handstamp-signing-keys: 1"
    case .noRSAKey: "an RSA key cannot be generated"
    }
  }
}
#endif
