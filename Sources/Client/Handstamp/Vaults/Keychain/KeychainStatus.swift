package import HandstampCore

/// The status of a keychain call: an `OSStatus`, named as in Security's `SecBase.h`.
package struct KeychainStatus: Sendable, Hashable, RawRepresentable {
  package var rawValue: Int32
  package init(rawValue: Int32) { self.rawValue = rawValue }
  private init(_ rawValue: Int32) { self.rawValue = rawValue }

  package static let success = KeychainStatus(0)
  package static let itemNotFound = KeychainStatus(-25300)
  package static let duplicateItem = KeychainStatus(-25299)
  /// The device is locked, or the user would have to be asked but must not be.
  package static let interactionNotAllowed = KeychainStatus(-25308)
  package static let interactionRequired = KeychainStatus(-25315)
  package static let authFailed = KeychainStatus(-25293)
  package static let userCanceled = KeychainStatus(-128)
  package static let notAvailable = KeychainStatus(-25291)
  package static let readOnly = KeychainStatus(-25292)
  package static let noAccessForItem = KeychainStatus(-25243)
  package static let missingEntitlement = KeychainStatus(-34018)
  package static let decode = KeychainStatus(-26275)
  package static let diskFull = KeychainStatus(-34)
  package static let io = KeychainStatus(-36)
  package static let param = KeychainStatus(-50)
  package static let allocate = KeychainStatus(-108)

  /// The vault error for this status; `nil` for success.
  ///
  /// | status | vault error |
  /// |---|---|
  /// | `errSecInteractionNotAllowed`, `errSecInteractionRequired`, `errSecAuthFailed`, `errSecUserCanceled` | locked |
  /// | `errSecDecode` | corrupt |
  /// | every other status, including unknown ones | unavailable |
  ///
  /// `errSecItemNotFound` alone proves nothing: see ``KeychainVault``.
  package var trouble: VaultError? {
    switch self {
    case .success: nil
    case .interactionNotAllowed, .interactionRequired, .authFailed, .userCanceled: .locked
    case .decode: .corrupt
    case .itemNotFound: .unavailable("a keychain item has disappeared")
    case .duplicateItem: .unavailable("a hidden keychain item has the same name")
    case .notAvailable: .unavailable("no keychain is available")
    case .readOnly: .permissions("the keychain is read-only")
    case .noAccessForItem: .permissions("the keychain item belongs to another program")
    case .missingEntitlement:
      // Also reported for a moment by iOS to a program that is signed, such as while little memory is left.
      .unavailable("the keychain refused the program for now, or it is not signed for this access group (error -34018)")
    case .diskFull: .full("disk full (keychain)")
    case .io: .unavailable("input or output error (keychain)")
    default: .unavailable("keychain error \(rawValue)")
    }
  }

  /// - Throws: ``trouble``, unless it is that of an accepted status.
  func check(accepting accepted: KeychainStatus = .success) throws(VaultError) {
    if self != accepted, let trouble { throw trouble }
  }
}
