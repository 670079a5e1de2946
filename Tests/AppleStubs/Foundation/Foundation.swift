// Foundation's parts that only Apple's systems have: compiled with the code that uses it, of which it is a part.
import Foundation

extension FileManager {
  @available(iOS 7, macOS 10.8, tvOS 9, watchOS 2, *)
  nonisolated func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { nil }
}

extension URL {
  @available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
  nonisolated static var documentsDirectory: URL { URL(fileURLWithPath: "/") }

  @available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)
  nonisolated static var applicationSupportDirectory: URL { URL(fileURLWithPath: "/") }
}
