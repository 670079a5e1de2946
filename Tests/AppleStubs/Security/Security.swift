// Stands in for Apple's Security where there is none, so that adapters can be type-checked. Declares what Apple documents and
// this package uses, nothing more; nothing of it is ever run.
//
// CoreFoundation's types are named as the Swift types to which they bridge, so that the casts that Apple's systems need are
// no casts here.
public import Foundation

public typealias OSStatus = Int32
public typealias CFString = String
public typealias CFData = Data
public typealias CFDictionary = [String: Any]
public typealias CFTypeRef = AnyObject

public let errSecSuccess: OSStatus = 0
@available(iOS 4, macOS 10.3, *)
public let errSecItemNotFound: OSStatus = -25300

@available(iOS 2, macOS 10.6, tvOS 9, watchOS 2, *)
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
@available(iOS 2, macOS 10.6, tvOS 9, watchOS 2, *)
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
@available(iOS 2, macOS 10.6, tvOS 9, watchOS 2, *)
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus { 0 }
@available(iOS 2, macOS 10.6, tvOS 9, watchOS 2, *)
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { 0 }
@available(macOS 10.2, *)
public func SecKeychainSetUserInteractionAllowed(_ state: Bool) -> OSStatus { 0 }

public let kSecClass: CFString = "class"
public let kSecClassGenericPassword: CFString = "genp"
public let kSecAttrService: CFString = "svce"
public let kSecAttrAccount: CFString = "acct"
public let kSecAttrAccessGroup: CFString = "agrp"
public let kSecAttrSynchronizable: CFString = "sync"
public let kSecValueData: CFString = "v_Data"
public let kSecReturnData: CFString = "r_Data"
public let kSecReturnAttributes: CFString = "r_Attributes"
public let kSecMatchLimit: CFString = "m_Limit"
public let kSecMatchLimitOne: CFString = "m_LimitOne"
public let kSecMatchLimitAll: CFString = "m_LimitAll"
@available(iOS 13, macOS 10.15, tvOS 13, watchOS 6, *)
public let kSecUseDataProtectionKeychain: CFString = "nleg"
/// The value is an `LAContext`.
@available(iOS 9, macOS 10.11, tvOS 9, watchOS 2, *)
public let kSecUseAuthenticationContext: CFString = "u_AuthCtx"

public let kSecAttrAccessible: CFString = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
public let kSecAttrAccessibleWhenUnlocked: CFString = "ak"
public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"
@available(iOS 8, macOS 10.10, *)
public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"

@available(iOS 8, macOS 10.10, *)
public let kSecAttrAccessControl: CFString = "accc"
public final class SecAccessControl {}
public final class CFAllocator {}
public final class CFError: Error {}

@available(iOS 8, macOS 10.10, *)
public struct SecAccessControlCreateFlags: OptionSet, Sendable {
  public var rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)
  @available(iOS 11.3, macOS 10.13.4, *)
  public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)
  @available(iOS 11.3, macOS 10.13.4, *)
  public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)
  public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)
}

/// `protection` is a `CFTypeRef` there, which a `CFString` is.
public func SecAccessControlCreateWithFlags(
  _ allocator: CFAllocator?, _ protection: Any, _ flags: SecAccessControlCreateFlags,
  _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? { nil }
