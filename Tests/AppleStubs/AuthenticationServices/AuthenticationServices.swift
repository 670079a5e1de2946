// Stands in for Apple's AuthenticationServices; see Security.swift.
public import Foundation
public import UIKit

/// `UIWindow`, and `NSWindow` on macOS
public typealias ASPresentationAnchor = UIWindow

/// iOS 12, macOS 10.15, tvOS 16, watchOS 6.2
open class ASWebAuthenticationSession: NSObject {
  public typealias CompletionHandler = (URL?, (any Error)?) -> Void
  public init(url: URL, callbackURLScheme: String?, completionHandler: @escaping CompletionHandler) { super.init() }
  /// iOS 13, macOS 10.15, watchOS 6.2
  @available(tvOS, unavailable)
  public var prefersEphemeralWebBrowserSession: Bool {
    get { false }
    set {}
  }
  /// iOS 13, macOS 10.15; weak
  @available(tvOS, unavailable)
  @available(watchOS, unavailable)
  public var presentationContextProvider: (any ASWebAuthenticationPresentationContextProviding)? {
    get { nil }
    set {}
  }
  @discardableResult public func start() -> Bool { false }
  public func cancel() {}
}

/// iOS 13, macOS 10.15
@available(tvOS, unavailable)
@available(watchOS, unavailable)
@MainActor public protocol ASWebAuthenticationPresentationContextProviding: NSObjectProtocol {
  func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor
}

/// iOS 13, macOS 10.15, tvOS 13, watchOS 6; so is all below.
open class ASAuthorizationRequest: NSObject {}
open class ASAuthorizationOpenIDRequest: ASAuthorizationRequest {
  public var requestedScopes: [ASAuthorization.Scope]?
  public var nonce: String?
}
open class ASAuthorizationAppleIDRequest: ASAuthorizationOpenIDRequest {}

open class ASAuthorizationAppleIDProvider: NSObject {
  public override init() { super.init() }
  public func createRequest() -> ASAuthorizationAppleIDRequest { ASAuthorizationAppleIDRequest() }
}

public protocol ASAuthorizationCredential: NSObjectProtocol {}

open class ASAuthorization: NSObject {
  public struct Scope: Sendable, Hashable {
    public static let fullName = Scope()
    public static let email = Scope()
  }
  public var credential: any ASAuthorizationCredential { ASAuthorizationAppleIDCredential() }
}

open class ASAuthorizationAppleIDCredential: NSObject, ASAuthorizationCredential {
  public var identityToken: Data? { nil }
  public var fullName: PersonNameComponents? { nil }
}

/// iOS 15, macOS 12, tvOS 16; not on watchOS; so is all below until the controller.
@available(watchOS, unavailable)
open class ASAuthorizationPlatformPublicKeyCredentialProvider: NSObject {
  public init(relyingPartyIdentifier: String) { super.init() }
  public func createCredentialAssertionRequest(
    challenge: Data
  ) -> ASAuthorizationPlatformPublicKeyCredentialAssertionRequest {
    ASAuthorizationPlatformPublicKeyCredentialAssertionRequest()
  }
}

public struct ASAuthorizationPublicKeyCredentialUserVerificationPreference: RawRepresentable, Sendable, Hashable {
  public var rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let required = Self(rawValue: "required")
}

@available(watchOS, unavailable)
open class ASAuthorizationPlatformPublicKeyCredentialAssertionRequest: ASAuthorizationRequest {
  public var userVerificationPreference = ASAuthorizationPublicKeyCredentialUserVerificationPreference.required
  public var allowedCredentials: [ASAuthorizationPlatformPublicKeyCredentialDescriptor] = []
}

@available(watchOS, unavailable)
open class ASAuthorizationPlatformPublicKeyCredentialDescriptor: NSObject {
  public init(credentialID: Data) { super.init() }
}

@available(watchOS, unavailable)
open class ASAuthorizationPlatformPublicKeyCredentialAssertion: NSObject, ASAuthorizationCredential {
  public var rawAuthenticatorData: Data! { nil }
  public var signature: Data! { nil }
  public var userID: Data! { nil }
  public var rawClientDataJSON: Data { Data() }
  public var credentialID: Data { Data() }
}

/// Of no actor; its delegates are the main actor's.
open class ASAuthorizationController: NSObject {
  public init(authorizationRequests: [ASAuthorizationRequest]) { super.init() }
  public weak var delegate: (any ASAuthorizationControllerDelegate)?
  /// iOS 13, macOS 10.15, tvOS 13; not on watchOS
  public weak var presentationContextProvider: (any ASAuthorizationControllerPresentationContextProviding)?
  public func performRequests() {}
  /// iOS 16, macOS 13, tvOS 18; not on watchOS
  @available(iOS 16, macOS 13, tvOS 18, *)
  @available(watchOS, unavailable)
  public func cancel() {}
}

@MainActor public protocol ASAuthorizationControllerDelegate: NSObjectProtocol {
  func authorizationController(
    controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization)
  func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error)
}

@MainActor public protocol ASAuthorizationControllerPresentationContextProviding: NSObjectProtocol {
  func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor
}
