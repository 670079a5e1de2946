#if Server
package import HandstampCore
package import HandstampRegistry
import HandstampSupport

/// Something that is shown of an account, and its name in each place that shows it.
///
/// All places read ``all``. The test `What is shown of an account` fails until a new property of ``AccountRecord`` has answered each.
package struct AccountField: Sendable {
  package enum Place: CaseIterable {
    /// `profile` in the response to a sign-in, also in `GET /v1/me`; and what that has alone.
    case profile, me
    /// Administrators, and the owner's download.
    case admin
    /// The lines of an export, see `ImportedAccount+handstamp.swift` for the way back.
    case moving
    /// The claims of the scopes `profile` and `email` (OpenID Connect Core 1.0 section 5.4).
    case profileClaims, emailClaims
    /// The values of the page `/account`.
    case page
    /// `admin accounts`: members of its JSON, columns of its list, and rows of `admin accounts show`.
    case command, column, row
  }

  package enum Value: Sendable {
    case text(String?)
    case flag(Bool)
    case number(Int64)
    case time(UnixTime?)
    case identity(ExternalIdentity?)
  }

  /// The property that it comes from.
  package let property: String
  package let names: [Place: StaticString]
  package let value: @Sendable (AccountRecord) -> Value

  private init(
    _ property: String, _ names: [Place: StaticString], value: @escaping @Sendable (AccountRecord) -> Value
  ) {
    (self.property, self.names, self.value) = (property, names, value)
  }

  package static let all = [
    AccountField(
      "id",
      [.profile: "id", .me: "sub", .admin: "id", .page: "account_id", .command: "id", .column: "ID", .row: "account"]
    ) { .text($0.id.rawValue) },
    AccountField("closedAt", [.admin: "state", .command: "state", .column: "STATE", .row: "state"]) {
      .text($0.state.rawValue)
    },
    AccountField(
      "email",
      [
        .admin: "email", .moving: "email", .emailClaims: "email", .page: "email", .command: "email", .column: "EMAIL",
        .row: "email",
      ]
    ) { .text($0.email?.typed) },
    AccountField("emailConfirmedAt", [.moving: "email_verified", .emailClaims: "email_verified"]) {
      .flag($0.emailConfirmedAt != nil)
    },
    AccountField(
      "username",
      [
        .profile: "name", .admin: "username", .moving: "name", .profileClaims: "name", .page: "name", .command: "name",
        .column: "NAME", .row: "name",
      ]
    ) { .text($0.username) },
    // Not unique, as OpenID Connect Core 1.0 section 5.7 warns.
    AccountField("username", [.profileClaims: "preferred_username"]) { .text($0.username) },
    AccountField("identity", [.profile: "is_anonymous", .admin: "is_guest", .command: "guest"]) {
      .flag($0.isGuest && $0.state != .deleted)
    },
    AccountField("passwordHash", [.admin: "has_password", .command: "hasPassword", .row: "password"]) {
      .flag($0.passwordHash != nil)
    },
    AccountField("passwordHash", [.moving: "password_hash"]) { .text($0.passwordHash?.withExposed { $0 }) },
    AccountField(
      "createdAt",
      [
        .me: "created_at", .admin: "created_at", .moving: "created_at", .page: "since", .command: "createdAt",
        .column: "CREATED", .row: "created",
      ]
    ) { .time($0.createdAt) },
    AccountField("createdAt", [.me: "created_at_ms", .admin: "created_at_ms"]) { .number($0.createdAt.milliseconds) },
    AccountField("createdAt", [.command: "createdAtEpoch"]) { .number($0.createdAt.seconds) },
    AccountField("credentialsChangedAt", [.admin: "credentials_changed_at", .moving: "password_changed_at"]) {
      .time($0.credentialsChangedAt)
    },
    AccountField("emailConfirmedAt", [.admin: "email_confirmed_at", .moving: "email_verified_at"]) {
      .time($0.emailConfirmedAt)
    },
    AccountField("closedAt", [.moving: "disabled"]) { .flag($0.closedAt != nil) },
    AccountField("closedAt", [.admin: "closed_at", .moving: "disabled_at", .command: "closedAt"]) {
      .time($0.closedAt)
    },
    AccountField(
      "identity", [.admin: "identity", .moving: "identity", .command: "identityIssuer", .row: "signs in at"]
    ) { .identity($0.identity) },
    // The page has it in a list to choose from.
    AccountField(
      "locale",
      [
        .me: "locale", .admin: "locale", .moving: "locale", .profileClaims: "locale", .command: "locale",
        .row: "language",
      ]
    ) { .text($0.locale?.rawValue) },
  ]

  package static func shown(in place: Place) -> [(name: StaticString, field: AccountField)] {
    all.compactMap { field in field.names[place].map { ($0, field) } }
  }
}

extension AccountField.Value: Encodable {
  /// For people; `nil` if the account has none.
  package var text: String? {
    switch self {
    case .text(let text): text
    case .flag(let flag): flag ? "yes" : "no"
    case .number(let number): "\(number)"
    case .time(let time): time?.description
    case .identity(let identity): identity?.issuer
    }
  }

  package func encode(to encoder: any Encoder) throws {
    switch self {
    case .flag(let flag): try flag.encode(to: encoder)
    case .number(let number): try number.encode(to: encoder)
    case .text, .time, .identity: try text.encode(to: encoder)
    }
  }
}

/// The fields of a place that writes accounts as JSON, in order.
struct AccountMembers: Sendable {
  static let profile = AccountMembers(.profile)
  static let me = AccountMembers(.me)
  static let admin = AccountMembers(.admin)
  static let moving = AccountMembers(.moving, hasMilliseconds: true)
  /// A claim without a value is left out (OpenID Connect Core 1.0 section 5.3.2).
  static let profileClaims = AccountMembers(.profileClaims, hasEmpty: false)
  static let emailClaims = AccountMembers(.emailClaims, hasEmpty: false)

  private let members: [(name: StaticString, value: @Sendable (AccountRecord) -> AccountField.Value)]
  private let hasMilliseconds: Bool
  private let hasEmpty: Bool

  private init(_ place: AccountField.Place, hasMilliseconds: Bool = false, hasEmpty: Bool = true) {
    members = AccountField.shown(in: place).map { ($0, $1.value) }
    (self.hasMilliseconds, self.hasEmpty) = (hasMilliseconds, hasEmpty)
  }

  var names: [String] { members.map(\.name.description) }

  func add(_ account: AccountRecord, to json: inout JSONText) {
    for (name, value) in members {
      switch value(account) {
      case .text(let text): if hasEmpty || text?.isEmpty == false { json.add(name, ifPresent: text) }
      case .flag(let flag): json.add(name, flag)
      case .number(let number): json.add(name, number)
      case .time(let time): json.add(name, ifPresent: hasMilliseconds ? time?.moment : time?.description)
      case .identity(let identity): if let identity { json.add(name, identity.described) }
      }
    }
  }
}
#endif
