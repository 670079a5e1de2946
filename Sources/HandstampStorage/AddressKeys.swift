import Foundation
import HandstampRegistry

/// The keys that earlier versions gave to addresses, see ``EmailAddress/normalized``.
package enum AddressKeys {
  /// A character of those that a key may have lost or changed, for both stores: all but printable ASCII without quotes.
  package static let changed = "[^ !#-~]"

  /// Returns the key that an address has now; `nil` if it is none any more.
  package static func key(of former: String) -> String? {
    EmailAddress(former.precomposedStringWithCompatibilityMapping)?.normalized
  }

  /// Gives accounts their keys of now. Two that have one now both stay as they are: which of them is the person's, the operator knows.
  /// An address that is none any more keeps its key, which no other has.
  ///
  /// - Parameters:
  ///   - accounts: IDs with the keys of an earlier version.
  ///   - owner: returns the ID of the account that has a key.
  /// - Returns: why the database cannot be used, as one address would be two accounts; `nil` if it can.
  package static func renew<Failure: Error>(
    _ accounts: [(id: String, key: String)], owner: (String) throws(Failure) -> String?,
    set: (_ id: String, _ key: String) throws(Failure) -> Void
  ) throws(Failure) -> RegistryOpenError? {
    var conflicts: [String] = []
    for (id, former) in accounts {
      // By bytes: texts are equal if they are canonically equivalent.
      guard let key = key(of: former), !key.utf8.elementsEqual(former.utf8) else { continue }
      if let other = try owner(key) {
        conflicts.append("\(former) (\(id)) is the same as \(key) (\(other))")
      } else {
        try set(id, key)
      }
    }
    return conflicts.isEmpty
      ? nil
      : .refused(
        "accounts have addresses that are one now: " + conflicts.joined(separator: "; "),
        hint: """
          start the former version, remove one account of each pair with "handstamp admin accounts delete ID" \
          or give it another address with "handstamp admin accounts take-back ID --email ADDRESS", then start this one
          """)
  }
}
