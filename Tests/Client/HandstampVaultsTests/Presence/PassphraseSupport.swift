/// Passphrase key derivation exists only on Linux.
enum PassphraseSupport {
  #if os(Linux)
  static let isHere = true
  #else
  static let isHere = false
  #endif
}
