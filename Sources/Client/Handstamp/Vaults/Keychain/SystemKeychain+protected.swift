// watchOS has no `LAContext.localizedReason`, and no means of confirming presence but the passcode.
#if canImport(Security) && canImport(LocalAuthentication) && !os(tvOS) && !os(watchOS)
import Foundation
public import HandstampCore
import LocalAuthentication
import Security

extension SystemKeychain: ProtectedKeychain {
  func add(_ item: KeychainItem, access: KeychainAccess) -> KeychainStatus {
    let level = item.accessibility ?? .whenPasscodeSetThisDeviceOnly
    let flags: SecAccessControlCreateFlags = access == .userPresence ? .userPresence : .biometryCurrentSet
    guard let control = SecAccessControlCreateWithFlags(nil, level.attribute as CFString, flags, nil) else {
      return .param
    }
    var attributes = query(item.key, group: item.group)
    attributes[kSecValueData as String] = Data(item.data)
    attributes[kSecAttrAccessControl as String] = control
    return KeychainStatus(rawValue: SecItemAdd(attributes as CFDictionary, nil))
  }

  func copy(_ key: KeychainKey, asking reason: String) -> (status: KeychainStatus, data: [UInt8]?) {
    let context = LAContext()
    context.localizedReason = reason
    var query = query(key, group: nil)
    query[kSecMatchLimit as String] = kSecMatchLimitOne
    query[kSecReturnData as String] = true
    query[kSecUseAuthenticationContext as String] = context
    var result: CFTypeRef?
    let status = KeychainStatus(rawValue: SecItemCopyMatching(query as CFDictionary, &result))
    guard status == .success else { return (status, nil) }
    guard let data = result as? Data else { return (.decode, nil) }
    return (.success, Array(data))
  }

  func find(_ key: KeychainKey) -> KeychainStatus {
    let context = LAContext()
    context.interactionNotAllowed = true
    var query = query(key, group: nil)
    query[kSecMatchLimit as String] = kSecMatchLimitOne
    query[kSecReturnData as String] = true
    query[kSecUseAuthenticationContext as String] = context
    var result: CFTypeRef?
    return KeychainStatus(rawValue: SecItemCopyMatching(query as CFDictionary, &result))
  }
}

extension BiometricSecret {
  /// One account's secret in the system's keychain; not available on tvOS and watchOS.
  ///
  /// - Parameter service: The name of the item, such as `org.example.forum`; it must not change between releases.
  public init(service: String, account: AccountID = AccountID("default"), access: Access = .currentBiometrySet) {
    self.init(SystemKeychain(), service: service, account: account, access: access)
  }
}
#endif
