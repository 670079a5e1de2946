// Stands in for Apple's UIKit; see Security.swift.
public import Foundation

/// iOS 10, tvOS 10; these values: iOS 11, `newPassword` iOS 12
public struct UITextContentType: Sendable, Hashable {
  public static let username = UITextContentType()
  public static let password = UITextContentType()
  public static let newPassword = UITextContentType()
}

/// iOS 2, tvOS 9
public enum UIKeyboardType: Int, Sendable { case `default`, emailAddress }
