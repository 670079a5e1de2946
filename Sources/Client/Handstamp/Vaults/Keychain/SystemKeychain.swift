#if canImport(Security)
import Foundation
public import HandstampCore
import Security

/// The four system calls. Every query names the data-protection keychain, the only one that supports accessibility
/// levels and access groups on macOS as well (Apple TN3137), and items that stay on the device.
struct SystemKeychain: Keychain {
  func add(_ item: KeychainItem) -> KeychainStatus {
    var attributes = query(item.key, group: item.group)
    attributes[kSecValueData as String] = Data(item.data)
    if let accessibility = item.accessibility {
      attributes[kSecAttrAccessible as String] = accessibility.attribute
    }
    return KeychainStatus(rawValue: SecItemAdd(attributes as CFDictionary, nil))
  }

  func copy(_ key: KeychainKey, group: String?) -> (status: KeychainStatus, items: [KeychainItem]) {
    var query = query(key, group: group)
    query[kSecMatchLimit as String] = kSecMatchLimitAll
    query[kSecReturnAttributes as String] = true
    query[kSecReturnData as String] = true
    var result: CFTypeRef?
    let status = KeychainStatus(rawValue: SecItemCopyMatching(query as CFDictionary, &result))
    guard status == .success else { return (status, []) }
    guard let found = result as? [[String: Any]] else { return (.decode, []) }
    return (
      .success,
      found.map { attributes in
        KeychainItem(
          key: key, group: attributes[kSecAttrAccessGroup as String] as? String,
          accessibility: (attributes[kSecAttrAccessible as String] as? String).flatMap(
            KeychainAccessibility.init(attribute:)),
          data: (attributes[kSecValueData as String] as? Data).map { Array($0) } ?? [])
      }
    )
  }

  func update(_ key: KeychainKey, group: String?, with change: KeychainChange) -> KeychainStatus {
    var attributes: [String: Any] = [:]
    if let data = change.data { attributes[kSecValueData as String] = Data(data) }
    if let level = change.accessibility { attributes[kSecAttrAccessible as String] = level.attribute }
    if let account = change.account { attributes[kSecAttrAccount as String] = account }
    return KeychainStatus(
      rawValue: SecItemUpdate(query(key, group: group) as CFDictionary, attributes as CFDictionary))
  }

  func delete(_ key: KeychainKey, group: String?) -> KeychainStatus {
    KeychainStatus(rawValue: SecItemDelete(query(key, group: group) as CFDictionary))
  }

  func query(_ key: KeychainKey, group: String?) -> [String: Any] {
    var query: [String: Any] = [
      kSecClass as String: kSecClassGenericPassword,
      kSecAttrService as String: key.service,
      kSecAttrAccount as String: key.account,
      kSecAttrSynchronizable as String: false,
      kSecUseDataProtectionKeychain as String: true,
    ]
    if let group { query[kSecAttrAccessGroup as String] = group }
    return query
  }
}

extension KeychainAccessibility {
  var attribute: String {
    switch self {
    case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock as String
    case .afterFirstUnlockThisDeviceOnly: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String
    case .whenUnlocked: kSecAttrAccessibleWhenUnlocked as String
    case .whenUnlockedThisDeviceOnly: kSecAttrAccessibleWhenUnlockedThisDeviceOnly as String
    case .whenPasscodeSetThisDeviceOnly: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly as String
    }
  }

  init?(attribute: String) {
    guard let level = KeychainAccessibility.allCases.first(where: { $0.attribute == attribute }) else { return nil }
    self = level
  }
}

extension KeychainVault {
  /// Creates the vault of one account in the system's keychain. Nothing is read or created until first use.
  ///
  /// - Parameters:
  ///   - service: The name of the items, such as `org.example.forum`; it must not change between releases.
  ///   - folder: The absolute path of a folder for the vault's lock files only. An app and its extensions share one in
  ///     their group container.
  ///   - accessGroup: The keychain access group shared by an app and its extensions, as signed, with the team's prefix;
  ///     `nil` uses the program's own. A program that is not signed for it, or on macOS not signed at all, gets
  ///     ``VaultError/unavailable(_:)`` with the system's error -34018.
  ///   - inBackground: Whether the session is also refreshed while the device is locked. A running session keeps the
  ///     stricter level until the next sign-in.
  public init(
    service: String, account: AccountID = AccountID("default"), folder: String, accessGroup: String? = nil,
    inBackground: Bool = false
  ) {
    self.init(
      SystemKeychain(), service: service, account: account, folder: folder, accessGroup: accessGroup,
      inBackground: inBackground)
  }
}

extension Vault where Self == KeychainVault {
  /// The keychain vault of the program `name`, such as `org.example.forum`, for one of its accounts; see
  /// ``KeychainVault/init(service:account:folder:accessGroup:inBackground:)``.
  ///
  /// - Parameter folder: The folder for lock files; `nil` uses one in the program's Application Support.
  public static func keychain(
    _ name: String, account: AccountID = AccountID("default"), folder: String? = nil, accessGroup: String? = nil,
    inBackground: Bool = false
  ) -> KeychainVault {
    KeychainVault(
      service: name, account: account, folder: folder ?? ProgramFolder(name)?.vaults ?? "",
      accessGroup: accessGroup, inBackground: inBackground)
  }
}
#endif
