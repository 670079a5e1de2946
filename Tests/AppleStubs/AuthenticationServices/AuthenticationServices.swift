// Stands in for Apple's AuthenticationServices; see Security.swift.
public import Foundation

#if canImport(UIKit)
public import UIKit
@available(watchOS, unavailable)
public typealias ASPresentationAnchor = UIWindow
#else
public import AppKit
public typealias ASPresentationAnchor = NSWindow
#endif

/// iOS 12, macOS 10.15, tvOS 16, watchOS 6.2
open class ASWebAuthenticationSession: NSObject {
  public typealias CompletionHandler = (URL?, (any Error)?) -> Void
  public init(url: URL, callbackURLScheme: String?, completionHandler: @escaping CompletionHandler) { super.init() }
  @available(iOS 17.4, macOS 14.4, watchOS 10.4, visionOS 1.1, *)
  @available(tvOS, unavailable)
  public final class Callback: NSObject {
    public class func customScheme(_ customScheme: String) -> Callback { Callback() }
    public class func https(host: String, path: String) -> Callback { Callback() }
  }
  @available(iOS 17.4, macOS 14.4, watchOS 10.4, visionOS 1.1, *)
  @available(tvOS, unavailable)
  public init(url: URL, callback: Callback, completionHandler: @escaping CompletionHandler) { super.init() }
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
  public enum CredentialState: Int, Sendable { case revoked, authorized, notFound, transferred }
  public func createRequest() -> ASAuthorizationAppleIDRequest { ASAuthorizationAppleIDRequest() }
  public func credentialState(forUserID userID: String) async throws -> CredentialState { .authorized }
}

#if canImport(UIKit)
/// iOS 13, tvOS 13; not on watchOS
@available(watchOS, unavailable)
@MainActor open class ASAuthorizationAppleIDButton: UIControl {
  public enum ButtonType: Int, Sendable { case signIn, `continue`, signUp }
  public enum Style: Int, Sendable { case white, whiteOutline, black }
  public init(authorizationButtonType type: ButtonType, authorizationButtonStyle style: Style) {
    super.init(frame: .zero)
  }
}
#endif

public protocol ASAuthorizationCredential: NSObjectProtocol {}

open class ASAuthorization: NSObject {
  public struct Scope: Sendable, Hashable {
    public static let fullName = Scope()
    public static let email = Scope()
  }
  public var credential: any ASAuthorizationCredential { ASAuthorizationAppleIDCredential() }
}

open class ASAuthorizationAppleIDCredential: NSObject, ASAuthorizationCredential {
  public var user: String { "" }
  public var identityToken: Data? { nil }
  public var authorizationCode: Data? { nil }
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
  public func createCredentialRegistrationRequest(
    challenge: Data, name: String, userID: Data
  ) -> ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest {
    ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest()
  }
  /// iOS 18, macOS 15, visionOS 2; not on tvOS
  @available(iOS 18, macOS 15, visionOS 2, *)
  @available(tvOS, unavailable)
  public func createCredentialRegistrationRequest(
    challenge: Data, name: String, userID: Data,
    requestStyle: ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest.RequestStyle
  ) -> ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest {
    ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest()
  }
}

@available(watchOS, unavailable)
open class ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest: ASAuthorizationRequest {
  /// iOS 18, macOS 15, visionOS 2; not on tvOS
  @available(iOS 18, macOS 15, visionOS 2, *)
  @available(tvOS, unavailable)
  public enum RequestStyle: Int, Sendable { case standard, conditional }
  public var userVerificationPreference = ASAuthorizationPublicKeyCredentialUserVerificationPreference.required
  /// iOS 17.4, macOS 13.5; not on tvOS
  @available(iOS 17.4, macOS 13.5, *)
  @available(tvOS, unavailable)
  public var excludedCredentials: [ASAuthorizationPlatformPublicKeyCredentialDescriptor]? {
    get { nil }
    set {}
  }
}

@available(watchOS, unavailable)
open class ASAuthorizationPlatformPublicKeyCredentialRegistration: NSObject, ASAuthorizationCredential {
  public var rawAttestationObject: Data? { nil }
  public var rawClientDataJSON: Data { Data() }
  public var credentialID: Data { Data() }
}

/// iOS 26.2, macOS 26.2, visionOS 26.2; not on tvOS and watchOS. Before, from iOS 26 on, it is ASCredentialUpdater.
@available(iOS 26.2, macOS 26.2, visionOS 26.2, *)
@available(tvOS, unavailable)
@available(watchOS, unavailable)
public final class ASCredentialDataManager: Sendable {
  public init() {}
  public func reportUnknownPublicKeyCredential(relyingPartyIdentifier: String, credentialID: Data) async throws {}
  public func reportAllAcceptedPublicKeyCredentials(
    relyingPartyIdentifier: String, userHandle: Data, acceptedCredentialIDs: [Data]
  ) async throws {}
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
  /// iOS 13, macOS 10.15, tvOS 13; weak
  @available(watchOS, unavailable)
  public var presentationContextProvider: (any ASAuthorizationControllerPresentationContextProviding)? {
    get { nil }
    set {}
  }
  public func performRequests() {}
  /// iOS 16, visionOS 1
  @available(macOS, unavailable)
  @available(macCatalyst, unavailable)
  @available(tvOS, unavailable)
  @available(watchOS, unavailable)
  public func performAutoFillAssistedRequests() {}
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

@available(watchOS, unavailable)
@MainActor public protocol ASAuthorizationControllerPresentationContextProviding: NSObjectProtocol {
  func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor
}
