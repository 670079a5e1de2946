/// Passphrase key derivation exists only on Linux.
enum Scrypt {
  #if os(Linux)
  static let isHere = true
  #else
  static let isHere = false
  #endif
}
