import Foundation

@testable import ForumReader

/// Pages in the style of a site that has grown over twenty years. They also serve as the fuzzer's seeds.
enum OldPage {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Fuzz/seeds")

  /// The raw page, in windows-1252.
  static func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: folder.appendingPathComponent("old-\(name).html")))
  }

  static func page(_ name: String) throws -> HTMLPage { try HTMLPage(windows1252: bytes(name)) }

  static func read<Page: Scraped>(_ name: String, as type: Page.Type = Page.self) throws -> Page {
    try page(name).scrape()
  }

  static func text(_ name: String) throws -> String {
    try String(contentsOf: folder.appendingPathComponent("old-\(name).html"), encoding: .windowsCP1252)
  }

  static let all: [[UInt8]] =
    ((try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? [])
    .filter { $0.lastPathComponent.hasPrefix("old-") }.sorted { $0.path < $1.path }
    .compactMap { try? Array(Data(contentsOf: $0)) }
}
