#if Server
import HandstampSupport

/// The models of authenticators that people know by name (AAGUID, WebAuthn Level 2 section 6.1). What a response says of its model is
/// not verified.
enum AuthenticatorModel {
  private static let names = [
    "08987058cadc4b81b6e130de50dcbe96": "Windows Hello",
    "9ddd1817af5a4672a2b93e3dd95000a9": "Windows Hello",
    "6028b017b1d44c02b4b3afcdafc96bb2": "Windows Hello",
    "adce000235bcc60a648b0b25f1f05503": "Chrome on Mac",
    "bada5566a7aa401fbd9645619a55120d": "1Password",
    "d548826e79b4db40a3d811116f7e8349": "Bitwarden",
    "531126d6e717415c93203d9aa6981239": "Dashlane",
    "dd4ec289e01d41c9bb8970fa845d4bf2": "iCloud Keychain",
    "ea9b8d664d011d213ce4b6b48cb575d4": "Google Password Manager",
    "fbfc3007154e4ecc8c0b6e020557d7bd": "iCloud Keychain",
    "fdb141b25d84443e8a354698c205a502": "KeePassXC",
  ]

  /// Returns the name of a model; `nil` if it is not known.
  static func name(of aaguid: [UInt8]) -> String? { names[Hexadecimal.text(aaguid)] }
}
#endif
