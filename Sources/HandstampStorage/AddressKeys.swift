import Foundation
import HandstampRegistry

/// The keys that earlier versions gave to addresses, see ``EmailAddress/normalized``.
package enum AddressKeys {
  /// Returns the key that an address has now; `nil` if it is none any more.
  package static func key(of former: String) -> String? {
    EmailAddress(former.precomposedStringWithCompatibilityMapping)?.normalized
  }

  /// Gives accounts their keys of now. Two that have one now both stay as they are: which of them is the person's, the operator knows.
  ///
  /// - Parameters:
  ///   - accounts: IDs with the keys of an earlier version.
  ///   - owner: returns the ID of the account that has a key.
  /// - Returns: why the database cannot be used, so that no account is one whose owner is not found; `nil` if it can.
  package static func renew<Failure: Error>(
    _ accounts: [(id: String, key: String)], owner: (String) throws(Failure) -> String?,
    set: (_ id: String, _ key: String) throws(Failure) -> Void
  ) throws(Failure) -> RegistryOpenError? {
    var conflicts: [String] = []
    for (id, former) in accounts {
      guard let key = key(of: former) else {
        conflicts.append("\(former) (\(id)) has characters that are not seen")
        continue
      }
      // By bytes: texts are equal if they are canonically equivalent.
      if key.utf8.elementsEqual(former.utf8) { continue }
      if let other = try owner(key) {
        conflicts.append("\(former) (\(id)) is the same as \(key) (\(other))")
      } else {
        try set(id, key)
      }
    }
    return conflicts.isEmpty
      ? nil
      : .refused(
        "accounts have addresses that cannot be told apart, or found: " + conflicts.joined(separator: "; "),
        hint: "run the former version, give these accounts other addresses or delete them, then start this one")
  }
}
