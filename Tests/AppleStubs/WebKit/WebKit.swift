// Stands in for Apple's WebKit; see Security.swift. iOS 17, macOS 14; there is none on tvOS and watchOS.
public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

public let WKWebsiteDataTypeCookies = ""

@MainActor open class WKHTTPCookieStore: NSObject {
  public func allCookies() async -> [HTTPCookie] { [] }
  public func setCookie(_ cookie: HTTPCookie) async {}
  public func deleteCookie(_ cookie: HTTPCookie) async {}
  public func add(_ observer: any WKHTTPCookieStoreObserver) {}
  public func remove(_ observer: any WKHTTPCookieStoreObserver) {}
}

@MainActor public protocol WKHTTPCookieStoreObserver: NSObjectProtocol {
  func cookiesDidChange(in cookieStore: WKHTTPCookieStore)
}

@MainActor open class WKWebViewConfiguration: NSObject {
  public var websiteDataStore: WKWebsiteDataStore {
    get { .default() }
    set {}
  }
}

@MainActor open class WKWebsiteDataRecord: NSObject {
  public var displayName: String { "" }
  public var dataTypes: Set<String> { [] }
}

@MainActor open class WKWebsiteDataStore: NSObject {
  public class func `default`() -> WKWebsiteDataStore { WKWebsiteDataStore() }
  public class func nonPersistent() -> WKWebsiteDataStore { WKWebsiteDataStore() }
  public convenience init(forIdentifier identifier: UUID) { self.init() }
  public class var allDataStoreIdentifiers: [UUID] { get async { [] } }
  public class func remove(forIdentifier identifier: UUID) async throws {}
  public class func allWebsiteDataTypes() -> Set<String> { [] }
  public var isPersistent: Bool { false }
  public var httpCookieStore: WKHTTPCookieStore { WKHTTPCookieStore() }
  public func dataRecords(ofTypes types: Set<String>) async -> [WKWebsiteDataRecord] { [] }
  public func removeData(ofTypes types: Set<String>, for records: [WKWebsiteDataRecord]) async {}
}
