#if Verifier
import HandstampCore
import HandstampSupport

/// The credentials of a confidential client (RFC 6749 section 2.3.1).
enum BasicCredentials {
  /// The value of the `Authorization` field.
  static func field(_ id: String, _ secret: Secret) -> Secret {
    secret.withExposed { secret in
      Secret("Basic " + base64(PercentEncoding.encode(id) + ":" + PercentEncoding.encode(secret)))
    }
  }

  private static func base64(_ text: String) -> String {
    let standard = Base64URL.encode(Array(text.utf8)).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    return String(standard) + String(repeating: "=", count: (4 - standard.count % 4) % 4)
  }
}
#endif
