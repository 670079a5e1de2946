#if Command && canImport(Security)
import Foundation
import Handstamp
import Security

/// The login keychain of macOS. The data-protection keychain is for programs that are signed for an access group, and one built from source
/// is not (Apple TN3137).
///
/// macOS asks the user before another build of the program reads the item. Commands that run in the background must not wait for that,
/// so only ``mayAsk`` allows it; otherwise the keychain is locked to them.
struct LoginKeychain: Keychain {
  var mayAsk = false

  func add(_ item: KeychainItem) -> KeychainStatus {
    var attributes = query(item.key)
    attributes[kSecValueData as String] = Data(item.data)
    return KeychainStatus(rawValue: SecItemAdd(attributes as CFDictionary, nil))
  }

  func copy(_ key: KeychainKey, group: String?) -> (status: KeychainStatus, items: [KeychainItem]) {
    var query = query(key)
    // This keychain returns the data of one item only.
    query[kSecMatchLimit as String] = kSecMatchLimitOne
    query[kSecReturnData as String] = true
    var result: CFTypeRef?
    let status = KeychainStatus(rawValue: SecItemCopyMatching(query as CFDictionary, &result))
    guard status == .success else { return (status, []) }
    guard let data = result as? Data else { return (.decode, []) }
    return (.success, [KeychainItem(key: key, group: nil, accessibility: nil, data: Array(data))])
  }

  func update(_ key: KeychainKey, group: String?, with change: KeychainChange) -> KeychainStatus {
    let attributes: [String: Any] = change.data.map { [kSecValueData as String: Data($0)] } ?? [:]
    return KeychainStatus(rawValue: SecItemUpdate(query(key) as CFDictionary, attributes as CFDictionary))
  }

  func delete(_ key: KeychainKey, group: String?) -> KeychainStatus {
    KeychainStatus(rawValue: SecItemDelete(query(key) as CFDictionary))
  }

  private func query(_ key: KeychainKey) -> [String: Any] {
    _ = SecKeychainSetUserInteractionAllowed(mayAsk)
    return [
      kSecClass as String: kSecClassGenericPassword,
      kSecAttrService as String: key.service,
      kSecAttrAccount as String: key.account,
    ]
  }
}
#endif
