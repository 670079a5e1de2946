#if Server
/// The systems whose exports can be read.
public enum ImportFormat: String, Sendable, Hashable, CaseIterable {
  /// JSON lines, as ``Administration/exportAccounts(withSecrets:_:)`` writes them.
  case handstamp
  /// `auth.users` of GoTrue (Supabase), as JSON lines, a JSON array or CSV, also joined with `auth.identities`.
  case gotrue
  /// The JSON of a realm, with its users.
  case keycloak
  /// The JSON of `firebase auth:export`.
  case firebase
  /// The JSON lines of a bulk user export, or of an export of password hashes.
  case auth0
  /// Identities of Ory Kratos, as JSON lines or a JSON array, with their credentials.
  case kratos
  /// The JSON of `django-admin dumpdata`, also as JSON lines.
  case django
  /// The users of Devise, as JSON lines, a JSON array or CSV.
  case devise

  /// The name of the member of one JSON object that has the accounts; `nil` for formats that are lists.
  var container: String? { self == .keycloak || self == .firebase ? "users" : nil }

  /// Whether it also comes as CSV, with a header.
  var hasTables: Bool { self == .gotrue || self == .devise }
}
#endif
