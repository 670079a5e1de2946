/// What passphrases are made into keys with is Linux's alone.
enum Scrypt {
  #if os(Linux)
  static let isHere = true
  #else
  static let isHere = false
  #endif
}
