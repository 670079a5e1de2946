import HandstampSupport

/// Why a session ended.
///
/// The raw value is stored in the vault, sent in the server's responses and events, and written to the audit log: it does not
/// change between releases. The name of a provider is stored and sent beside it, and left out by `Codable`. An unknown raw value, of
/// a newer program or server, is read as ``rejected`` by this package, and as `nil` in a `SessionEvent`; `Codable` throws for one.
@nonexhaustive
public enum EndReason: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
  /// The user signed out on this device.
  case signedOut
  /// Ended from another device, or by an operator.
  case revoked
  /// Another sign-in on the same device took its place, with the same account or another.
  case replaced
  /// A refresh token (RFC 9700 section 4.14.2) or a sign-in code was used twice: it had been copied, or, where neither a key nor a
  /// proof tells them apart, a request was delivered late.
  case tokenReuseDetected
  /// The session reached its maximum age.
  case expired
  /// The session was not used for too long.
  case idle
  /// The account was disabled or deleted.
  case accountClosed
  /// The identity provider that the user had signed in with, such as Google, has ended the sign-in there, or the user's account. The
  /// value is the provider's name, to be shown to the user; `nil` if the server does not give it.
  case endedAtProvider(String? = nil)
  /// The server did not accept the repeat of a refresh whose response was lost. An overlap at the server, see
  /// ``RefreshTokenReuse/overlap(_:)``, prevents that.
  case repeatRefused
  /// The server no longer accepts the session and gave no reason, or one that this version does not know.
  case rejected
  /// The stored session is missing, and so is the record of its end that would give the reason.
  case erased

  public static let allCases: [EndReason] = [
    .signedOut, .revoked, .replaced, .tokenReuseDetected, .expired, .idle, .accountClosed, .endedAtProvider(),
    .repeatRefused, .rejected, .erased,
  ]

  public var rawValue: String {
    switch self {
    case .signedOut: "signed_out"
    case .revoked: "revoked"
    case .replaced: "replaced"
    case .tokenReuseDetected: "token_reuse"
    case .expired: "expired"
    case .idle: "idle"
    case .accountClosed: "account_closed"
    case .endedAtProvider: "ended_at_provider"
    case .repeatRefused: "repeat_refused"
    case .rejected: "rejected"
    case .erased: "erased"
    }
  }

  public init?(rawValue: String) {
    guard let reason = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
    self = reason
  }

  // The one of `RawRepresentable` would compare the raw values alone.
  public static func == (left: EndReason, right: EndReason) -> Bool {
    left.rawValue == right.rawValue && left.provider == right.provider
  }
}

extension EndReason {
  /// The name of the provider where the session ended; `nil` if it is not known, and for other reasons.
  package var provider: String? { if case .endedAtProvider(let name) = self { name } else { nil } }

  /// This reason with the name of the provider, if it is an end at one, and the name can be shown.
  package func at(_ provider: String?) -> EndReason {
    guard case .endedAtProvider = self, let provider, provider.isDisplayName else { return self }
    return .endedAtProvider(provider)
  }

  /// Reads the members `reason` and `provider` of a server's response.
  package init(reported word: String?, at provider: String?) {
    self = word.flatMap { EndReason(rawValue: $0) }?.at(provider) ?? .rejected
  }
}
